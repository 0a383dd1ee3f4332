/** The Agent Run Trace fits its published schema on every run of the examples; spans and sentences come from the same journal. */
import { readFileSync, readdirSync } from 'node:fs';
import { Ajv2020 } from 'ajv/dist/2020.js';
import { describe, expect, test } from 'vitest';
import { agentRunTrace } from '../../src/journal/art.ts';
import { ART_SCHEMA } from '../../src/journal/art-schema.ts';
import { explain } from '../../src/journal/explain.ts';
import { otelTrace } from '../../src/journal/otel.ts';
import type { Span } from '../../src/journal/otel.ts';
import { recordOf } from '../../src/journal/record.ts';
import type { RunRecord } from '../../src/journal/record.ts';
import { metricOf } from '../../src/metrics/table.ts';
import { runExample } from './run-example.ts';

const FIELDS = [
  'run_id',
  'tenant_id',
  'user_scope',
  'goal_object',
  'autonomy_boundary_version',
  'workflow_graph_version',
  'model_versions',
  'prompt_template_versions',
  'tool_registry_version',
  'state_checkpoints',
  'tool_calls',
  'budget_vector',
  'validation_results',
  'escalation_events',
  'terminal_code',
];
const root = new URL('../../../../', import.meta.url);
const examples = readdirSync(new URL('examples/', root)).flatMap((file) => {
  const name = /^(.+)\.(flow|workflow|team|loop)\.yaml$/.exec(file);
  return name === null || name[1] === 'dev-team' ? [] : [file];
});
const fits = new Ajv2020({ strict: false }).compile(ART_SCHEMA);
const spansOf = (record: RunRecord): readonly Span[] =>
  (otelTrace(record) as { resourceSpans: [{ scopeSpans: [{ spans: readonly Span[] }] }] }).resourceSpans[0]
    .scopeSpans[0].spans;

describe('formats of a trace', () => {
  test.each(examples)('%s: complete, valid, and as spans', async (file) => {
    const record = recordOf(await runExample(file));
    const trace = agentRunTrace(record);
    expect(Object.keys(trace)).toEqual(FIELDS);
    expect(fits(trace), JSON.stringify(fits.errors)).toBe(true);
    expect(metricOf('traceCompleteness').sample({ ...record, labels: {}, differsAt: null })).toMatchObject({
      part: record.report.state === 'suspended' ? 14 : 15,
    });
    const spans = spansOf(record);
    const ids = new Set(spans.map(({ spanId }) => spanId));
    expect(ids.size).toBe(spans.length);
    expect(spans.filter(({ parentSpanId }) => parentSpanId === undefined)).toHaveLength(1);
    expect(spans.every(({ parentSpanId }) => parentSpanId === undefined || ids.has(parentSpanId))).toBe(true);
    expect(spans.every((span) => BigInt(span.endTimeUnixNano) >= BigInt(span.startTimeUnixNano))).toBe(true);
    const sentence =
      /^The agent was allowed to .+, chose path .+, called .+, spent .+, updated (no state|state .+) from verified observations, and (terminated with [A-Z_]+ because|waits for a person) .+/;
    expect(explain(record).sentence).toMatch(sentence);
  });

  test('a trace with a missing, an extra or a misspelt field does not fit', async () => {
    const trace = agentRunTrace(recordOf(await runExample('refund.flow.yaml')));
    const { goal_object: _goal, ...missing } = trace;
    expect(fits(missing)).toBe(false);
    expect(fits({ ...trace, extra: 1 })).toBe(false);
    expect(fits({ ...trace, workflow_graph_version: 'v1' })).toBe(false);
    expect(fits({ ...trace, tool_calls: [{ tool: 'x' }] })).toBe(false);
  });

  test('the published schema is the one in the code', () => {
    const published = JSON.parse(readFileSync(new URL('schema/agent-run-trace.schema.json', root), 'utf8')) as object;
    expect(published).toEqual(ART_SCHEMA);
  });
});
