/** The measures, on runs whose figures are known beforehand: honest ones, faulty ones and ones that somebody must take over. */
import { beforeAll, describe, expect, test } from 'vitest';
import type { Script } from '../../src/effects/scripted/script.ts';
import { memoryOwner } from '../../src/effects/memory/memory.ts';
import { createMemoryStore } from '../../src/effects/memory/store.ts';
import { compileLoop, drive } from '../loop/drive.ts';
import * as measures from './measures.ts';
import type { Measured } from './measures.ts';

interface Task extends Pick<Measured, 'expected' | 'reference' | 'anomaly'> {
  readonly loop?: object;
  readonly more?: object;
  readonly replies: readonly (string | object)[];
  readonly tools?: Script['tools'];
  readonly approvals?: Script['approvals'];
  readonly answers?: readonly { readonly choice: string; readonly text?: string }[];
}

const call = (name: string, n = 1) => ({ tools: [{ name, args: { n } }], text: '', usage: { input: 100, output: 50 } });
const said = (text: string) => ({ text, usage: { input: 100, output: 50 } });
const json = (fields: object) => said(JSON.stringify(fields));
const GOOD = { expected: 'SUCCESS', anomaly: false } as const;

const TASKS: readonly Task[] = [
  { ...GOOD, reference: 1, replies: [said('hello')] },
  { ...GOOD, reference: 2, loop: { memory: true }, replies: [call('find'), said('it is 7')] },
  // The first lookup fails, and is made again: one turn more than it takes.
  {
    ...GOOD,
    reference: 4,
    replies: [call('find'), call('find', 2), call('find', 3), call('find', 4), said('it is 7')],
    tools: { find: [{ error: 'fatal', message: 'gone' }, { result: 7 }] },
  },
  { ...GOOD, reference: 2, replies: [call('save'), said('done')], approvals: { save: 'approve' } },
  { ...GOOD, reference: 2, replies: [call('save'), said('not done')], approvals: { save: 'reject' } },
  { ...GOOD, reference: 1, replies: [{ error: 'transient', message: 'busy' }, said('hello')] },
  {
    ...GOOD,
    reference: 2,
    replies: [json({ status: 'missing_info', question: 'Which?' }), said('it is 7')],
    answers: [{ choice: 'respond', text: 'the first' }],
  },
  {
    expected: 'TIMEOUT',
    anomaly: false,
    reference: 1,
    more: { budgets: { wall_clock_seconds: 5 } },
    replies: [{ delayMs: 60_000, text: 'late' }],
  },
  {
    expected: 'UNSAFE_DETECTION',
    anomaly: true,
    reference: 0,
    loop: { guards: [{ when: 'true', reason: 'no' }] },
    replies: ['x'],
  },
  {
    expected: 'LOW_CONFIDENCE',
    anomaly: true,
    reference: 1,
    loop: { confidence: 0.9, reflection: { confidence: 0 } },
    replies: [json({ status: 'complete', answer: 'x', confidence: 0.2 })],
  },
  {
    expected: 'VALIDATION_FAIL',
    anomaly: true,
    reference: 1,
    loop: { grounding: { on_violation: 'halt' } },
    replies: [said('I have sent it.')],
  },
  { expected: 'CONFIRM_REQUIRED', anomaly: true, reference: 1, replies: [call('save')] },
];

let runs: readonly Measured[] = [];

beforeAll(async () => {
  const measured: Measured[] = [];
  for (const { loop = {}, more = {}, replies, tools = {}, approvals = {}, answers = [], ...task } of TASKS) {
    const memory = createMemoryStore();
    const flow = compileLoop({
      models: { m: { provider: 'test', model: 'm', price: { input: 1, output: 4 } } },
      agents: [{ id: 'bot', model: 'm', tools: ['find', 'save'], max_output_tokens: 100 }],
      tools: { find: { effect: 'read' }, save: { effect: 'write' } },
      budgets: { tool_calls: 5, cost_usd: 0.1, side_effects: 1 },
      boundary: { version: 'v1' },
      ...more,
      loop: { agent: 'bot', ...loop },
    });
    const script = {
      agents: { bot: replies as never },
      tools: { find: [{ result: 7 }], save: [{ result: 1 }], ...tools },
      approvals,
    };
    const driven = await drive(flow, script, { memory, answers });
    const owner = memoryOwner({}, 'bot');
    const keys = await memory.keys(owner);
    const remembered = await Promise.all(keys.map(async (key) => (await memory.get(owner, key)) ?? null));
    measured.push({ ...driven, ...task, remembered });
  }
  runs = measured;
});

describe('measures', () => {
  test.each<[string, (runs: readonly Measured[]) => unknown, unknown]>([
    ['tasks that reached their goal §metrics/task-success-rate', measures.taskSuccessRate, 1],
    ['ends under the right code §metrics/correct-termination', measures.correctTermination, 1],
    ['transitions that the graph has §metrics/trajectory-validity', measures.trajectoryValidity, 1],
    ['turns against the reference, at worst §metrics/trajectory-efficiency', measures.trajectoryEfficiency, 1.25],
    [
      'handed over where it was due §metrics/escalation-accuracy',
      measures.escalationAccuracy,
      { precision: 1, recall: 1 },
    ],
    ['turns for a task §metrics/step-count', measures.stepCount, 19 / 12],
    ['depth of plans §metrics/loop-depth', measures.loopDepth, 1],
    ['calls of tools §metrics/tool-call-count', measures.toolCallCount, 6],
    ['failed ones §metrics/failed-tool-calls', measures.failedToolCalls, 1],
    ['attempts again §metrics/retry-rate', measures.retryRate, 1 / 26],
    ['out of time §metrics/timeout-rate', measures.timeoutRate, 1 / 12],
    ['within their limits §metrics/budget-adherence', measures.budgetAdherence, 1],
    [
      'dollars for a good end §metrics/cost-per-success',
      measures.costPerSuccess,
      expect.closeTo((18 * 300) / 7 / 1_000_000, 9),
    ],
    ['writes from accepted observations §metrics/observation-grounding-rate', measures.groundingRate, 1],
    ['supported memories §metrics/memory-write-quality', measures.memoryQuality, 1],
    ['answers that were no plain yes §metrics/human-override-rate', measures.overrideRate, 2 / 3],
    ['runs that needed words of the user §metrics/user-correction-rate', measures.correctionRate, 1 / 12],
    ['fields of the trace §metrics/trace-completeness', measures.traceCompleteness, 1],
  ])('%s', (_, measure, expected) => {
    expect(measure(runs)).toEqual(expected);
  });

  test('tell a bad set of runs from a good one', () => {
    const worse = runs.map((run) => ({
      ...run,
      expected: 'IMPOSSIBLE',
      anomaly: !run.anomaly,
      reference: 1,
      remembered: [{}],
      difference: {},
    }));
    expect(measures.correctTermination(worse)).toBe(0);
    expect(measures.escalationAccuracy(worse)).toEqual({ precision: 0, recall: 0 });
    expect(measures.trajectoryEfficiency(worse)).toBe(5);
    expect(measures.trajectoryValidity(worse)).toBe(0);
    expect(measures.memoryQuality(worse)).toBe(0);
  });
});
