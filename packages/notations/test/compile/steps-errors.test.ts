import { describe, expect, test } from 'vitest';
import { drive } from './steps-drive.ts';
import type { Reply } from './steps-drive.ts';

const echo = (name: string) => (prompt: string) => `${name}(${prompt})`;
const two = (more: string) => `steps: [{ name: one, agent_name: a, ${more} }, { name: two, agent_name: b }]`;
const fails = (error: Exclude<Reply, string>['error']) => ({ a: (): Reply => ({ error }), b: echo('b') });

describe('Fail', () => {
  test.each([
    ['transient', 'UNAVAILABLE_DEP'],
    ['fatal', 'UNAVAILABLE_DEP'],
    ['timeout', 'TIMEOUT'],
    ['refused', 'IMPOSSIBLE'],
    ['policy', 'PERMISSION_DENIED'],
  ] as const)('a %s failure ends the run %s', (error, code) => {
    const run = drive(two(''), fails(error));
    expect(run.path).toEqual(['one']);
    expect(run.outcome).toMatchObject({ state: 'failed', code, output: null, error: { class: error, node: 'one' } });
    expect(run.commands).toHaveLength(1);
  });

  test('a step that does not answer within its time fails', () => {
    const run = drive(two(''), { a: () => 'never', b: echo('b') });
    expect(run.outcome).toMatchObject({ code: 'TIMEOUT', error: { type: 'TimeoutError' } });
    expect((run.events.at(-1)?.at ?? 0) - (run.events[0]?.at ?? 0)).toBe(120_000);
  });
});

describe('Skip', () => {
  test('goes on with the input as it was, and the run is partial', () => {
    const run = drive(two('error_mode: Skip'), fails('fatal'));
    expect(run.path).toEqual(['one', 'two']);
    expect(run.outcome).toMatchObject({ state: 'completed', code: 'PARTIAL_SUCCESS', output: 'b(in)', error: null });
    expect(run.commands[1]?.input['source']).toMatchObject({ upstream: null });
  });

  test('passes over a timeout too', () => {
    expect(drive(two('error_mode: skip, timeout_secs: 1'), { a: () => 'never', b: echo('b') }).outcome.code).toBe(
      'PARTIAL_SUCCESS',
    );
  });

  test('a condition that is not met is no failure', () => {
    expect(
      drive(two('error_mode: skip, mode: conditional, condition: zzz'), { a: echo('a'), b: echo('b') }).outcome.code,
    ).toBe('SUCCESS');
  });

  test('does not pass over a budget that is used up', () => {
    expect(drive(two('error_mode: skip'), fails('budget')).outcome).toMatchObject({
      state: 'failed',
      code: 'BUDGET_EXHAUSTED',
    });
    const limited = drive(`{ budgets: { model_calls: 1 }, workflow: { ${two('error_mode: skip')} } }`, {
      a: echo('a'),
      b: echo('b'),
    });
    expect(limited.outcome).toMatchObject({ state: 'failed', code: 'BUDGET_EXHAUSTED' });
  });

  test('a failure that was passed over is not the reason of a later end', () => {
    const limited = drive(`{ budgets: { model_calls: 1 }, workflow: { ${two('error_mode: skip')} } }`, fails('fatal'));
    expect(limited.outcome).toMatchObject({ code: 'BUDGET_EXHAUSTED', error: { type: 'BudgetError' } });
  });
});

describe('Retry', () => {
  test('sends the same prompt to the same agent, at once', () => {
    const run = drive(two('error_mode: { Retry: { max_retries: 2 } }, prompt: "p {{input}}"'), {
      a: (_, { attempt }) => (attempt === 3 ? 'ok' : { error: 'transient' }),
      b: echo('b'),
    });
    expect(run.commands.slice(0, 3).map(({ attempt, input, name }) => [attempt, name, input['prompt']])).toEqual([
      [1, 'a', 'p in'],
      [2, 'a', 'p in'],
      [3, 'a', 'p in'],
    ]);
    const judged = run.events.filter((event) => event.type === 'effect.judged' && event.verdict === 'retry');
    expect(judged.map((event) => ('notBefore' in event ? event.notBefore - event.at : null))).toEqual([0, 0]);
    expect(run.outcome).toMatchObject({ code: 'SUCCESS', output: 'b(ok)' });
    expect(run.path).toEqual(['one', 'two']);
  });

  test.each(['transient', 'timeout', 'fatal', 'refused'] as const)(
    'used up on %s, it is a repeated failure',
    (error) => {
      const run = drive(two('error_mode: retry'), fails(error));
      expect(run.commands).toHaveLength(4);
      expect(run.outcome).toMatchObject({ state: 'failed', code: 'REPEATED_FAILURE', error: { class: error } });
    },
  );

  test.each(['policy', 'budget'] as const)('does not repeat what was denied: %s', (error) => {
    expect(drive(two('error_mode: retry'), fails(error)).commands).toHaveLength(1);
  });

  test('a timeout counts from the start of each attempt', () => {
    const run = drive(two('error_mode: retry, max_retries: 1, timeout_secs: 5'), { a: () => 'never', b: echo('b') });
    expect((run.events.at(-1)?.at ?? 0) - (run.events[0]?.at ?? 0)).toBe(10_000);
    expect(run.outcome.code).toBe('REPEATED_FAILURE');
  });
});

describe('source and target', () => {
  const passedBy = `
steps:
  - { name: one, agent_name: a }
  - { name: two, agent_name: b, mode: conditional, condition: review }
  - { name: three, agent_name: a }`;

  test('an agent that turns out to be handed its own output fails the run', () => {
    const run = drive(passedBy, { a: () => 'fine', b: echo('b') });
    expect(run.path).toEqual(['one']);
    expect(run.outcome).toMatchObject({
      state: 'failed',
      code: 'VALIDATION_FAIL',
      error: { class: 'semantic', type: 'SameAgentError', node: 'three' },
    });
  });

  test('and runs if another agent is between', () => {
    const run = drive(passedBy, { a: (prompt) => `review ${prompt}`, b: echo('b') });
    expect(run.path).toEqual(['one', 'two', 'three']);
  });

  test('a failed step passes nothing on', () => {
    const source = 'steps: [{ name: one, agent_name: a, error_mode: skip }, { name: two, agent_name: a }]';
    const run = drive(source, { a: (_, { ordinal }) => (ordinal === 0 ? { error: 'fatal' } : 'ok') });
    expect(run.outcome).toMatchObject({ code: 'PARTIAL_SUCCESS', output: 'ok' });
    expect(drive(source, { a: () => 'ok' }).outcome.code).toBe('VALIDATION_FAIL');
  });

  test('holds for each branch and for a loop’s first iteration', () => {
    const before = '{ name: one, agent_name: a }, { name: two, agent_name: b, mode: conditional, condition: no }';
    const branch = drive(
      `steps: [${before}, { name: x, agent_name: c, mode: fan_out }, { name: y, agent_name: a, mode: fan_out }]`,
      { a: () => 'A', b: echo('b'), c: echo('c') },
    );
    expect(branch.outcome).toMatchObject({ code: 'VALIDATION_FAIL', error: { type: 'SameAgentError', node: 'y' } });
    const loop = drive(`steps: [${before}, { name: l, agent_name: a, mode: loop, until: z }]`, {
      a: () => 'A',
      b: echo('b'),
    });
    expect(loop.outcome).toMatchObject({ code: 'VALIDATION_FAIL', error: { node: 'l' } });
  });
});
