/** When a meter turns a thread away, what the event says of it, and what it leaves room for (L4, L5). */
import { describe, expect, test } from 'vitest';
import type { Event } from '../../src/ir/events.ts';
import { Core, ask, end, flowOf, meter, pick, set, tool } from '../../../../test/laws/flow.ts';

const OVER = end('null', 'completed', 'BUDGET_EXHAUSTED');
const ways = { end: end(), over: OVER };

function trips({ events }: Core): Partial<Event>[] {
  const trips = structuredClone(events.filter(({ type }) => type === 'meter.tripped')) as { [key: string]: unknown }[];
  for (const trip of trips) for (const key of ['seq', 'at']) delete trip[key];
  return trips;
}

describe('visits', () => {
  test('allow as many as the limit says, and the next one is told what was left', () => {
    const nodes = { a: { ...set('x', '1', 'again'), charges: ['laps'] }, again: pick('true', 'a', 'end'), ...ways };
    const core = new Core(flowOf(nodes, { meters: { laps: meter('visits', 3, 'over') } }));
    expect(core.state?.spent).toEqual({ laps: 3 });
    const trip = { type: 'meter.tripped', thread: '0', node: 'a', meter: 'laps', why: 'limit', left: 0, needs: 1 };
    expect(trips(core)).toEqual([{ ...trip, to: 'over' }]);
  });

  test('without a limit are counted all the same', () => {
    const meters = { steps: meter('steps', null), laps: meter('visits', null) };
    const core = new Core(flowOf({ a: { ...set('x', '1', 'end'), charges: ['steps', 'laps'] }, ...ways }, { meters }));
    expect(core.state).toMatchObject({ spent: { steps: 1, laps: 1 }, outcome: { code: 'SUCCESS' } });
  });
});

/** The failure of a thread that a budget stops. */
const BUDGET_ERROR: object = expect.objectContaining({
  class: 'budget',
  type: 'BudgetError',
  code: 'BUDGET_EXHAUSTED',
}) as object;

describe('budgets', () => {
  const meters = { calls: meter('toolCalls', 1, 'over'), effects: meter('sideEffects', 5, 'over') };
  const charges = ['calls', 'effects'];

  test('are held while a call is under way, and a call that does not fit is not made', () => {
    const a = tool('a', 'b', { charges, effect: { reserve: { toolCalls: 1, sideEffects: 0 } } });
    const core = new Core(flowOf({ a, b: tool('b', 'end', { charges }), ...ways }, { meters }));
    // Of what is not needed nothing is held.
    expect(core.events.find(({ type }) => type === 'effect.requested')).toMatchObject({
      holds: [{ meter: 'calls', dimension: 'toolCalls', amount: 1 }],
    });
    core.answer('0#0', 1);
    const trip = { type: 'meter.tripped', thread: '0', node: 'b', meter: 'calls', why: 'limit', left: 0, needs: 1 };
    expect(trips(core)).toEqual([{ ...trip, to: 'over', error: BUDGET_ERROR }]);
    expect(core.state?.outcome?.code).toBe('BUDGET_EXHAUSTED');
  });

  test('turn away where the node says, and the slot tells which it was; visits lead where they always do', () => {
    const denied = { charges: ['calls', 'laps'], onBudget: 'told' };
    const nodes = { a: tool('a', 'b', denied), b: tool('b', 'end', denied), told: end('tripped'), ...ways };
    const core = new Core(flowOf(nodes, { meters: { ...meters, laps: meter('visits', 9, 'over') } }));
    core.answer('0#0', 1);
    expect(core.state?.outcome?.output).toEqual({ meter: 'calls', node: 'b', why: 'limit', left: 0, needs: 1 });
    expect(trips(core)).toEqual([expect.objectContaining({ to: 'told', noted: true })]);
    const once = new Core(
      flowOf(nodes, { meters: { calls: meter('toolCalls', 9), laps: meter('visits', 1, 'over') } }),
    );
    once.answer('0#0', 1);
    expect(trips(once)).toEqual([expect.not.objectContaining({ noted: true })]);
    expect(trips(once)).toEqual([expect.objectContaining({ meter: 'laps', to: 'over' })]);
  });

  test('grow by what a person grants', () => {
    const gate = ask('gate', 'b', { grant: { calls: '1' } });
    const nodes = { a: tool('a', 'gate', { charges }), gate, b: tool('b', 'c', { charges }) };
    const core = new Core(flowOf({ ...nodes, c: tool('c', 'end', { charges }), ...ways }, { meters }));
    core.answer('0#0', 1);
    core.tell({ type: 'answer', id: 'a_r.0.1', answer: { choice: 'approve', by: 'ann' } }, 2);
    expect(core.owed).toEqual(['0#2 b']);
    core.answer('0#2', 1);
    expect(trips(core)).toEqual([expect.objectContaining({ node: 'c', left: 0, needs: 1 })]);
  });

  test('stop a run that cannot reach its end any more, before it acts', () => {
    const least = { a: { toolCalls: 2 }, b: { toolCalls: 1 } };
    const nodes = { a: tool('a', 'b', { charges }), b: tool('b', 'end', { charges }), ...ways };
    const core = new Core(flowOf(nodes, { meters, least }));
    const trip = { type: 'meter.tripped', thread: '0', node: 'a', meter: 'calls', why: 'foreseen', left: 1, needs: 2 };
    expect(trips(core)).toEqual([{ ...trip, to: 'over', error: BUDGET_ERROR }]);
    expect(core.owed).toEqual([]);
    const enough = new Core(flowOf(nodes, { meters: { ...meters, calls: meter('toolCalls', 2, 'over') }, least }));
    expect(enough.owed).toEqual(['0#0 a']);
  });

  test('take what a node itself says of the way on before what was computed', () => {
    const nodes = { a: tool('a', 'end', { charges, needs: { toolCalls: 1 } }), ...ways };
    expect(new Core(flowOf(nodes, { meters, least: { a: { toolCalls: 2 } } })).owed).toEqual(['0#0 a']);
  });
});
