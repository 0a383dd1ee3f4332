/** The steps of a plan form a graph without circles: listed in any order, done in that of their prerequisites, refused by name. */
import { describe, expect, test } from 'vitest';
import type { CompiledFlow } from '@sluice-internal/kernel/ir';
import { compileLoop, drive } from './drive.ts';

const planned = (plan: object = {}): CompiledFlow =>
  compileLoop({
    agents: [{ id: 'p' }, { id: 'w', tools: ['find'] }],
    tools: { find: { effect: 'read' } },
    budgets: { steps: 200 },
    loop: { planner: 'p', executor: 'w', plan, criteria: [{ when: 'true', reason: 'never' }] },
  });
const script = (steps: readonly object[]) => ({ agents: { p: [JSON.stringify({ steps })], w: ['done'] } });

describe('the order of a plan', () => {
  test('a step listed before what it waits for is done after it', async () => {
    const steps = [
      { id: 'c', do: 'Third.', after: ['b', 'a'] },
      { id: 'b', do: 'Second.', after: ['a'] },
      { id: 'a', do: 'First.' },
    ];
    const { report, read, difference } = await drive(planned(), script(steps));
    expect(report.code).toBe('SUCCESS');
    const task = read.state.threads.get('0')?.slots;
    // What the last step came to is the answer, and no longer among what is finished.
    expect(task).toMatchObject({ finished: ['a', 'b'], step: { id: 'c' } });
    expect(difference).toBeNull();
  });

  test('a chain as long as a plan may be', async () => {
    const steps = Array.from({ length: 100 }, (_, at) => ({
      id: `s${at}`,
      do: `Do ${at}.`,
      after: at < 99 ? [`s${at + 1}`] : [],
    }));
    const { report } = await drive(planned({ max_steps: 100 }), script(steps));
    expect(report).toMatchObject({ code: 'SUCCESS', usage: { modelCalls: 101 } });
  });

  test.each([
    ['itself', [{ id: 'a', do: 'A', after: ['a'] }], 'these steps wait for each other in a cycle: a'],
    [
      'a circle, and a step behind it',
      [
        { id: 'x', do: 'X' },
        { id: 'a', do: 'A', after: ['b'] },
        { id: 'b', do: 'B', after: ['a', 'x'] },
        { id: 'c', do: 'C', after: ['b'] },
      ],
      'these steps wait for each other in a cycle: a, b, c',
    ],
    [
      'its own subtask',
      [
        { id: 'a', do: 'A', after: ['b'] },
        { id: 'b', do: 'B', parent: 'a', done_when: 'x' },
      ],
      'cycle: a, b',
    ],
    ['no step', [{ id: 'a', do: 'A', after: ['z'] }], 'step `a` waits for `z`, which is not a step of this plan'],
    [
      'no parent',
      [{ id: 'a', do: 'A', parent: 'z', done_when: 'x' }],
      'step `a` belongs to `z`, which is not a step of this plan',
    ],
    [
      'no list',
      [
        { id: 'a', do: 'A', after: 'b' },
        { id: 'b', do: 'B' },
      ],
      '`after` of step `a` is not a list',
    ],
  ])('one that waits for %s is refused, and the planner is told', async (_, steps, words) => {
    const { report, prompts, difference } = await drive(planned(), script(steps));
    expect(report).toMatchObject({
      code: 'REPEATED_FAILURE',
      error: { type: 'PlanAbandoned' },
      usage: { modelCalls: 3 },
    });
    expect(report.error?.message).toContain(words);
    expect(prompts[1]).toContain(words);
    expect(difference).toBeNull();
  });
});
