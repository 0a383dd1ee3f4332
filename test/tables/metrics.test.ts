/** The metrics, on runs whose figures are known: good runs, failing runs, and runs that a person must take over. */
import { beforeAll, describe, expect, test } from 'vitest';
import type { Script } from '@sluice-internal/library/host';
import { createMemoryStore } from '@sluice-internal/store-sqlite';
import { recordOf } from '@sluice-internal/evals/journal';
import { figuresOf, sampleOf, valuesOf } from '@sluice-internal/evals/metrics';
import { compileLoop, drive } from '../../packages/notations/test/loop/drive.ts';
import type { Measured } from '../../packages/evals/src/journal/record.ts';
import type { MetricValues } from '../../packages/evals/src/metrics/measure.ts';

interface Task {
  readonly expected: string;
  readonly reference: number;
  readonly anomaly: boolean;
  readonly loop?: object;
  readonly more?: object;
  readonly replies: readonly (string | object)[];
  readonly tools?: Script['tools'];
  readonly approvals?: Script['approvals'];
  readonly verdicts?: readonly object[];
  readonly answers?: readonly { readonly choice: string; readonly text?: string }[];
}

const call = (name: string, n = 1) => ({ tools: [{ name, args: { n } }], text: '', usage: { input: 100, output: 50 } });
const reply = (text: string) => ({ text, usage: { input: 100, output: 50 } });
const json = (fields: object) => reply(JSON.stringify(fields));
const GOOD = { expected: 'SUCCESS', anomaly: false } as const;

const TASKS: readonly Task[] = [
  { ...GOOD, reference: 1, replies: [reply('hello')] },
  { ...GOOD, reference: 2, loop: { memory: true }, replies: [call('find'), reply('it is 7')] },
  // The first lookup fails, and is made again: one turn more than it takes.
  {
    ...GOOD,
    reference: 4,
    replies: [call('find'), call('find', 2), call('find', 3), call('find', 4), reply('it is 7')],
    tools: { find: [{ error: 'fatal', message: 'gone' }, { result: 7 }] },
  },
  { ...GOOD, reference: 2, replies: [call('save'), reply('done')], approvals: { save: 'approve' } },
  { ...GOOD, reference: 2, replies: [call('save'), reply('not done')], approvals: { save: 'reject' } },
  { ...GOOD, reference: 1, replies: [{ error: 'transient', message: 'busy' }, reply('hello')] },
  {
    ...GOOD,
    reference: 2,
    replies: [json({ status: 'missing_info', question: 'Which?' }), reply('it is 7')],
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
    loop: { verifier: { confidence: 0.9 } },
    more: { budgets: { reflections: 0 } },
    verdicts: [{ ok: true, confidence: 0.2, usage: { input: 100, output: 50 } }],
    replies: [reply('x')],
  },
  {
    expected: 'VALIDATION_FAIL',
    anomaly: true,
    reference: 1,
    loop: { grounding: { on_violation: 'halt' } },
    replies: [reply('It is ORD-9917.')],
  },
  { expected: 'CONFIRM_REQUIRED', anomaly: true, reference: 1, replies: [call('save')] },
];

let runs: readonly Measured[] = [];

beforeAll(async () => {
  const measured: Measured[] = [];
  for (const { loop = {}, more = {}, replies, verdicts, tools = {}, approvals = {}, answers = [], ...task } of TASKS) {
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
      agents: {
        bot: replies as never,
        verifier: (verdicts ?? [{ ok: true, usage: { input: 100, output: 50 } }]) as never,
      },
      tools: { find: [{ result: 7 }], save: [{ result: 1 }], ...tools },
      approvals,
    };
    const { read, difference } = await drive(flow, script, { memory, answers });
    const labels = { code: task.expected, steps: task.reference, escalates: task.anomaly };
    measured.push({ ...recordOf(read), labels, differsAt: (difference as { seq: number } | null)?.seq ?? null });
  }
  runs = measured;
});

function metricsOf(measured: readonly Measured[]): MetricValues {
  return valuesOf(figuresOf(measured.map(sampleOf)));
}

describe('metrics', () => {
  test.each<[string, keyof MetricValues, unknown]>([
    ['tasks that reached their goal §metrics/task-success-rate', 'taskSuccessRate', 1],
    ['ends under the right code §metrics/correct-termination', 'correctTermination', 1],
    ['transitions that the graph has §metrics/trajectory-validity', 'trajectoryValidity', 1],
    ['turns against the reference §metrics/trajectory-efficiency', 'trajectoryEfficiency', 7.25 / 7],
    // Two good tasks ask a person as well: an approval and a request for information are handed over too.
    ['handed over where it was due §metrics/escalation-accuracy', 'escalationAccuracy', 4 / 7],
    ['turns for a task §metrics/step-count', 'stepCountEfficiency', 19 / 12],
    ['depth of plans §metrics/loop-depth', 'loopDepthLimit', 1],
    ['calls of tools per run §metrics/tool-call-count', 'toolCallCount', 6 / 12],
    ['failed ones §metrics/failed-tool-calls', 'failedToolCalls', 1 / 6],
    ['attempts again §metrics/retry-rate', 'retryRate', 0],
    ['out of time §metrics/timeout-rate', 'timeoutRate', 1 / 10],
    ['within their limits §metrics/budget-adherence', 'budgetAdherence', 1],
    [
      'dollars for a good end §metrics/cost-per-success',
      'costPerSuccess',
      expect.closeTo(((16 + 7) * 300) / 7 / 1_000_000, 9),
    ],
    // One reply states a value that is nowhere.
    ['writes from accepted observations §metrics/observation-grounding-rate', 'observationGroundingRate', 14 / 15],
    ['supported memories §metrics/memory-write-quality', 'memoryWriteQuality', 1],
    ['answers that did not approve §metrics/human-override-rate', 'humanOverrideRate', 1 / 2],
    ['runs that needed words of the user §metrics/user-correction-rate', 'userCorrectionRate', 1 / 12],
    ['fields of the trace §metrics/trace-completeness', 'traceCompleteness', 1],
  ])('%s', (_, id, expected) => {
    expect(metricsOf(runs)[id]).toEqual(expected);
  });

  test('tell a bad set of runs from a good one', () => {
    const worse = runs.map((run) => ({
      ...run,
      labels: { code: 'IMPOSSIBLE', escalates: run.labels.escalates !== true, steps: 1 },
      differsAt: 0,
    }));
    const metrics = metricsOf(worse);
    expect(metrics.correctTermination).toBe(0);
    expect(metrics.escalationAccuracy).toBeLessThan(0.5);
    expect(metrics.trajectoryEfficiency).toBeGreaterThan(1.5);
    expect(metrics.trajectoryValidity).toBe(0);
  });

  test('are null without data', () => {
    expect(new Set(Object.values(metricsOf([])))).toEqual(new Set([null]));
  });
});
