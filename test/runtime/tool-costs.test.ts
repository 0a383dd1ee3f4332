/** A tool's price is part of what a run may spend, and is spent with every call. */
import { expect, test } from 'vitest';
import { compile, createEngine, openMemory } from '../../src/index.ts';
import type { CompiledFlow } from '../../src/index.ts';

test('the second call is not made where the budget has room for one', async () => {
  const { flow } = compile({
    tools: { 'maps.find': { effect: 'read', cost: 0.002 } },
    budgets: { cost_usd: 0.003 },
    flow: {
      id: 'pair',
      entry: 'one',
      nodes: [
        { id: 'one', type: 'tool', tool: 'maps.find', routes: [{ when: 'one.result == 7', to: 'two' }] },
        { id: 'two', type: 'tool', tool: 'maps.find' },
      ],
    },
  });
  let calls = 0;
  const engine = createEngine({ journal: openMemory(), tools: { 'maps.find': () => ((calls += 1), 7) } });
  const report = await engine.settled(await engine.start(flow as CompiledFlow, { input: {} }));
  expect([report.code, calls, report.usage.costUsd]).toEqual(['BUDGET_EXHAUSTED', 1, 0.002]);
  await engine.close();
});
