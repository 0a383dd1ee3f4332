import { describe, expect, test } from 'vitest';
import { stepResults } from '../../src/report/step-results.ts';
import { drive } from '../../../notations/test/compile/steps-drive.ts';

const named = (run: ReturnType<typeof drive>) =>
  stepResults(run.flow, run.events).map(({ name, agent, output }) => [name, agent, output]);

describe('step results', () => {
  test('name, agent, output, tokens and duration of each step', () => {
    const run = drive('steps: [{ name: one, agent_name: a }, { name: two, agent_name: b }]', {
      a: () => 'A',
      b: () => 'B',
    });
    expect(stepResults(run.flow, run.events)).toEqual([
      { name: 'one', agent: 'a', output: 'A', inputTokens: 2, outputTokens: 1, durationMs: 10 },
      { name: 'two', agent: 'b', output: 'B', inputTokens: 2, outputTokens: 1, durationMs: 10 },
    ]);
  });

  test('iterations of a loop are numbered', () => {
    const run = drive('steps: [{ name: r, agent_name: a, mode: loop, until: ok, max_iterations: 3 }]', {
      a: (_, { ordinal }) => (ordinal === 1 ? 'OK' : 'no'),
    });
    expect(named(run)).toEqual([
      ['r (iter 1)', 'a', 'no'],
      ['r (iter 2)', 'a', 'OK'],
    ]);
  });

  test('a branch stands where it was declared, in any order of the results', () => {
    const run = drive(
      'steps: [{ name: x, agent_name: a, mode: fan_out }, { name: y, agent_name: b, mode: fan_out }, { name: g, mode: collect }]',
      { a: () => 'A', b: () => 'B' },
      'in',
      (open) => open[open.length - 1] as (typeof open)[number],
    );
    expect(named(run)).toEqual([
      ['x', 'a', 'A'],
      ['y', 'b', 'B'],
    ]);
  });

  test('a step that failed has none, and retries count into the one that succeeded', () => {
    const skipped = drive('steps: [{ name: one, agent_name: a, error_mode: skip }, { name: two, agent_name: b }]', {
      a: () => ({ error: 'fatal' }),
      b: () => 'B',
    });
    expect(named(skipped)).toEqual([['two', 'b', 'B']]);
    const retried = drive('steps: [{ name: one, agent_name: a, error_mode: retry }]', {
      a: (_, { attempt }) => (attempt < 3 ? { error: 'transient' } : 'A'),
    });
    expect(stepResults(retried.flow, retried.events)).toMatchObject([{ name: 'one', output: 'A', durationMs: 30 }]);
  });

  test('an agent with an id is known by it', () => {
    const run = drive('{ agents: [{ id: x1, name: Writer }], steps: [{ name: one, agent_name: Writer }] }', {
      x1: () => 'A',
    });
    expect(named(run)).toEqual([['one', 'x1', 'A']]);
  });
});
