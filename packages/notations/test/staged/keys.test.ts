/** The keys of a stage: schemas, budget, timeout, required artifacts, guards, protections, and what policies see. */
import { describe, expect, test } from 'vitest';
import { compile } from '@sluice-internal/library';
import { AGENTS, GOOD, ONE, SUPERVISOR, actions, play, supervise } from './drive.ts';

const OBJECT = { type: 'object', properties: { x: { type: 'number' } }, required: ['x'] };
const errors = (staged: object, rest: object = {}) =>
  compile({ agents: AGENTS, ...rest, staged: { ...SUPERVISOR, ...staged } }).diagnostics.filter(
    ({ severity }) => severity === 'error',
  );

describe('schemas', () => {
  test('the input of the plan is the task', async () => {
    const plan = { agent: 'planner', input: OBJECT };
    const { report } = await play({ staged: { ...SUPERVISOR, plan } }, { agents: GOOD }, [], '{"x": 1}');
    expect(report.code).toBe('SUCCESS');
    const { report: bad } = await play({ staged: { ...SUPERVISOR, plan } }, { agents: GOOD }, [], '{"y": 1}');
    expect(bad).toMatchObject({ state: 'failed', code: 'VALIDATION_FAIL', usage: { modelCalls: 0 } });
    expect(actions(bad)).toEqual(['schema_or_grounding: abort']);
  });
  test('a brief that does not fit makes the plan malformed', async () => {
    const workers = { agent: 'worker', input: { type: 'string', minLength: 30 } };
    const report = await supervise({ workers });
    expect(report).toMatchObject({ code: 'VALIDATION_FAIL', path: ['plan', 'plan', 'plan'] });
    const whole = await supervise({
      workers: { agent: 'worker', input: { type: 'object', required: ['id', 'brief'] } },
    });
    expect(whole.code).toBe('SUCCESS');
  });
  test('a summary that does not fit: one repair, then the task is lost', async () => {
    const workers = { agent: 'worker', output: OBJECT };
    const report = await supervise({ workers }, { worker: ['{"x": 1}', 'prose', 'still prose'] });
    expect(report).toMatchObject({ code: 'PARTIAL_SUCCESS' });
    const good = await supervise({ workers }, { worker: ['{"x": 1}', '{"x": 2}'] });
    expect(good.code).toBe('SUCCESS');
  });
  test('interactive: a worker whose summary does not fit tries once more', async () => {
    const workers = { agent: 'worker', output: OBJECT };
    const report = await supervise(
      { tier: 'interactive', workers },
      { planner: [ONE], worker: ['prose', 'prose', '{"x": 1}'] },
    );
    expect(report.code).toBe('SUCCESS');
    expect(actions(report)).toEqual(['schema_or_grounding: retry']);
  });
  test('the output of finalize', async () => {
    const finalize = { agent: 'writer', output: OBJECT };
    const report = await supervise({ finalize }, { writer: ['{"x": 3}'] });
    expect(report).toMatchObject({ code: 'SUCCESS', output: { x: 3 } });
    const bad = await supervise({ finalize }, { writer: ['no JSON'] });
    expect(bad).toMatchObject({ code: 'VALIDATION_FAIL', output: null });
  });
  test('the output of an aggregate without an agent', async () => {
    const report = await supervise({ aggregate: { output: { type: 'array', minItems: 3 } } });
    expect(report.code).toBe('VALIDATION_FAIL');
    expect(actions(report).at(-1)).toBe('schema_or_grounding: abort');
  });
});

test('regulated: a fallback model of the breaker is a warning, in the document and on a stage', () => {
  const protections = { breaker: { fallback: { model: 'openai/small' } } };
  const staged = { ...SUPERVISOR, workers: { agent: 'worker', protections } };
  const unused = (tier: string) =>
    compile({ agents: AGENTS, protections, staged: { ...staged, tier } }).diagnostics.filter(
      ({ code, message }) => code === 'unused-field' && message.includes('breaker.fallback.model'),
    ).length;
  expect([unused('regulated'), unused('batch'), unused('interactive')]).toEqual([2, 0, 0]);
});

describe('budget', () => {
  test('off: workers use as much as they want; on: the stage stops at its own budget', async () => {
    const tasks = JSON.stringify({
      tasks: Array.from({ length: 10 }, (_, index) => ({ id: `t${index}`, brief: 'Do.' })),
    });
    const free = await supervise({}, { planner: [tasks], worker: ['ok'] });
    expect(free.usage.modelCalls).toBe(14);
    const report = await supervise(
      { workers: { agent: 'worker', budget: { model_calls: 3 } } },
      { planner: [tasks], worker: ['ok'] },
    );
    expect(report).toMatchObject({ state: 'failed', code: 'BUDGET_EXHAUSTED', usage: { modelCalls: 4 } });
    expect(actions(report)).toEqual(['cost_overrun: abort']);
  });
});

describe('timeout', () => {
  const slow = { planner: [ONE], worker: [{ delayMs: 60_000, text: 'late' }] };
  test('off: a stalled worker holds the run; on: the stage ends at its deadline', async () => {
    const free = await supervise({}, slow);
    expect(free).toMatchObject({ code: 'SUCCESS' });
    expect(free.usage.wallClockSeconds).toBeGreaterThanOrEqual(60);
    const report = await supervise({ workers: { agent: 'worker', timeout: 5 } }, slow);
    expect(report).toMatchObject({ state: 'failed', code: 'TIMEOUT' });
    expect(actions(report)).toEqual(['deadlock: abort']);
    expect(report.usage.wallClockSeconds).toBeLessThanOrEqual(6);
  });
  test('a worker that is cut off is lost; the others count', async () => {
    const report = await supervise(
      { workers: { agent: 'worker', timeout: 5 } },
      { worker: [{ delayMs: 60_000, text: 'late' }, 'B is 2.'] },
    );
    expect(report).toMatchObject({ code: 'PARTIAL_SUCCESS' });
  });
  test('retries do not move the deadline of the stage', async () => {
    const finalize = { agent: 'writer', timeout: 10 };
    const report = await supervise({ finalize }, { writer: [{ delayMs: 6_000, error: 'transient', message: '503' }] });
    expect(report).toMatchObject({ state: 'failed' });
    expect(report.usage.wallClockSeconds).toBeLessThanOrEqual(11);
  });
});

describe('budget', () => {
  test('a stage without room names its budget as the document spells it', async () => {
    const calls = await supervise(
      { workers: { agent: 'worker', budget: { model_calls: 1 } }, tier: 'interactive' },
      {},
    );
    expect(calls.error?.message).toBe('workers.budget.model_calls has 0 left, and 1 is needed');
  });
});

describe('requires', () => {
  test('a field of the input', async () => {
    const plan = { agent: 'planner', requires: ['order'] };
    const { report } = await play({ staged: { ...SUPERVISOR, plan } }, { agents: GOOD }, [], '{"order": ""}');
    expect(report).toMatchObject({ state: 'failed', code: 'VALIDATION_FAIL', usage: { modelCalls: 0 } });
    expect(report.error?.message).toBe('`plan` requires `order`, which is missing or empty');
    const { report: good } = await play({ staged: { ...SUPERVISOR, plan } }, { agents: GOOD }, [], '{"order": 7}');
    expect(good.code).toBe('SUCCESS');
  });
  test('a field of the input that a later stage requires: no plan can add it, so there is no replan', async () => {
    const workers = { agent: 'worker', requires: ['order'] };
    const { report } = await play({ staged: { ...SUPERVISOR, workers } }, { agents: GOOD }, [], '');
    expect(report).toMatchObject({ code: 'VALIDATION_FAIL', usage: { modelCalls: 1 } });
    expect(report.decisions).toMatchObject([{ failure: 'schema_or_grounding', action: 'abort' }]);
    expect(report.error).toMatchObject({
      node: 'workers',
      message: '`workers` requires `order`, which is missing or empty',
    });
  });
  test('an upstream artifact', async () => {
    const report = await supervise(
      { finalize: { agent: 'writer', requires: ['aggregate'] } },
      { editor: [''], critic: ['{"ok": true}'] },
    );
    expect(report.code).toBe('VALIDATION_FAIL');
    expect(report.error?.message).toContain('requires `aggregate`');
  });
  test('a stage that does not run before, and a misspelt one, are errors', () => {
    expect(errors({ plan: { agent: 'planner', requires: ['finalize'] } })).toMatchObject([{ code: 'bad-value' }]);
    expect(errors({ finalize: { agent: 'writer', requires: ['agregate'] } })).toMatchObject([
      { code: 'bad-value', help: 'Did you mean `aggregate`?' },
    ]);
  });
});

describe('guards', () => {
  const guards = [{ when: "text(output).contains('password')", reason: 'It tells a password.' }];
  test.each(['plan', 'aggregate', 'finalize'])('of %s', async (stage) => {
    const report = await supervise(
      { [stage]: { ...SUPERVISOR[stage as 'plan'], guards } },
      {
        planner: ['{"tasks": [{"id": "a", "brief": "Find the password."}]}'],
        editor: ['The password.'],
        writer: ['The password.'],
      },
    );
    expect(report).toMatchObject({ state: 'failed', code: 'UNSAFE_DETECTION', output: null });
    expect(actions(report)).toEqual(['unsafe_output: block', 'unsafe_output: abort']);
  });
  test('of workers: one unsafe summary stops the run, also if others are safe', async () => {
    const report = await supervise(
      { workers: { agent: 'worker', guards } },
      { worker: ['The password is 1.', 'B is 2.'] },
    );
    expect(report).toMatchObject({ state: 'failed', code: 'UNSAFE_DETECTION' });
    const safe = await supervise(
      {
        tier: 'interactive',
        workers: { agent: 'worker', guards, safe_fallback: 'Withheld.' },
        aggregate: undefined,
        finalize: undefined,
      },
      { worker: ['The password is 1.', 'B is 2.'] },
    );
    expect(safe).toMatchObject({ code: 'PARTIAL_SUCCESS', output: [{ summary: 'Withheld.' }, { summary: 'B is 2.' }] });
  });
  test('a guard that cannot be evaluated counts as one that holds', async () => {
    const report = await supervise({
      finalize: { agent: 'writer', guards: [{ when: 'int(output) > 3', reason: 'Too many.' }] },
    });
    expect(report.code).toBe('UNSAFE_DETECTION');
  });
});

describe('rules over the result', () => {
  test('an invariant that does not hold is the row of the schema failures, and costs no call of the critic', async () => {
    const validate = { agent: 'critic', invariants: [{ when: 'size(aggregate) > 100', reason: 'too short' }] };
    const report = await supervise({ validate });
    expect(report).toMatchObject({ code: 'VALIDATION_FAIL', error: { message: 'too short' } });
    expect(report.usage.modelCalls).toBe(12);
  });
  test('the oracle looks at the final output and at what was really done', async () => {
    const oracle = [{ when: "receipts.exists(r, r.tool == 'order')", reason: 'nothing was ordered' }];
    const report = await supervise({ oracle });
    expect(report).toMatchObject({ code: 'VALIDATION_FAIL', error: { message: 'nothing was ordered' } });
    expect((await supervise({ oracle: [{ when: "output.contains('Done')", reason: 'x' }] })).code).toBe('SUCCESS');
  });
});

test('cost per success: dollars of a verified outcome, and null without one', async () => {
  const models = { priced: { provider: 'openai', model: 'x', price: { input: 1, output: 2 } } };
  const agents = AGENTS.map((agent) => ({ ...agent, model: 'priced' }));
  const { report } = await play({ models, agents, staged: SUPERVISOR }, { agents: GOOD });
  expect(report.costPerSuccessUsd).toBe(report.usage.costUsd);
  expect(report.costPerSuccessUsd).toBeGreaterThan(0);
  const failed = await play({ models, agents, staged: SUPERVISOR }, { agents: { ...GOOD, planner: ['none'] } });
  expect(failed.report.costPerSuccessUsd).toBeNull();
});

test('protections of a stage differ from those of the document', async () => {
  const tasks = JSON.stringify({ tasks: [1, 2, 3].map((id) => ({ id: `t${id}`, brief: 'Do.' })) });
  const report = await supervise(
    { workers: { agent: 'worker', protections: { spawn: { max: 2 } } } },
    { planner: [tasks] },
  );
  expect(report.code).toBe('VALIDATION_FAIL');
  expect(report.error?.message).toContain('at most 2');
});

test('policies see the stage', async () => {
  const document = {
    agents: [
      ...AGENTS.filter(({ id }) => id !== 'worker' && id !== 'writer'),
      { id: 'worker', tools: ['find'] },
      { id: 'writer', tools: ['find'] },
    ],
    tools: { find: { description: 'Finds.', input: { type: 'object' }, effect: 'read' } },
    policies: {
      all: 'permit(principal, action, resource);',
      late: 'forbid(principal, action, resource) when { context.stage == "finalize" };',
    },
    staged: SUPERVISOR,
  };
  const call = { text: '', tools: [{ name: 'find', args: {} }] };
  const { report } = await play(document, {
    agents: { ...GOOD, planner: [ONE], worker: [call, 'A is 1.'], writer: [call, 'Done.'] },
    tools: { find: [{ result: 1 }] },
  });
  expect(report.receipts).toMatchObject([{ tool: 'find' }]);
  expect(report.usage.toolCalls).toBe(1);
});

test('every gate leaves a result in the journal', async () => {
  const { events } = await play({ staged: SUPERVISOR }, { agents: GOOD });
  const gates = events.flatMap((event) =>
    event.type === 'slots.written' ? event.writes.filter(({ slot }) => slot === 'validation') : [],
  );
  // Two for each of the five stages, and the one that clears the slot at the start.
  expect(gates).toHaveLength(11);
});

describe('mistakes', () => {
  test.each([
    [{ workers: undefined }, 'missing-field'],
    [{ debate: { agents: ['ann', 'bob'] } }, 'bad-value'],
    [{ topology: 'debate' }, 'bad-value'],
    [{ plan: undefined }, 'missing-field'],
    [{ workers: { agent: 'worker', agents: ['ann'] } }, 'bad-value'],
    [{ workers: {} }, 'missing-agent'],
    [{ validate: { confidence: 0.5 } }, 'missing-agent'],
    [{ validate: { invariants: [{ when: 'aggregat == 1', reason: 'x' }] } }, 'unknown-name'],
    [{ workers: undefined, peers: { agents: ['ann'], start: 'an' } }, 'unknown-agent'],
    [
      {
        workers: undefined,
        sop: [
          { id: 'a', agent: 'ann' },
          { id: 'a', agent: 'bob' },
        ],
      },
      'duplicate-id',
    ],
    [{ finalise: { agent: 'writer' } }, 'unknown-key'],
    [{ tier: 'batched' }, 'bad-value'],
  ])('%j: %s', (change, code) => {
    expect(errors(change).map((each) => each.code)).toEqual([code]);
  });
  test('a safe fallback without a guard, and in another tier, is a warning', () => {
    const { diagnostics } = compile({
      agents: AGENTS,
      staged: { ...SUPERVISOR, finalize: { agent: 'writer', safe_fallback: 'x' } },
    });
    expect(diagnostics).toContainEqual(expect.objectContaining({ code: 'unused-field', severity: 'warning' }));
  });
});

test.each([
  ['tokens of a stage', { tokens: 1000 }, 250],
  ['output tokens of a stage', { output_tokens: 400 }, 100],
  ['calls of a stage', { model_calls: 4 }, null],
])('a budget for %s limits each reply, so that a call can be reserved', (_, budget, most) => {
  const workers = { ...SUPERVISOR.workers, budget };
  const { flow } = compile({ agents: AGENTS, staged: { ...SUPERVISOR, workers } });
  expect(flow?.agents['worker']?.maxOutputTokens).toBe(most);
});

test('the question of a stage expires after whole milliseconds', () => {
  const validate = { agent: 'critic', confidence: 0.9 };
  const { flow } = compile({
    agents: AGENTS,
    boundary: { approval_timeout: 1.2345 },
    staged: { ...SUPERVISOR, validate },
  });
  const asked = Object.values(flow?.nodes ?? {}).filter(
    (node) => node.op === 'do' && node.effect.kind === 'ask' && node.effect.about === 'escalation',
  );
  expect(asked.length).toBeGreaterThan(0);
  for (const node of asked) expect(node).toMatchObject({ timeoutMs: 1235 });
});
