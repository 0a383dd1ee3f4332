/** The phases of the loop, each by what it leaves on the journal. Their order is in packages/notations/test/loop/tables.test.ts. */
import { describe, expect, test } from 'vitest';
import type { Json } from '@sluice-internal/kernel/expr';
import { compileLoop, drive } from '../../packages/notations/test/loop/drive.ts';
import type { Driven } from '../../packages/notations/test/loop/drive.ts';

const FIND = { effect: 'read', input: { type: 'object', properties: { q: { type: 'string' } }, required: ['q'] } };
const call = (args: Json, name = 'find') => ({ tools: [{ name, args: args as { [field: string]: Json } }], text: '' });

function run(loop: object, replies: readonly (string | object)[], more: object = {}): Promise<Driven> {
  const flow = compileLoop({
    agents: [{ id: 'bot', tools: ['find'] }],
    tools: { find: FIND },
    ...more,
    loop: { agent: 'bot', ...loop },
  });
  return drive(flow, { agents: { bot: replies }, tools: { find: [{ result: 'it is 7' }] } });
}

const slots = ({ read }: Driven) => read.state.threads.get('0')?.slots ?? {};
const acts = ({ read }: Driven, node: string) => read.events.filter((event) => 'node' in event && event.node === node);
const turnedAway = { state: 'failed', usage: { modelCalls: 0, toolCalls: 0 } };

describe('what each phase leaves', () => {
  test('the input becomes the goal, and an unsafe one goes no further §phases/goal-intake', async () => {
    const taken = await run({}, ['done']);
    expect(slots(taken)['goal']).toBe('what is it?');
    const refused = await run({ guards: [{ when: 'goal.contains("what")', reason: 'no' }] }, ['done']);
    expect(refused.report).toMatchObject({ ...turnedAway, code: 'UNSAFE_DETECTION' });
    expect(acts(refused, 'scope_resolution')).toEqual([]);
  });

  test('agent, tools and profile are settled before any of them is used §phases/scope-resolution', async () => {
    const driven = await run({}, ['done'], { boundary: 'research' });
    expect(slots(driven)['scope']).toEqual({ agent: 'bot', tools: ['find'], profile: 'research' });
    const [scoped] = acts(driven, 'scope_resolution');
    const [asked] = acts(driven, 'action_selection');
    expect(scoped?.seq).toBeLessThan(asked?.seq ?? 0);
  });

  test('a goal against the rules ends before any state is made §phases/policy-check', async () => {
    const guards = [{ when: 'goal.contains("what")', code: 'PERMISSION_DENIED', reason: 'not for you' }];
    const driven = await run({ guards }, ['done']);
    expect(driven.report).toMatchObject({
      ...turnedAway,
      code: 'PERMISSION_DENIED',
      error: { message: 'not for you' },
    });
    expect(acts(driven, 'state_init')).toEqual([]);
  });

  test('the state begins empty, at version 1 §phases/state-init', async () => {
    const [begun] = acts(await run({}, ['done']), 'state_init');
    const written = begun?.type === 'slots.written' ? begun.writes : [];
    const values = Object.fromEntries(written.map(({ slot, from }) => [slot, 'value' in from ? from.value : from]));
    expect(values).toMatchObject({ task: { version: 1, finished: 0 }, plan: [], observations: [], talk: [], turn: 0 });
  });

  test('a plan is held against what is granted before it is taken §phases/plan-selection', async () => {
    const flow = compileLoop({
      agents: [{ id: 'boss' }, { id: 'bot', tools: ['find'] }],
      tools: { find: FIND },
      loop: { planner: 'boss', executor: 'bot', plan: { repairs: 0 } },
    });
    const plan = (tool: string) => JSON.stringify({ steps: [{ id: 'a', do: 'look', tool }] });
    const bad = await drive(flow, { agents: { boss: [plan('rm')], bot: ['x'] } });
    expect([bad.report.error?.type, slots(bad)['plan']]).toEqual(['PlanAbandoned', []]);
    const good = await drive(flow, { agents: { boss: [plan('find')], bot: ['x'] } });
    expect(slots(good)['plan']).toEqual([{ id: 'a', do: 'look', tool: 'find' }]);
  });

  test('the limits are on record before anything is spent §phases/budget-assign', async () => {
    const driven = await run({}, ['done'], { boundary: 'sre', budgets: { tool_calls: 4 } });
    expect(slots(driven)['budget']).toMatchObject({ steps: 10, tool_calls: 4, input_tokens: 100_000 });
    expect(acts(driven, 'budget_assign')[0]?.seq).toBeLessThan(acts(driven, 'action_selection')[0]?.seq ?? 0);
  });

  test('what is not granted is not called §phases/tool-eligibility', async () => {
    const driven = await run({}, [call({}, 'rm'), 'done']);
    expect(slots(driven)['eligible']).toEqual(['find']);
    expect(driven.report).toMatchObject({ code: 'SUCCESS', usage: { toolCalls: 0 } });
    expect(driven.prompts[1]).toContain('there is no tool rm. Available: find.');
  });

  test('arguments that do not fit the schema are not sent §phases/action-selection', async () => {
    const driven = await run({}, [call({ q: 7, z: [] }), call({ q: 'x' }), 'done']);
    expect(driven.report).toMatchObject({ code: 'SUCCESS', usage: { toolCalls: 1 } });
    expect(slots(driven)['observations']).toMatchObject([{ ok: false, refused: 'schema' }, { ok: true }]);
  });

  test.each([
    ['an error', { error: 'fatal', message: 'gone' }, 'gone'],
    ['a deadline', { delayMs: 60_000, result: 'late' }, 'did not answer in time'],
  ])('%s of a tool is caught and kept §phases/tool-invocation', async (_, entry, words) => {
    const flow = compileLoop({
      agents: [{ id: 'bot', tools: ['find'] }],
      tools: { find: { ...FIND, timeout: 1 } },
      loop: { agent: 'bot' },
    });
    const driven = await drive(flow, {
      agents: { bot: [call({ q: 'x' }), 'done'] },
      tools: { find: [entry as never] },
    });
    expect(driven.report.code).toBe('SUCCESS');
    expect(slots(driven)['observations']).toMatchObject([
      { tool: 'find', ok: false, error: expect.stringContaining(words) as string },
    ]);
  });

  test('an outcome without an observation does not count §phases/observation-grounding', async () => {
    const driven = await run({ grounding: { on_violation: 'halt' } }, ['It is 812.']);
    expect(driven.report).toMatchObject({ code: 'VALIDATION_FAIL', error: { type: 'GroundingError' } });
  });

  test('each round makes a version of the state §phases/state-update', async () => {
    const driven = await run({}, [call({ q: 'a' }), call({ q: 'b' }), 'done']);
    expect(acts(driven, 'state_update')).toHaveLength(3);
    expect(slots(driven)['task']).toEqual({ version: 4, finished: 0 });
  });

  test('an answer is held against the criteria §phases/validation-check', async () => {
    const criteria = [{ when: 'answer.contains("7")', reason: 'the number is missing' }];
    const driven = await run({ criteria }, ['none', 'it is 7']);
    expect([driven.report.code, driven.report.output, driven.report.usage.modelCalls]).toEqual([
      'SUCCESS',
      'it is 7',
      2,
    ]);
    expect(driven.prompts[1]).toContain('the number is missing');
  });

  test('what fails is given back so often and no more §phases/reflection-trigger', async () => {
    const criteria = [{ when: 'false', reason: 'never good' }];
    for (const repairs of [0, 1, 2]) {
      const { report } = await run({ criteria }, ['x'], { budgets: { reflections: repairs } });
      expect([report.code, report.usage.modelCalls]).toEqual(['VALIDATION_FAIL', repairs + 1]);
    }
  });

  test('a decision that the loop may not make waits for a person §phases/escalation-check', async () => {
    const driven = await run({ review: true }, ['it is 7']);
    expect(driven.report).toMatchObject({
      state: 'suspended',
      waiting: [{ node: 'review', data: { answer: 'it is 7' } }],
    });
    expect(acts(driven, 'final_response')).toEqual([]);
  });

  test('the answer goes out with the observations that it rests on §phases/final-response', async () => {
    const driven = await run({}, [call({ q: 'a' }), 'it is 7']);
    const [seen] = slots(driven)['observations'] as unknown as readonly { id: string }[];
    expect(slots(driven)['final']).toEqual({ citations: [seen?.id] });
    expect(driven.report.output).toBe('it is 7');
  });

  test('memory comes after the answer, and only where it is wanted §phases/memory-write', async () => {
    const kept = await run({ memory: true }, [call({ q: 'a' }), 'it is 7']);
    const asked = kept.read.events.findIndex(
      (event) => event.type === 'effect.requested' && event.name === 'memory.write',
    );
    const final = kept.read.events.findIndex((event) => 'node' in event && event.node === 'final_response');
    expect(asked).toBeGreaterThan(final);
    expect(kept.report.usage.memoryWrites).toBe(1);
    expect((await run({}, [call({ q: 'a' }), 'it is 7'])).report.usage.memoryWrites).toBe(0);
  });

  test('the last phase is the last thing before the end, however a run ends §phases/trace-logging', async () => {
    const ended = await run({}, ['done']);
    const failed = await run({ grounding: { on_violation: 'halt' } }, [
      '{"status": "complete", "answer": 1, "citations": ["x"]}',
    ]);
    for (const [driven, node] of [
      [ended, 'trace_logging'],
      [failed, 'trace_logging.failed'],
    ] as const) {
      const nodes = driven.read.events.flatMap((event) =>
        'node' in event && event.node !== undefined ? [event.node] : [],
      );
      expect(nodes.indexOf(node)).toBe(nodes.findLastIndex((each) => !each.startsWith('~')));
      expect(driven.read.events.at(-1)?.type).toBe('run.ended');
      expect(driven.difference).toBeNull();
    }
  });
});
