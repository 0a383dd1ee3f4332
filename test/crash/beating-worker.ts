/** Works on one run with a long tool: `beating-worker.ts DATABASE first|second`. Prints JSON lines. */
import { compile, createEngine } from '@sluice-internal/library';
import type { CompiledFlow } from '@sluice-internal/library';

const [journal = '', turn] = process.argv.slice(2);
const { flow } = compile({
  tools: { 'slow.work': { effect: 'write', idempotent: true, timeout: { attempt: 4, whole: 4, heartbeat: 2 } } },
  flow: { id: 'slow', entry: 'a', nodes: [{ id: 'a', type: 'tool', tool: 'slow.work' }] },
});
const say = (value: object): unknown => process.stdout.write(`${JSON.stringify(value)}\n`);
const engine = createEngine({
  journal,
  tools: {
    'slow.work': async (_, { idempotencyKey: key, heartbeat }) => {
      say({ key });
      while (turn === 'first') {
        await new Promise((resolve) => setTimeout(resolve, 20));
        heartbeat();
      }
      return 'done';
    },
  },
});
await engine.start(flow as CompiledFlow, { run: 'r' });
const { code } = await engine.settled('r');
await engine.close();
say({ code });
