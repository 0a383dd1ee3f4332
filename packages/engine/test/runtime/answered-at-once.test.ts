/** A question that a script answers at once is no wait: a caller that waits for the run never sees it suspended. */
import { expect, test } from 'vitest';
import type { Json } from '@sluice-internal/kernel/expr';
import { openMemory } from '@sluice-internal/engine/memory';
import { createVirtualClock } from '@sluice-internal/engine/ports';
import type { CompiledFlow } from '@sluice-internal/kernel/ir';
import { createRuntime } from '@sluice-internal/engine/worker';
import { scriptedPerformer } from '../../../library/src/host/scripted/performer.ts';
import { compile } from '../../../library/src/compile.ts';

const { flow } = compile({
  flow: {
    id: 'asks',
    entry: 'first',
    nodes: [
      { id: 'first', type: 'approval', message: 'One?', choices: ['yes', 'no'], routes: [{ to: 'second' }] },
      { id: 'second', type: 'approval', message: 'Two?', choices: ['yes', 'no'] },
    ],
  },
});

test('settled means answered', async () => {
  const performer = scriptedPerformer({ approvals: { first: 'yes', second: 'yes' } });
  const memory = openMemory();
  // A commit that takes a while leaves time to look in between.
  const slow: typeof memory.journal.commit = async (...given) => {
    await new Promise((resolve) => setImmediate(resolve));
    return memory.journal.commit(...given);
  };
  const store = { ...memory, journal: { ...memory.journal, commit: slow } };
  const engine = createRuntime({ store, performer, clock: createVirtualClock(), pickUp: false });
  const runs = await Promise.all(
    Array.from({ length: 20 }, async () => {
      const run = await engine.start(flow as CompiledFlow, { input: {} });
      return engine.settled(run);
    }),
  );
  await engine.close();
  expect(new Set(runs.map(({ state }) => state))).toEqual(new Set(['completed']));
});

const protectedFlow = compile({
  pii: { mode: 'tokenize' },
  flow: {
    id: 'asks',
    entry: 'gate',
    nodes: [{ id: 'gate', type: 'approval', message: 'One?', choices: ['yes', 'no'], timeout: 60, on_timeout: 'no' }],
  },
}).flow as CompiledFlow;
const answers = { ...scriptedPerformer({ approvals: { gate: { choice: 'yes', text: 'ann@x.example' } } }) };

test('an answer whose personal data is being replaced is on its way: the run does not rest, and no time passes', async () => {
  const performer = {
    ...answers,
    protect: async (_: unknown, __: unknown, value: Json) => {
      for (let turn = 0; turn < 20; turn += 1) await new Promise((resolve) => setImmediate(resolve));
      return value;
    },
  };
  const engine = createRuntime({ store: openMemory(), performer, clock: createVirtualClock(), pickUp: false });
  const run = await engine.start(protectedFlow, { input: {} });
  expect(await engine.settled(run)).toMatchObject({ state: 'completed', approvals: { gate: 'yes' } });
  await engine.close();
});

test('an answer whose personal data cannot be replaced is not recorded: the run waits', async () => {
  let asked = 0;
  const performer = {
    ...answers,
    protect: async (_: unknown, __: unknown, value: Json) => {
      asked += 1;
      if (asked > 1) throw new Error('no key');
      return value;
    },
    expires: () => false,
  };
  const engine = createRuntime({ store: openMemory(), performer, clock: createVirtualClock(), pickUp: false });
  const run = await engine.start(protectedFlow, { input: {} });
  expect(await engine.settled(run)).toMatchObject({ state: 'suspended' });
  await engine.close();
});
