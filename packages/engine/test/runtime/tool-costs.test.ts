/** A tool's price is part of what a run may spend, and is spent with every call. */
import { expect, test } from 'vitest';
import { compile, createEngine, openMemory } from '@sluice-internal/library';
import type { CompiledFlow } from '@sluice-internal/library';

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

test.each([
  ['a paid compensation of a free call', 0, 0.5],
  ['a free compensation of a paid call', 0.5, 0],
])('%s costs what its own tool costs, and the certificate has room for it', async (_, cost, undoCost) => {
  const { flow, bounds } = compile({
    tools: { 'seat.book': { cost, compensate: 'seat.free' }, 'seat.free': { cost: undoCost }, 'pay.out': {} },
    budgets: { cost_usd: 0.5 },
    flow: {
      id: 'trip',
      entry: 'book',
      nodes: [
        { id: 'book', type: 'tool', tool: 'seat.book', routes: [{ to: 'pay' }] },
        { id: 'pay', type: 'tool', tool: 'pay.out' },
      ],
    },
  });
  const undone: unknown[] = [];
  await using engine = createEngine({
    journal: openMemory(),
    tools: {
      'seat.book': () => 'booked',
      'seat.free': (args) => undone.push(args),
      'pay.out': () => Promise.reject(new Error('declined')),
    },
  });
  const report = await engine.settled(await engine.start(flow as CompiledFlow, { input: {} }));
  expect([report.state, undone.length, report.usage.costUsd]).toEqual(['failed', 1, 0.5]);
  expect(bounds?.flow.costUsd.most).toBe(0.5);
});

test('the budget of money does not hold compensations', () => {
  const { bounds } = compile({
    tools: { 'seat.book': { cost: 0.1, compensate: 'seat.free' }, 'seat.free': { cost: 2 } },
    budgets: { cost_usd: 0.15 },
    flow: { id: 'trip', entry: 'book', nodes: [{ id: 'book', type: 'tool', tool: 'seat.book' }] },
  });
  expect(bounds?.flow.costUsd.most).toBeCloseTo(2.1, 9);
});

test('compensations are bounded by the calls that a budget allows', () => {
  const { bounds } = compile({
    tools: { 'seat.book': { compensate: 'seat.free' }, 'seat.free': { cost: 0.5 } },
    budgets: { tool_calls: 3 },
    flow: {
      id: 'trip',
      entry: 'all',
      nodes: [
        { id: 'all', type: 'map', over: '{{event.payload.seats}}', do: 'book', max_items: 100 },
        { id: 'book', type: 'tool', tool: 'seat.book' },
      ],
    },
  });
  expect(bounds?.flow).toMatchObject({ toolCalls: { most: 3 }, undoCalls: { most: 3 }, costUsd: { most: 1.5 } });
});
