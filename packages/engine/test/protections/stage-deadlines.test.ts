/** Deadlines of a step, a stage, a sub-flow and the run compose to one instant, which every call gets. §flow/timeout-propagation */
import { describe, expect, test } from 'vitest';
import { AGENTS, DOWN, flowOf, lab, says } from './run-flow.ts';
import type { Provider } from './run-flow.ts';

const staged = (workers: object, budgets: object = {}) =>
  flowOf({
    ...AGENTS,
    budgets,
    agents: [
      { id: 'planner', model: 'main' },
      { id: 'worker', model: 'main', tools: ['find'] },
    ],
    tools: { find: { description: 'Finds.', input: { type: 'object' }, effect: 'read', timeout: 500 } },
    protections: { velocity: false, breaker: false },
    staged: { plan: { agent: 'planner' }, workers: { agent: 'worker', ...workers } },
  });

/** Replies after ten seconds each, and notes the deadline of every call. */
function recorder(reply: (name: string, call: number) => ReturnType<typeof says>) {
  const seen: { readonly name: string; readonly at: number; readonly deadline: number | null }[] = [];
  const provider: Provider = async ({ command, clock }) => {
    seen.push({ name: command.name, at: clock.now(), deadline: command.deadline });
    await clock.sleep(10_000);
    return reply(command.name, seen.length);
  };
  return { seen, provider };
}
const PLAN = '{"tasks": [{"id": "a", "brief": "A"}]}';
const call = [{ id: 'c', name: 'find', args: { q: 'x' } }];

describe('the earliest instant applies', () => {
  test('a tool of a stage gets the deadline of the stage, not its own timeout', async () => {
    let asked = 0;
    const { seen, provider } = recorder((name) => {
      if (name === 'planner') return says(PLAN);
      if (name === 'find') return { ok: true, value: 'found' };
      return asked++ === 0 ? says('', call) : says('Done.');
    });
    const one = lab(provider);
    await one.run(staged({ timeout: 60 }));
    // The stage begins after the plan, at 10 s, so it ends at 70 s for all of its calls.
    expect(seen.map(({ name, deadline }) => [name, deadline])).toEqual([
      ['planner', null],
      ['worker', 70_000],
      ['find', 70_000],
      ['worker', 70_000],
    ]);
    await one.close();
  });

  test('the run ends before the stage: its deadline applies', async () => {
    const { seen, provider } = recorder((name) => says(name === 'planner' ? PLAN : 'Done.'));
    const one = lab(provider);
    await one.run(staged({ timeout: 60 }, { wall_clock_seconds: 40 }));
    expect(seen.map(({ deadline }) => deadline)).toEqual([40_000, 40_000]);
    await one.close();
  });

  test('a retry does not get the time again', async () => {
    const { seen, provider } = recorder((name) => (name === 'planner' ? says(PLAN) : DOWN));
    const one = lab(provider);
    await one.run(staged({ timeout: 60 }));
    const workers = seen.filter(({ name }) => name === 'worker');
    expect(workers.length).toBeGreaterThan(1);
    expect(new Set(workers.map(({ deadline }) => deadline))).toEqual(new Set([70_000]));
    await one.close();
  });

  test('a call in a sub-flow gets the deadline of the run', async () => {
    const { seen, provider } = recorder(() => says('ok'));
    const one = lab(provider);
    const ask = (id: string, to: string) => ({ id, type: 'agent', agent: 'bot', routes: [{ to }] });
    await one.run(
      flowOf({
        ...AGENTS,
        budgets: { wall_clock_seconds: 60 },
        flows: { inner: { id: 'inner', entry: 'x', nodes: [ask('x', 'end')] } },
        flow: {
          id: 'outer',
          entry: 'a',
          nodes: [ask('a', 'sub'), { id: 'sub', type: 'flow', flow: 'inner', input: {}, routes: [{ to: 'end' }] }],
        },
      }),
    );
    expect(seen.map(({ at, deadline }) => [at, deadline])).toEqual([
      [0, 60_000],
      [10_000, 60_000],
    ]);
    await one.close();
  });
});
