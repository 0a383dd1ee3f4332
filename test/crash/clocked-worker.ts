/** Works on one run while the test moves the clock of the process: `clocked-worker.ts DATABASE`. Prints JSON lines. */
import { compile, createEngine } from '@sluice-internal/library';
import type { CompiledFlow } from '@sluice-internal/library';

const [journal = ''] = process.argv.slice(2);
const { flow } = compile({
  tools: { 'slow.read': { effect: 'read' } },
  flow: {
    id: 'slow',
    entry: 'first',
    nodes: [
      { id: 'first', type: 'tool', tool: 'slow.read', timeout: 30, routes: [{ to: 'second' }] },
      { id: 'second', type: 'tool', tool: 'slow.read', timeout: 30 },
    ],
  },
});
const say = (value: object): unknown => process.stdout.write(`${JSON.stringify(value)}\n`);
const notices: string[] = [];
const engine = createEngine({
  journal,
  onNotice: (message) => notices.push(message),
  tools: {
    'slow.read': async () => {
      say({ called: Date.now() });
      do await new Promise((resolve) => setTimeout(resolve, 100));
      while (notices.length === 0);
      return 'done';
    },
  },
});
await engine.start(flow as CompiledFlow, { run: 'r' });
const { code } = await engine.settled('r');
const instants: number[] = [];
for await (const { at } of engine.events('r', { live: false })) instants.push(at);
await engine.close();
say({ code, instants, notices, now: Date.now() });
