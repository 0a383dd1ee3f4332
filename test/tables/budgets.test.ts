/** The table of budgets: what each preset grants, and that a limit of each dimension stops a run at exactly its number. */
import { describe, expect, test } from 'vitest';
import { BUDGET_PRESETS } from '../../packages/notations/src/loop/model.ts';
import type { Usage } from '@sluice-internal/engine/ports';
import { compileLoop, drive } from '../../packages/notations/test/loop/drive.ts';

type Field = keyof (typeof BUDGET_PRESETS)['research'];

interface Row {
  readonly what: string;
  readonly field: Field;
  /** Research, coding, sre. */
  readonly columns: readonly [number, number, number];
  /** A limit that this run would exceed. */
  readonly limit: number;
  readonly code: string;
  readonly used: Partial<Usage>;
  readonly loop?: object;
  /** No person can be asked. */
  readonly alone?: true;
  readonly replies?: readonly (string | object)[];
}

const call = (name: string, n: number) => ({
  tools: [{ name, args: { n } }],
  text: '',
  usage: { input: 40, output: 30 },
});
const LOOKS = Array.from({ length: 9 }, (_, n) => call('look', n));
const FETCHES = Array.from({ length: 9 }, (_, n) => call('fetch', n));
const SAVES = Array.from({ length: 9 }, (_, n) => call('save', n));
const UNSURE = { text: JSON.stringify({ status: 'complete', answer: 'x', ok: true, confidence: 0.1 }) };
const STOPPED = 'BUDGET_EXHAUSTED';

const ROWS: readonly Row[] = [
  {
    what: 'steps: granted by its presets, stops at its limit §budgets/step',
    field: 'steps',
    columns: [15, 30, 10],
    limit: 3,
    code: STOPPED,
    used: { steps: 3, modelCalls: 3 },
  },
  {
    what: 'tool_calls: granted by its presets, stops at its limit §budgets/tool-call',
    field: 'tool_calls',
    columns: [30, 50, 15],
    limit: 4,
    code: STOPPED,
    used: { toolCalls: 4 },
  },
  {
    what: 'external_calls: granted by its presets, stops at its limit §budgets/external-api',
    field: 'external_calls',
    columns: [5, 10, 2],
    limit: 2,
    code: STOPPED,
    used: { externalCalls: 2 },
    replies: FETCHES,
  },
  {
    what: 'input_tokens: granted by its presets, stops at its limit §budgets/input-token',
    field: 'input_tokens',
    columns: [200_000, 400_000, 100_000],
    limit: 350,
    code: STOPPED,
    used: { inputTokens: 40, modelCalls: 1 },
  },
  {
    what: 'output_tokens: granted by its presets, stops at its limit §budgets/output-token',
    field: 'output_tokens',
    columns: [30_000, 60_000, 15_000],
    limit: 130,
    code: STOPPED,
    used: { outputTokens: 90, modelCalls: 3 },
  },
  {
    what: 'wall_clock_seconds: granted by its presets, stops at its limit §budgets/wall-clock',
    field: 'wall_clock_seconds',
    columns: [300, 600, 120],
    limit: 10,
    code: 'TIMEOUT',
    used: { wallClockSeconds: 10 },
    replies: [{ delayMs: 60_000, text: 'late' }],
  },
  {
    what: 'cost_usd: granted by its presets, stops at its limit §budgets/inference-cost',
    field: 'cost_usd',
    columns: [2, 5, 1],
    limit: 0.0012,
    code: STOPPED,
    used: { costUsd: 0.00026, modelCalls: 1 },
  },
  {
    what: 'retries: granted by its presets, stops at its limit §budgets/retry',
    field: 'retries',
    columns: [3, 5, 2],
    limit: 1,
    code: 'REPEATED_FAILURE',
    used: { retries: 1, modelCalls: 2 },
    replies: [{ error: 'transient', message: 'busy' }],
  },
  {
    what: 'reflections: granted by its presets, stops at its limit §budgets/reflection',
    field: 'reflections',
    columns: [1, 2, 1],
    limit: 0,
    code: 'LOW_CONFIDENCE',
    used: { reflections: 0, modelCalls: 2 },
    loop: { verifier: { agent: 'bot', confidence: 0.5 } },
    alone: true,
    replies: [UNSURE],
  },
  {
    what: 'context_tokens: granted by its presets, stops at its limit §budgets/context-growth',
    field: 'context_tokens',
    columns: [100_000, 200_000, 50_000],
    limit: 100,
    code: STOPPED,
    used: { modelCalls: 0 },
  },
  {
    what: 'memory_writes: granted by its presets, stops at its limit §budgets/memory-write',
    field: 'memory_writes',
    columns: [2, 5, 0],
    limit: 0,
    code: 'SUCCESS',
    used: { memoryWrites: 0 },
    loop: { memory: true },
    replies: [call('look', 1), 'it is 7'],
  },
  {
    what: 'side_effects: granted by its presets, stops at its limit §budgets/side-effect',
    field: 'side_effects',
    columns: [0, 2, 0],
    limit: 2,
    code: STOPPED,
    used: { sideEffects: 2 },
    replies: SAVES,
  },
];

async function run({ loop = {}, replies = LOOKS, alone }: Row, budgets: object) {
  const flow = compileLoop({
    models: { m: { provider: 'test', model: 'm', price: { input: 2, output: 6 } } },
    agents: [{ id: 'bot', model: 'm', tools: ['look', 'fetch', 'save'], max_output_tokens: 64 }],
    tools: {
      look: { effect: 'read' },
      fetch: { effect: 'read', http: { method: 'GET', url: 'https://example.org/' } },
      save: { effect: 'write' },
    },
    boundary: { tools: { allow: ['*'] }, untrusted: 'off' },
    budgets,
    ...(alone && { boundary: { escalation: { people: false } } }),
    loop: { agent: 'bot', ...loop },
  });
  const tools = { look: [{ result: 1 }], fetch: [{ result: 1 }], save: [{ result: 1 }] };
  return (await drive(flow, { agents: { bot: replies }, tools })).report;
}

describe('the table of budgets', () => {
  test.each(ROWS.map((row) => [row.what, row] as const))('%s', async (_, row) => {
    const { research, coding, sre } = BUDGET_PRESETS;
    expect([research[row.field], coding[row.field], sre[row.field]]).toEqual(row.columns);
    const report = await run(row, { [row.field]: row.limit });
    expect(report).toMatchObject({ code: row.code, usage: row.used });
  });

  test.each(ROWS.filter(({ code }) => code === STOPPED))(
    '$field: with more of it the same run goes further',
    async (row) => {
      const report = await run(row, { [row.field]: row.limit * 4 });
      const [[dimension, before]] = Object.entries(row.used) as [[keyof Usage, number]];
      expect(report.usage[dimension]).toBeGreaterThan(before);
    },
  );

  test('has every dimension of every preset', () => {
    expect(new Set(ROWS.map(({ field }) => field))).toEqual(new Set(Object.keys(BUDGET_PRESETS.research)));
  });
});
