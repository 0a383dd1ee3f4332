/** The five stages of a supervisor: the path, the prompts, the gates of the plan, partial results, and people. */
import { describe, expect, test } from 'vitest';
import { compile } from '@sluice-internal/library';
import { AGENTS, GOOD, NO, ONE, PLAN, SUPERVISOR, YES, actions, play, supervise } from './drive.ts';

const PATH = ['plan', 'workers/a', 'workers/b', 'aggregate', 'validate', 'finalize'];

describe('the five stages', () => {
  test('all are entered, in order, also without agents of their own', async () => {
    const report = await supervise({});
    expect(report).toMatchObject({ state: 'completed', code: 'SUCCESS', output: 'Done: 1 and 2.', path: PATH });
    expect(report.usage.modelCalls).toBe(6);
    const short = await supervise({ aggregate: undefined, validate: undefined, finalize: undefined });
    expect(short).toMatchObject({
      code: 'SUCCESS',
      path: PATH,
      output: [
        { id: 'a', summary: 'A is 1.' },
        { id: 'b', summary: 'B is 2.' },
      ],
      decisions: [],
    });
  });

  test('the simplest useful document has 12 lines', () => {
    const text = `agents:
  - { id: planner }
  - { id: worker }
  - { id: critic }
staged:
  plan: { agent: planner }
  workers: { agent: worker, max: 4 }
  validate: { agent: critic, confidence: 0.8 }
budgets:
  cost_usd: 1
models:
  fast: { provider: openai, model: gpt-6-mini, price: { input: 1, output: 4 } }`;
    expect(text.split('\n')).toHaveLength(12);
    expect(compile(text)).toMatchObject({ ok: true, notation: 'staged' });
  });

  test('a worker is named by its task, or takes turns with the others', async () => {
    const plan =
      '{"tasks": [{"id": "a", "brief": "A", "worker": "bob"}, {"id": "b", "brief": "B"}, {"id": "c", "brief": "C"}]}';
    const { report, events } = await play(
      { staged: { ...SUPERVISOR, workers: { agents: ['ann', 'bob'] } } },
      { agents: { ...GOOD, planner: [plan], ann: ['by ann'], bob: ['by bob'] } },
    );
    expect(report.code).toBe('SUCCESS');
    const called = events.flatMap((event) =>
      event.type === 'effect.requested' && event.kind === 'model' ? [event.name] : [],
    );
    expect(called).toEqual(['planner', 'bob', 'bob', 'ann', 'editor', 'critic', 'writer']);
  });

  test('width: at most `max` workers run at once', async () => {
    const tasks = Array.from({ length: 6 }, (_, index) => ({ id: `t${index}`, brief: 'Do.' }));
    const { events } = await play(
      { staged: { ...SUPERVISOR, workers: { agent: 'worker', max: 2 } } },
      { agents: { ...GOOD, planner: [JSON.stringify({ tasks })], worker: [{ delayMs: 100, text: 'ok' }] } },
    );
    let open = 0;
    let most = 0;
    const workers = new Set<string>();
    for (const event of events) {
      if (event.type === 'effect.requested' && event.name === 'worker') most = Math.max(most, ++open);
      if (event.type === 'effect.requested' && event.name === 'worker') workers.add(event.key);
      if (event.type === 'effect.settled' && workers.has(event.key)) open -= 1;
    }
    expect([workers.size, most]).toEqual([6, 2]);
  });
});

describe('a malformed plan', () => {
  const bad = {
    prose: 'I would first look around.',
    'no tasks': '{"tasks": []}',
    'two tasks with one id': '{"tasks": [{"id": "a", "brief": "x"}, {"id": "a", "brief": "y"}]}',
    'an unknown worker': '{"tasks": [{"id": "a", "brief": "x", "worker": "nobody"}]}',
    'a task without a brief': '{"tasks": [{"id": "a"}]}',
    'more tasks than may be started': JSON.stringify({
      tasks: Array.from({ length: 21 }, (_, index) => ({ id: `t${index}`, brief: 'Do.' })),
    }),
  };
  test.each(Object.entries(bad))('%s: batch replans, and no worker was started', async (_, plan) => {
    const report = await supervise({}, { planner: [plan, PLAN] });
    expect(report).toMatchObject({ code: 'SUCCESS', path: ['plan', ...PATH] });
    expect(actions(report)).toEqual(['malformed_plan: replan']);
  });
  test.each(['interactive', 'regulated'])('%s aborts at once', async (tier) => {
    const report = await supervise({ tier }, { planner: ['{"tasks": []}', PLAN] });
    expect(report).toMatchObject({ state: 'failed', code: 'VALIDATION_FAIL', path: ['plan'], output: null });
    expect(actions(report)).toEqual(['malformed_plan: abort']);
  });
  test('the third malformed plan of a batch aborts', async () => {
    const report = await supervise({}, { planner: ['{"tasks": []}'] });
    expect(report).toMatchObject({ state: 'failed', code: 'VALIDATION_FAIL', path: ['plan', 'plan', 'plan'] });
    expect(actions(report)).toEqual(['malformed_plan: replan', 'malformed_plan: replan', 'malformed_plan: abort']);
  });
  test('the planner reads why', async () => {
    const { report } = await play(
      { staged: SUPERVISOR },
      { agents: { ...GOOD, planner: [{ when: "input.contains('has no tasks')", text: PLAN }, '{"tasks": []}'] } },
    );
    expect(report).toMatchObject({ code: 'SUCCESS', decisions: [{ failure: 'malformed_plan', mast: 'FM-1.1' }] });
  });
});

describe('lost workers', () => {
  test('the aggregate is partial, and the validation decides', async () => {
    const report = await supervise(
      { protections: undefined },
      { worker: [{ error: 'fatal', message: 'gone' }, 'B is 2.'], editor: ['Only B.'], writer: ['B is 2.'] },
    );
    expect(report).toMatchObject({ state: 'completed', code: 'PARTIAL_SUCCESS', output: 'B is 2.', path: PATH });
  });
  test('the critic reads what is missing', async () => {
    const critic = [{ when: "input.contains('Missing: a')", text: NO }, YES];
    const report = await supervise(
      {},
      { worker: [{ error: 'fatal', message: 'gone' }, 'B is 2.', 'A is 1.', 'B is 2.'], critic },
    );
    expect(report).toMatchObject({ decisions: [{ failure: 'schema_or_grounding', action: 'replan' }] });
  });
  test('a plan of which no task succeeds is a failed stage', async () => {
    const report = await supervise({}, { planner: [ONE], worker: [{ error: 'fatal', message: 'gone' }] });
    expect(report).toMatchObject({ state: 'failed', code: 'UNAVAILABLE_DEP', path: ['plan', 'workers/a'] });
    expect(actions(report)).toEqual(['provider_error: abort']);
  });
  test('regulated: a person decides about every lost worker', async () => {
    const report = await supervise({ tier: 'regulated' }, { worker: [{ error: 'fatal', message: 'gone' }, 'B is 2.'] });
    expect(report).toMatchObject({ state: 'suspended', waiting: [{ node: 'escalation' }] });
    expect(actions(report)).toEqual(['provider_error: escalate']);
  });
});

describe('people', () => {
  const regulated = { tier: 'regulated' };
  const no = { critic: [NO] };
  test('approve takes the result as it is', async () => {
    const report = await supervise(regulated, no, [{ choice: 'approve' }]);
    expect(report).toMatchObject({ code: 'SUCCESS', path: PATH, approvals: { escalation: 'approve' } });
  });
  test('edit puts the edit in its place, and it is validated again', async () => {
    const critic = [NO, { when: "input.contains('[1]')", text: YES }, NO];
    const report = await supervise(regulated, { critic }, [{ choice: 'edit', edit: 'A is 1 [1].' }]);
    expect(report).toMatchObject({ code: 'SUCCESS', path: [...PATH.slice(0, -1), 'validate', 'finalize'] });
    const again = await supervise(regulated, no, [{ choice: 'edit', edit: 'Still nothing.' }]);
    expect(again).toMatchObject({ state: 'suspended', waiting: [{ data: { result: 'Still nothing.' } }] });
  });
  test('respond gives the text to the planner for one more plan', async () => {
    const planner = [{ when: "input.contains('Use the archive.')", text: ONE }, PLAN];
    const report = await supervise(regulated, { planner, critic: [NO, YES] }, [
      { choice: 'respond', text: 'Use the archive.' },
    ]);
    expect(report).toMatchObject({
      code: 'SUCCESS',
      path: [...PATH.slice(0, -1), 'plan', 'workers/a', 'aggregate', 'validate', 'finalize'],
    });
  });
  test('reject aborts under the code of the failure', async () => {
    const report = await supervise(regulated, no, [{ choice: 'reject' }]);
    expect(report).toMatchObject({
      state: 'failed',
      code: 'VALIDATION_FAIL',
      output: null,
      rejected: { text: 'A is 1, B is 2.', reasons: ['no sources'] },
    });
  });
  test.each(['interactive', 'batch', 'regulated'])('%s: too low confidence goes to a person', async (tier) => {
    const validate = { agent: 'critic', confidence: 0.8 };
    const sure = await supervise(
      { tier, validate: { agent: 'critic' } },
      { critic: ['{"ok": true, "confidence": 0.1}'] },
    );
    expect(sure.code).toBe('SUCCESS');
    for (const verdict of ['{"ok": true, "confidence": 0.7}', '{"ok": true}', '{"ok": true, "confidence": 7}']) {
      const report = await supervise({ tier, validate }, { critic: [verdict] });
      expect(report).toMatchObject({ state: 'suspended', code: 'LOW_CONFIDENCE' });
      expect(actions(report).at(-1)).toBe('schema_or_grounding: escalate');
    }
  });
  test('a sixth question is not asked, and the decision is to abort', async () => {
    const edit = { choice: 'edit', edit: 'again' };
    const report = await supervise(regulated, no, [edit, edit, edit, edit, edit]);
    expect(report).toMatchObject({ state: 'failed', code: 'VALIDATION_FAIL' });
    expect(report.usage.reviews).toBe(5);
    const asked = 'schema_or_grounding: escalate';
    expect(actions(report).filter((each) => !each.endsWith('block'))).toEqual([
      asked,
      asked,
      asked,
      asked,
      asked,
      'schema_or_grounding: abort',
    ]);
  });
});

test('agents that do not exist, with the nearest name and the place', () => {
  const text = `agents: [{ id: planner }, { id: worker }]
staged:
  plan: { agent: planer }
  workers: { agent: worker }
`;
  expect(compile(text).diagnostics.filter(({ severity }) => severity === 'error')).toMatchObject([
    { code: 'unknown-agent', line: 3, column: 18, help: 'Did you mean `planner`?' },
  ]);
  expect(AGENTS.length).toBeGreaterThan(0);
});
