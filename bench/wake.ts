/**
 * How late an engine hears of what another one stored in the same database: `node bench/wake.ts [--rounds 50]`. Prints the medians, in
 * milliseconds, for the end of a run that one engine follows and another answers, and for a cancellation that reaches a running call.
 */
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { parseArgs } from 'node:util';
import { compile, createEngine } from '../packages/library/src/index.ts';
import type { CompiledFlow, Engine } from '../packages/library/src/index.ts';
import { median } from './stats.ts';

const GATE = compile({
  flow: { id: 'gate', entry: 'ask', nodes: [{ id: 'ask', type: 'approval', message: 'Go on?' }] },
}).flow as CompiledFlow;
const LONG = compile({
  tools: { 'a.b': { effect: 'read' } },
  flow: { id: 'long', entry: 'call', nodes: [{ id: 'call', type: 'tool', tool: 'a.b' }] },
}).flow as CompiledFlow;

let called = Promise.withResolvers<void>();
let aborted = Promise.withResolvers<number>();
const tools = {
  'a.b': (_: unknown, { signal }: { signal: AbortSignal }): Promise<null> => {
    called.resolve();
    return new Promise((resolve) =>
      signal.addEventListener('abort', () => {
        aborted.resolve(performance.now());
        resolve(null);
      }),
    );
  },
};

async function eventLag(here: Engine, there: Engine): Promise<number> {
  const run = await here.start(GATE);
  await here.wait(run);
  const heard = (async () => {
    for await (const { type } of here.events(run)) if (type === 'run.ended') return performance.now();
    return Number.NaN;
  })();
  const [question] = await there.approvals(run);
  await there.answer(question?.id ?? '', { choice: 'approve', by: 'ann' });
  await there.wait(run);
  const stored = performance.now();
  return Math.max(0, (await heard) - stored);
}

async function mailLag(here: Engine, there: Engine): Promise<number> {
  called = Promise.withResolvers();
  aborted = Promise.withResolvers();
  const run = await here.start(LONG);
  await called.promise;
  const from = performance.now();
  const cancelled = there.cancel(run, 'ann');
  const lag = (await aborted.promise) - from;
  await cancelled;
  await here.wait(run);
  return lag;
}

const { values } = parseArgs({ options: { rounds: { type: 'string', default: '50' } } });
const dir = mkdtempSync(join(tmpdir(), 'sluice-wake-'));
const journal = join(dir, 'runs.db');
const here = createEngine({ journal, tools });
const there = createEngine({ journal, tools, pickUp: false });
const lags: { readonly event: number[]; readonly mail: number[] } = { event: [], mail: [] };
for (let round = 0; round < Number(values.rounds); round += 1) {
  lags.event.push(await eventLag(here, there));
  lags.mail.push(await mailLag(here, there));
}
await here.close();
await there.close();
rmSync(dir, { recursive: true, force: true });
for (const [name, list] of Object.entries(lags)) process.stdout.write(`${name}: ${median(list).toFixed(1)} ms\n`);
