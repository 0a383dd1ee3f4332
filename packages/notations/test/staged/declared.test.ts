/** Every topology enforces the schemas, guards, safe texts and limits of a stage, and the answers of people. */
import { describe, expect, test } from 'vitest';
import { compile } from '@sluice-internal/library';
import { AGENTS, ONE, PLAN, YES, actions, play, supervise } from './drive.ts';

const NUMBER = { type: 'object', properties: { n: { type: 'integer' } }, required: ['n'] };
const BAD = { when: 'text(output).contains("BAD")', reason: 'bad words' };
const SAFE = { guards: [BAD], safe_fallback: 'a safe text' };
const diagnosed = (document: object) =>
  compile({ agents: AGENTS, ...document }).diagnostics.map(({ severity, message }) => `${severity}: ${message}`);
/** An editor that says which words are in its prompt. */
const editor = (...words: readonly string[]) => [
  ...words.map((word) => ({ when: `input.contains('${word}')`, text: `saw ${word}` })),
  'saw none',
];

describe('a swarm', () => {
  test('its guards and its output schema hold for every member', async () => {
    const run = async (keys: object, ann: readonly string[]) =>
      (await play({ staged: { swarm: { agent: 'ann', ...keys } } }, { agents: { ann } })).report;
    expect((await run({}, ['BAD'])).code).toBe('SUCCESS');
    expect((await run({ guards: [BAD] }, ['BAD'])).code).toBe('UNSAFE_DETECTION');
    expect(await run({ output: NUMBER }, ['prose'])).toMatchObject({ code: 'VALIDATION_FAIL', output: null });
    const spawn = '{"spawn": [{"id": "x", "brief": "Count."}]}';
    expect((await run({ output: NUMBER }, [spawn, '{"n": 1}'])).output).toEqual([{ id: 'x', summary: { n: 1 } }]);
  });
  test('a member with a brief that does not fit is not started', async () => {
    const swarm = { agent: 'ann', input: { type: 'string', minLength: 10 } };
    const spawn = '{"spawn": [{"id": "x", "brief": "short"}, {"id": "y", "brief": "long enough"}]}';
    const { report } = await play({ staged: { swarm } }, { agents: { ann: [spawn, 'done'] } });
    expect(report).toMatchObject({ code: 'PARTIAL_SUCCESS', output: [{ id: 'y', summary: 'done' }] });
  });
});

describe('the input of the work is every brief, in every topology', () => {
  test.each([
    ['debate', { agents: ['ann', 'bob'], rounds: 1 }, ['A']],
    ['peers', { agents: ['ann', 'bob'] }, ['{"done": "A"}']],
    ['board', { agents: ['ann', 'bob'], rounds: 1 }, ['{"version": 0, "writes": {"a": 1}, "done": true}']],
  ])('%s', async (key, work, ann) => {
    const run = async (minLength: number) => {
      const staged = { plan: { agent: 'planner' }, [key]: { ...work, input: { type: 'string', minLength } } };
      return (await play({ staged }, { agents: { planner: [PLAN], ann, bob: ['B'] } })).report;
    };
    expect((await run(3)).code).toBe('SUCCESS');
    expect(actions(await run(30)).at(-1)).toBe('malformed_plan: abort');
  });
});

describe('an unsafe output in the interactive tier: no later stage sees it', () => {
  const run = async (staged: object, agents: object) =>
    (
      await play(
        { staged: { tier: 'interactive', aggregate: { agent: 'editor' }, ...staged } },
        { agents: { editor: editor('BAD', 'a safe text'), ...agents } },
      )
    ).report;
  test('of peers', async () => {
    const report = await run({ peers: { agents: ['ann'], ...SAFE } }, { ann: ['{"done": "BAD"}'] });
    expect(report).toMatchObject({ code: 'PARTIAL_SUCCESS', output: 'saw a safe text' });
  });
  test('of a board', async () => {
    const ann = ['{"version": 0, "writes": {"a": "BAD"}, "done": true}'];
    const report = await run({ board: { agents: ['ann'], ...SAFE } }, { ann });
    expect(report).toMatchObject({ code: 'PARTIAL_SUCCESS', output: 'saw a safe text' });
  });
  test('of a debate without a judge', async () => {
    const report = await run({ debate: { agents: ['ann', 'bob'], ...SAFE } }, { ann: ['BAD'], bob: ['B'] });
    expect(report).toMatchObject({ code: 'PARTIAL_SUCCESS', output: 'saw a safe text' });
  });
  test('of workers whose model refuses', async () => {
    const staged = { plan: { agent: 'planner' }, workers: { agent: 'worker', ...SAFE } };
    const report = await run(staged, { planner: [ONE], worker: [{ error: 'refused', message: 'no' }] });
    expect(report).toMatchObject({ code: 'PARTIAL_SUCCESS', output: 'saw a safe text' });
  });
  test('of the plan: the safe text is the only task', async () => {
    const guard = { when: 'output.tasks.exists(t, t.brief.contains("Find"))', reason: 'no searching' };
    const plan = { agent: 'planner', guards: [guard], safe_fallback: 'Say that you cannot.' };
    const worker = [{ when: "input.contains('Say that you cannot.')", text: 'I cannot.' }, 'found'];
    const { report } = await play(
      { staged: { tier: 'interactive', plan, workers: { agent: 'worker' } } },
      { agents: { planner: [PLAN], worker } },
    );
    expect(report).toMatchObject({ code: 'PARTIAL_SUCCESS', output: [{ id: 'task', summary: 'I cannot.' }] });
  });
});

test('the aggregate of a debate reads the decision of the judge', async () => {
  const staged = { debate: { agents: ['ann', 'bob'], judge: 'cat' }, aggregate: { agent: 'editor' } };
  const agents = { ann: ['A'], bob: ['B'], cat: ['VERDICT'], editor: editor('VERDICT') };
  expect((await play({ staged }, { agents })).report.output).toBe('saw VERDICT');
});

describe('the answer of a person', () => {
  test('an edit of the result of peers reaches the aggregate', async () => {
    const staged = { tier: 'regulated', peers: { agents: ['bob'], guards: [BAD] }, aggregate: { agent: 'editor' } };
    const agents = { bob: ['{"done": "BAD"}'], editor: editor('BAD', 'EDITED') };
    const { report } = await play({ staged }, { agents }, [{ choice: 'edit', edit: 'EDITED' }]);
    expect(report.output).toBe('saw EDITED');
  });
  test('edited summaries pass the schema and the guards of workers', async () => {
    const workers = { agent: 'worker', output: NUMBER, guards: [{ when: 'output.n > 5', reason: 'too many' }] };
    const edits = [{ n: 'many' }, { n: 7 }, { n: 2 }].map((summary) => ({
      choice: 'edit',
      edit: [{ id: 'a', summary }],
    }));
    const changes = { tier: 'regulated', workers, aggregate: {}, finalize: {} };
    const report = await supervise(changes, { planner: [ONE], worker: ['prose'], critic: [YES] }, edits);
    expect(report).toMatchObject({ code: 'SUCCESS', output: [{ id: 'a', summary: { n: 2 } }] });
    expect(actions(report).filter((each) => each.endsWith('escalate'))).toEqual([
      'schema_or_grounding: escalate',
      'schema_or_grounding: escalate',
      'unsafe_output: escalate',
    ]);
  });
  test('the approvers of a stage also answer the questions of its protections', async () => {
    const people = [
      { id: 'ann', roles: ['clerk'] },
      { id: 'kim', roles: ['boss'] },
    ];
    const run = (approvers: object) =>
      play(
        {
          people,
          protections: { breaker: { provider_errors: 1, fallback: { escalate: true } } },
          staged: { plan: { agent: 'planner' }, workers: { agent: 'worker', approvers } },
        },
        { agents: { planner: [ONE], worker: [{ error: 'transient', message: '503' }] } },
        [{ choice: 'stop' }],
      );
    await expect(run({ roles: ['boss'] })).rejects.toThrow('`ann` may not answer');
    expect((await run({ roles: ['clerk'] })).report.state).toBe('failed');
  });
  test('an approved plan is worked on', async () => {
    const policies = {
      all: 'permit(principal, action, resource);',
      plan: 'forbid(principal, action == Action::"stage.leave", resource == Stage::"plan");',
    };
    const staged = { tier: 'regulated', plan: { agent: 'planner' }, workers: { agent: 'worker' } };
    const script = { agents: { planner: [ONE], worker: ['A is 1.'] } };
    const { report } = await play({ policies, staged }, script, [{ choice: 'approve' }]);
    expect(report).toMatchObject({ code: 'SUCCESS', output: [{ id: 'a', summary: 'A is 1.' }] });
  });
  test('a plan without tasks cannot be approved', async () => {
    const protections = { on_failure: { malformed_plan: JSON.parse('{"replans": 0, "then": "escalate"}') as object } };
    const staged = { plan: { agent: 'planner' }, workers: { agent: 'worker' } };
    const script = { agents: { planner: ['{"tasks": []}'], worker: ['A'] } };
    const { report } = await play({ protections, staged }, script, [{ choice: 'approve' }, { choice: 'reject' }]);
    expect(report).toMatchObject({ state: 'failed', code: 'VALIDATION_FAIL' });
  });
  test('an approved result without all tasks is partial', async () => {
    const staged = { tier: 'regulated', plan: { agent: 'planner' }, workers: { agent: 'worker', max: 1 } };
    const worker = ['A is 1.', { error: 'fatal', message: 'down' } as const];
    const { report } = await play({ staged }, { agents: { planner: [PLAN], worker } }, [{ choice: 'approve' }]);
    expect(report).toMatchObject({ code: 'PARTIAL_SUCCESS', output: [{ id: 'a', summary: 'A is 1.' }] });
  });
  test('approving after the budget of an agent was used up grants it once more', async () => {
    const agents = [{ id: 'bob', instructions: 'Work.', budget: { model_calls: 1 } }];
    const sop = ['one', 'two'].map((id) => ({ id, agent: 'bob' }));
    const { report } = await play({ agents, staged: { tier: 'regulated', sop } }, { agents: { bob: ['ok'] } }, [
      { choice: 'approve' },
    ]);
    expect(report).toMatchObject({ code: 'SUCCESS', usage: { modelCalls: 2 } });
  });
});

describe('limits', () => {
  test('the budget of a step is named in the error', async () => {
    const sop = [{ id: 'one', agent: 'ann', budget: { model_calls: 1 }, output: NUMBER }];
    const { report } = await play({ staged: { sop } }, { agents: { ann: ['prose'] } });
    expect(report.error?.message).toBe('sop/one.budget.model_calls has 0 left, and 1 is needed');
  });
  test('the budget and the timeout of `validate` hold for functions of invariants', async () => {
    const tools = { 'check.a': { description: 'A', effect: 'read' }, 'check.b': { description: 'B', effect: 'read' } };
    const run = async (validate: object, delayMs = 0) => {
      const invariants = [{ tool: 'check.a' }, { tool: 'check.b' }];
      const staged = { replans: 0, sop: [{ id: 'one', agent: 'ann' }], validate: { invariants, ...validate } };
      const results = { 'check.a': [{ result: true, delayMs }], 'check.b': [{ result: true }] };
      return (await play({ tools, staged }, { agents: { ann: ['ok'] }, tools: results })).report;
    };
    expect((await run({}, 20_000)).code).toBe('SUCCESS');
    expect(await run({ budget: { tool_calls: 1 } })).toMatchObject({
      code: 'BUDGET_EXHAUSTED',
      usage: { toolCalls: 1 },
      error: { message: 'validate.budget.tool_calls has 0 left, and 1 is needed' },
    });
    expect((await run({ timeout: 1 }, 20_000)).error?.message).toContain('did not answer in time');
  });
  test('a task that was lost and then done leaves a whole result', async () => {
    const worker = ['A is 1.', { error: 'fatal', message: 'no' } as const, 'A is 1.', 'B is 2.'];
    const critic = ['{"ok": false, "problem": "B is missing"}', YES];
    const changes = { tier: 'interactive', aggregate: {}, finalize: {} };
    expect((await supervise(changes, { worker, critic })).code).toBe('SUCCESS');
  });
  test('a stage can switch the loop detector off, and on', async () => {
    const call = { tools: [{ name: 'web.read', args: { page: 1 } }] };
    const tools = { 'web.read': { description: 'Reads.', effect: 'read' } };
    const agents = [{ id: 'ann', instructions: 'Read.', tools: ['web.read'] }];
    const run = async (document: object | false, own: object | false) => {
      const staged = { sop: [{ id: 'one', agent: 'ann', protections: { loop: own } }] };
      const script = {
        agents: { ann: [call, call, call, call, call, 'done'] },
        tools: { 'web.read': [{ result: 1 }] },
      };
      return (await play({ tools, agents, protections: { loop: document }, staged }, script)).report.usage.toolCalls;
    };
    expect(await run({}, {})).toBe(2);
    expect(await run({}, false)).toBe(5);
    expect(await run(false, { identical: 2 })).toBe(1);
  });
});

describe('check', () => {
  const staged = { plan: { agent: 'planner' }, workers: { agent: 'worker' } };
  const fallback = { on_failure: { schema_or_grounding: JSON.parse('{"then": "fallback"}') as object } };
  test('a fallback needs a safe text', () => {
    const workers = { agent: 'worker', protections: fallback };
    expect(diagnosed({ staged: { ...staged, workers } })).toEqual([
      expect.stringMatching(/^error: .*`then: fallback` needs a `safe_fallback`$/),
    ]);
    expect(diagnosed({ protections: fallback, staged })).toEqual([
      expect.stringMatching(/^error: .*`then: fallback` needs a `safe_fallback`, and no stage has one$/),
    ]);
    const validate = { invariants: [{ when: 'size(aggregate) > 5', reason: 'few' }], safe_fallback: 'sorry' };
    expect(diagnosed({ protections: fallback, staged: { ...staged, validate } })).toEqual([]);
  });
  test('a limit of a stage that makes no call', () => {
    const aggregate = { timeout: 3, budget: { model_calls: 1 } };
    expect(diagnosed({ staged: { ...staged, aggregate } })).toEqual([
      expect.stringMatching(/^warning: .*`budget` has no effect without an agent$/),
      expect.stringMatching(/^warning: .*`timeout` has no effect without an agent$/),
    ]);
  });
  test('approvers of a stage that never escalates', () => {
    const people = [{ id: 'kim', roles: ['boss'] }];
    const found = (tier: string, key: string, stage: object) =>
      diagnosed({ people, staged: { ...staged, tier, [key]: { ...stage, approvers: { roles: ['boss'] } } } });
    expect(found('batch', 'finalize', { agent: 'writer' })).toEqual([
      expect.stringMatching(/^warning: .*no result of `finalize` waits for its `approvers` in the tier `batch`$/),
    ]);
    const finalize = { agent: 'writer', approvers: { roles: ['boss'] } };
    const [warning] = compile({ agents: AGENTS, people, staged: { ...staged, finalize } }).diagnostics;
    expect(warning?.help).toContain('only answer for the breaker, the velocity limit and the loop detector');
    expect(found('batch', 'validate', { review: true })).toEqual([]);
    expect(found('regulated', 'finalize', { agent: 'writer' })).toEqual([]);
  });
  test('an agent that is twice in a debate', () => {
    expect(diagnosed({ staged: { debate: { agents: ['ann', 'ann'] } } })).toEqual([
      expect.stringMatching(/^error: .*`ann` is twice in `debate`$/),
    ]);
  });

  describe('policies about stages', () => {
    const about = (stage: string) => ({
      all: 'permit(principal, action, resource);',
      stage: `forbid(principal, action, resource == Stage::"${stage}");`,
    });
    test('without an action: the stage may neither begin nor hand on its result', async () => {
      const script = { agents: { planner: [ONE], worker: ['A'] } };
      const { report } = await play({ policies: about('workers'), staged }, script);
      expect(report.error?.message).toBe('the stage `workers` may not begin: forbidden by `stage`');
    });
    test('a stage that neither the flow nor a team has', () => {
      const teams = [{ id: 'north', staged: { sop: [{ id: 'one', agent: 'ann' }] } }];
      const found = (stage: string) => diagnosed({ policies: about(stage), staged: { plan: staged.plan, teams } });
      expect(found('sop/one')).toEqual([]);
      expect(found('validat')).toEqual([expect.stringMatching(/^error: .*there is no stage `validat`$/)]);
    });
  });
});
