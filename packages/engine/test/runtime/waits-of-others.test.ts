/** An engine that makes no calls of other runs still ends their waits and questions in time. */
import { expect, test } from 'vitest';
import { createRuntime } from '../../src/worker/engine.ts';
import type { Engine } from '../../src/ports/types.ts';
import type { Performer } from '../../src/ports/ports.ts';
import { openMemory } from '../../src/memory/open.ts';
import { compiled } from '../../../../test/support/harness.ts';
import { movableClock } from '../../../../test/support/movable-clock.ts';

const HOUR_MS = 3_600_000;
const NO_CALLS: Performer = { perform: () => Promise.reject(new Error('no call may be made')) };
const gate = { id: 'gate', type: 'approval', message: 'Go on?', timeout: 60, on_timeout: 'reject' };

/** Starts a run, closes its engine while it waits, and opens an engine that ends waits only, an hour later. */
async function later(nodes: readonly object[], use: (engine: Engine, run: string) => Promise<void>): Promise<void> {
  const store = openMemory();
  const clock = movableClock();
  const agents = [{ id: 'bot', instructions: 'Go on.' }];
  const flow = compiled({ agents, flow: { id: 'waiting', entry: 'gate', nodes } });
  const first = createRuntime({ store: { ...store, close: () => Promise.resolve() }, performer: NO_CALLS, clock });
  const run = await first.start(flow, { input: {} });
  expect(await first.settled(run)).toMatchObject({ state: 'suspended' });
  await first.close();
  clock.offset = HOUR_MS;
  const engine = createRuntime({ store, performer: NO_CALLS, clock, pickUp: 'timers' });
  try {
    // The first look at other runs is after a while.
    clock.offset += HOUR_MS;
    await use(engine, run);
  } finally {
    await engine.close();
  }
}

test('a question expires, and the run ends', () =>
  later(
    [
      { ...gate, routes: [{ to: 'done' }] },
      { id: 'done', type: 'terminal', output: 'ok' },
    ],
    async (engine, run) => {
      await expect.poll(async () => (await engine.get(run)).state, { timeout: 30_000 }).toBe('completed');
      expect(await engine.get(run)).toMatchObject({ code: 'SUCCESS', approvals: { gate: 'reject' } });
    },
  ));

test('a wait that a call follows is left to a process that can make the call', () => {
  const nodes = [
    { ...gate, routes: [{ to: 'ask' }] },
    { id: 'ask', type: 'agent', agent: 'bot', timeout: 5 },
  ];
  return later(nodes, async (engine, run) => {
    const other = compiled({
      flow: {
        id: 'other',
        entry: 'w',
        nodes: [
          { id: 'w', type: 'wait', signal: 'never', timeout: 1, on_timeout: 'd' },
          { id: 'd', type: 'terminal' },
        ],
      },
    });
    // By the end of this run, the engine has looked at all others at least once.
    const mine = await engine.start(other, { input: {} });
    await engine.settled(mine);
    await expect.poll(async () => (await engine.get(mine)).state, { timeout: 30_000 }).toBe('completed');
    expect(await engine.get(run)).toMatchObject({ state: 'suspended', usage: { modelCalls: 0 } });
  });
});
