/** Each topology first without its protection, which shows the damage, and then with it. */
import { describe, expect, test } from 'vitest';
import { compile } from '@sluice-internal/library';
import type { Script } from '@sluice-internal/testing';
import { AGENTS, ONE, PLAN, YES, actions, play } from './drive.ts';

const REST = { plan: { agent: 'planner' }, validate: { agent: 'critic' } };
const script = (agents: NonNullable<Script['agents']>): Script => ({
  agents: { planner: [ONE], critic: [YES], ...agents },
});
const calls = async (document: object, given: Script) => (await play(document, given)).report;

describe('supervisor: a planner that makes too many tasks', () => {
  const tasks = Array.from({ length: 40 }, (_, index) => ({ id: `t${index}`, brief: 'Do.' }));
  const many = script({ planner: [JSON.stringify({ tasks })], worker: ['ok'] });
  const staged = { ...REST, workers: { agent: 'worker' } };
  test('off: all 40 are started; on: none', async () => {
    const off = await calls({ staged, protections: { spawn: false } }, many);
    expect(off).toMatchObject({ code: 'SUCCESS', usage: { modelCalls: 42 } });
    const on = await calls({ staged }, many);
    expect(on).toMatchObject({ state: 'failed', code: 'VALIDATION_FAIL', usage: { modelCalls: 3 } });
    expect(actions(on)).toEqual(['malformed_plan: replan', 'malformed_plan: replan', 'malformed_plan: abort']);
  });
});

describe('hierarchical: teams inside teams', () => {
  let staged: object = { plan: { agent: 'ann' }, workers: { agent: 'bob' } };
  for (let depth = 0; depth < 9; depth++) staged = { plan: { agent: 'ann' }, teams: [{ id: 't', staged }] };
  const codes = (protections: object) =>
    compile({ agents: AGENTS, staged, protections })
      .diagnostics.filter(({ severity }) => severity === 'error')
      .map(({ code }) => code);
  test('off: ten levels compile; on: the ninth is refused', () => {
    expect(codes({ depth: false })).toEqual([]);
    expect(codes({})).toEqual(['bad-value']);
  });
});

describe('debate: agents that talk on', () => {
  const talk = script({ ann: ['Tea.'], bob: ['Coffee.'] });
  const debate = { agents: ['ann', 'bob'], rounds: 20 };
  test('off: forty statements; on: the budget of the stage ends it', async () => {
    const off = await calls({ staged: { debate } }, talk);
    expect(off).toMatchObject({ code: 'SUCCESS', usage: { modelCalls: 40 } });
    const on = await calls({ staged: { debate: { ...debate, budget: { model_calls: 6 } } } }, talk);
    expect(on).toMatchObject({ state: 'failed', code: 'BUDGET_EXHAUSTED', usage: { modelCalls: 6 } });
    expect(actions(on)).toEqual(['cost_overrun: abort']);
  });
});

describe('sop: a step that stalls', () => {
  const slow = script({ ann: [{ delayMs: 90_000, text: 'late' }] });
  const sop = (more: object) => ({ staged: { ...REST, sop: [{ id: 'draft', agent: 'ann', ...more }] } });
  test('off: the run waits for it; on: the step ends at its deadline', async () => {
    expect((await calls(sop({}), slow)).usage.wallClockSeconds).toBeGreaterThanOrEqual(90);
    const on = await calls(sop({ timeout: 5 }), slow);
    expect(on).toMatchObject({ state: 'failed', code: 'TIMEOUT' });
    expect(on.usage.wallClockSeconds).toBeLessThanOrEqual(6);
  });
});

describe('swarm: members that only start others', () => {
  const spawn = JSON.stringify({ spawn: ['x', 'y', 'z'].map((id) => ({ id, brief: `Do ${id}.` })) });
  const swarm = (limits: object) => ({ ...REST, swarm: { agent: 'worker', ...limits } });
  test('off: it grows to the budget; on: it stops at its number', async () => {
    const off = await calls(
      { staged: swarm({ depth: 8, max: 1000 }), protections: { spawn: false }, budgets: { model_calls: 60 } },
      script({ worker: [spawn] }),
    );
    expect(off).toMatchObject({ state: 'failed', code: 'BUDGET_EXHAUSTED', usage: { modelCalls: 60 } });
    const on = await calls({ staged: swarm({ depth: 8, max: 6 }) }, script({ worker: [spawn] }));
    expect(on).toMatchObject({ state: 'failed', code: 'BUDGET_EXHAUSTED' });
    expect(on.usage.modelCalls).toBeLessThanOrEqual(8);
  });
  test.each([
    ['the number of the swarm', { max: 3 }, {}],
    ['`spawn.max`, which counts the task of the planner too', { max: 10 }, { spawn: { max: 3 } }],
  ])('members beyond the limit are not started, the others are: %s', async (_, limits, protections) => {
    const on = await calls({ staged: swarm({ depth: 2, ...limits }), protections }, script({ worker: [spawn, 'ok'] }));
    expect(on).toMatchObject({ code: 'PARTIAL_SUCCESS' });
    expect(on.path.filter((each) => each.startsWith('swarm/'))).toEqual(['swarm/a', 'swarm/x', 'swarm/y']);
    expect(actions(on)).toEqual(['cost_overrun: block']);
  });
  test('`spawn.max` does not count the first member without a planner', async () => {
    const staged = { swarm: { agent: 'worker', depth: 2, max: 10 } };
    const on = await calls({ staged, protections: { spawn: { max: 3 } } }, script({ worker: [spawn, 'ok'] }));
    expect(on).toMatchObject({ code: 'SUCCESS', usage: { modelCalls: 4 } });
  });
});

test('work that cannot be read gives one error, and none about a missing plan', () => {
  const codes = (staged: object) => compile({ agents: AGENTS, staged }).diagnostics.map(({ code }) => code);
  expect(codes({ debate: { agents: ['ann'], judge: 'bob' } })).toEqual(['bad-value']);
  expect(codes({ sop: [] })).toEqual(['bad-value']);
  expect(codes({ workers: { agent: 'worker', max: 0 } })).toContain('missing-field');
});

describe('blackboard: agents that overwrite each other', () => {
  const board = { agents: ['ann', 'bob'], rounds: 2 };
  test('a write to an older version would be lost; it is refused and recorded', async () => {
    const { report, events } = await play(
      { staged: { ...REST, board } },
      script({
        ann: ['{"writes": {"price": 10}, "version": 0}', '{"version": 2, "done": true}'],
        bob: ['{"writes": {"price": 99}, "version": 0}'],
      }),
    );
    expect(report.output).toEqual({ price: 10 });
    expect(events.some((event) => event.type === 'slots.written' && event.node.includes('conflict'))).toBe(true);
  });
});

test('teams: a person who approves everything is asked five times by the run and five times by the team', async () => {
  const north = { plan: { agent: 'planner' }, workers: { agent: 'worker', budget: { model_calls: 1 } } };
  const { report } = await play(
    {
      staged: {
        id: 'demo',
        tier: 'regulated',
        plan: { agent: 'planner' },
        teams: [{ id: 'north', staged: north }],
      },
    },
    { agents: { planner: [ONE, PLAN], worker: ['Done.'] }, approvals: { escalation: ['approve'] } },
  );
  expect(report).toMatchObject({ state: 'failed', code: 'BUDGET_EXHAUSTED' });
  expect(report.usage.reviews).toBeLessThanOrEqual(10);
  expect(report.usage.modelCalls).toBeLessThan(40);
  expect(report.decisions.filter(({ action }) => action === 'escalate')).toHaveLength(report.usage.reviews);
  expect(report.decisions.at(-1)).toMatchObject({ action: 'abort' });
});
