/** The critic of the plan: work begins only with a plan that it accepts. First the damage without it. §flow/failure-taxonomy */
import { expect, test } from 'vitest';
import { compile } from '@sluice-internal/library';
import { AGENTS, GOOD, ONE, PLAN, SUPERVISOR, actions, play } from './drive.ts';

const REFUSED = '{"ok": false, "problem": "No task looks at the risks."}';
const staged = (changes: object = {}) => ({
  staged: { ...SUPERVISOR, plan: { agent: 'planner', critic: 'ann' }, ...changes },
});

test('off: a plan that misses a part of the task is carried out', async () => {
  const { report } = await play({ staged: SUPERVISOR }, { agents: { ...GOOD, planner: [ONE] } });
  expect(report).toMatchObject({ code: 'SUCCESS', decisions: [] });
  expect(report.path).toEqual(['plan', 'workers/a', 'aggregate', 'validate', 'finalize']);
});

test('a refused plan is made again with the objection before any work begins', async () => {
  const second = { when: "input.contains('No task looks at the risks.')", text: PLAN };
  const { report, events } = await play(staged(), {
    agents: { ...GOOD, planner: [second, ONE] as never, ann: [REFUSED, '{"ok": true}'] },
  });
  expect(report).toMatchObject({ code: 'SUCCESS', usage: { modelCalls: 9 } });
  expect(actions(report)).toEqual(['malformed_plan: replan']);
  expect(report.path).toEqual(['plan', 'plan', 'workers/a', 'workers/b', 'aggregate', 'validate', 'finalize']);
  const checks = events.filter((event) => 'node' in event && event.node === '~plan.after.criticised');
  expect(checks).toHaveLength(1);
});

test.each([
  ['interactive', ['malformed_plan: abort'], 2],
  ['batch', ['malformed_plan: replan', 'malformed_plan: replan', 'malformed_plan: abort'], 6],
  ['regulated', ['malformed_plan: abort'], 2],
] as const)('%s: a critic that never accepts is bounded by the table', async (tier, decided, modelCalls) => {
  const { report } = await play(staged({ tier }), { agents: { ...GOOD, ann: [REFUSED] } });
  expect(report).toMatchObject({ state: 'failed', code: 'VALIDATION_FAIL', usage: { modelCalls } });
  expect(report.error?.message).toContain('No task looks at the risks.');
  expect(actions(report)).toEqual(decided);
});

test('a malformed plan does not reach the critic', async () => {
  const { report } = await play(staged({ tier: 'interactive' }), {
    agents: { ...GOOD, planner: ['{"tasks": []}'], ann: ['{"ok": true}'] },
  });
  expect(report).toMatchObject({ code: 'VALIDATION_FAIL', usage: { modelCalls: 1 } });
});

test('a plan that a person edits counts, although the critic refused the one before', async () => {
  const document = {
    ...staged({ tier: 'regulated' }),
    protections: { on_failure: { malformed_plan: JSON.parse('{"replans": 0, "then": "escalate"}') as object } },
  };
  const edit = { tasks: [{ id: 'z', brief: 'Look at the risks.' }] };
  const { report } = await play(document, { agents: { ...GOOD, ann: [REFUSED] } }, [{ choice: 'edit', edit }]);
  expect(report).toMatchObject({ code: 'SUCCESS' });
  expect(report.path).toEqual(['plan', 'workers/z', 'aggregate', 'validate', 'finalize']);
});

test('the budget and the timeout of the stage hold for the critic too', async () => {
  const slow = staged({ plan: { agent: 'planner', critic: 'ann', timeout: 60 } });
  const late = await play(slow, { agents: { ...GOOD, ann: [{ delayMs: 90_000, text: '{"ok": true}' }] } });
  expect(late.report).toMatchObject({ state: 'failed', code: 'TIMEOUT' });
  const poor = staged({ plan: { agent: 'planner', critic: 'ann', budget: { model_calls: 1 } } });
  const spent = await play(poor, { agents: { ...GOOD, ann: ['{"ok": true}'] } });
  expect(spent.report).toMatchObject({ state: 'failed', code: 'BUDGET_EXHAUSTED', usage: { modelCalls: 1 } });
});

test('an unknown critic is an error with the nearest name', () => {
  const { diagnostics } = compile({ agents: AGENTS, ...staged({ plan: { agent: 'planner', critic: 'anne' } }) });
  expect(diagnostics).toContainEqual(
    expect.objectContaining({
      code: 'unknown-agent',
      message: 'staged.plan.critic: unknown agent `anne` on `plan.critic`',
      help: 'Did you mean `ann`?',
    }),
  );
});
