/** The certificate of a staged flow: the proof that it ends, and a most that a run of the worst behaviour comes close to. */
import { describe, expect, test } from 'vitest';
import { compile } from '@sluice-internal/library';
import type { Script } from '@sluice-internal/testing';
import { AGENTS, GOOD, NO, SUPERVISOR, YES, play } from './drive.ts';

const down = { error: 'transient', message: '503' } as const;
/** Every reply comes after two failed attempts, which the table retries. */
const slow = (...replies: readonly string[]) => replies.flatMap((text) => [down, down, text]);

/** Questions about the velocity and denied retries are bounds of their own. */
const OFF = { retry_budget: false, breaker: false, velocity: false } as const;

async function compare(document: object, script: Script, answers: Parameters<typeof play>[2] = []) {
  const { bounds } = compile({ agents: AGENTS, ...document });
  const { report } = await play(document, script, answers);
  return { most: bounds?.flow.modelCalls.most ?? Infinity, least: bounds?.flow.modelCalls.least, report };
}

describe('the most model calls', () => {
  test('of a plan with replans: within 10 % of the worst run', async () => {
    const tasks = (name: string) =>
      JSON.stringify({ tasks: [1, 2].map((id) => ({ id: `${name}${id}`, brief: 'Do.' })) });
    const { most, report } = await compare(
      {
        protections: { ...OFF, spawn: { max: 2 } },
        staged: {
          ...SUPERVISOR,
          workers: { agent: 'worker', max: 1 },
          aggregate: undefined,
          finalize: undefined,
          replans: 1,
        },
      },
      {
        agents: {
          ...GOOD,
          // A malformed plan, a plan whose workers all fail, a plan that the critic refuses, and a good one.
          planner: slow('{"tasks": []}', tasks('a'), tasks('b'), tasks('c')),
          worker: slow('', '', 'x', 'x', 'x', 'x'),
          critic: slow(NO, YES),
        },
      },
    );
    expect(report.state).toBe('completed');
    expect(report.usage.modelCalls).toBeLessThanOrEqual(most);
    expect(most).toBeLessThanOrEqual(report.usage.modelCalls * 1.1);
  });
  test('of a debate: within 10 % of the worst run', async () => {
    const { most, report } = await compare(
      {
        protections: OFF,
        staged: { debate: { agents: ['ann', 'bob'], rounds: 3, judge: 'cat' }, replans: 0 },
      },
      { agents: { ann: slow('1', '2', '3'), bob: slow('1', '2', '3'), cat: slow('ann') } },
    );
    expect(report).toMatchObject({ state: 'completed', usage: { modelCalls: 21 } });
    expect(most).toBeLessThanOrEqual(21 * 1.1);
  });
});

test('the least: every agent of a stage has to be asked once', () => {
  const { bounds } = compile({ agents: AGENTS, staged: SUPERVISOR });
  // The plan may name one worker or more; its calls are not counted.
  expect(bounds?.flow.modelCalls.least).toBe(4);
});

test('every cycle is bounded, and the run can end under these codes', () => {
  const { bounds } = compile({ agents: AGENTS, staged: SUPERVISOR });
  expect(bounds?.cycles.every(({ caps }) => caps.length > 0)).toBe(true);
  expect(bounds?.codes).toContain('VALIDATION_FAIL');
});

test('a budget of retries counts each retry once, also beside a budget of model calls', async () => {
  const document = {
    budgets: { model_calls: 20, retries: 5 },
    protections: OFF,
    staged: { plan: { agent: 'planner' }, workers: { agent: 'worker' } },
  };
  const most = compile({ agents: AGENTS, ...document }).bounds?.flow.retries?.most;
  const { report } = await play(document, {
    agents: { planner: slow([GOOD['planner'] ?? []].flat()[0] as string), worker: [down] },
  });
  expect([report.usage.retries, most]).toEqual([5, 5]);
});

test('the members of a swarm are bounded, and so are its steps', async () => {
  const document = { staged: { plan: { agent: 'planner' }, swarm: { agent: 'worker', depth: 2, max: 3 }, replans: 0 } };
  const { bounds, diagnostics } = compile({ agents: AGENTS, ...document });
  expect(diagnostics.map(({ code }) => code)).not.toContain('unbounded-cost');
  const spawn = (...ids: readonly string[]) => JSON.stringify({ spawn: ids.map((id) => ({ id, brief: 'Do.' })) });
  const { report } = await play(document, {
    agents: { planner: ['{"tasks": [{"id": "a", "brief": "Do."}]}'], worker: [spawn('b', 'c'), 'one', 'two'] },
  });
  expect(report).toMatchObject({ state: 'completed', usage: { steps: 7 } });
  expect(bounds?.flow.steps.most).toBe(7);
});
