/** A question that a script answers at once is no wait: whoever waits for the run to settle never sees it suspended. */
import { expect, test } from 'vitest';
import { openMemory } from '../../src/stores/memory/open.ts';
import { scriptedPerformer } from '../../src/effects/scripted/performer.ts';
import { compile } from '../../src/surfaces/library/compile.ts';
import { createVirtualClock } from '../../src/runtime/engine/clock.ts';
import type { CompiledFlow } from '../../src/ir/nodes.ts';
import { createRuntime } from '../../src/runtime/engine/engine.ts';

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
