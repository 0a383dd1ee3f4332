/**
 * A run as OpenTelemetry spans, in the JSON form of OTLP. Ids are derived from the run and its events, so that the same run
 * always gives the same spans. Prompts and replies are left out.
 */
import { hash } from 'node:crypto';
import { storyOf } from '@sluice-internal/engine/report';
import { outcomeOf, type CallRecord, type RunRecord } from './record.ts';

type Value = string | number | boolean | null | undefined;
interface Attribute {
  readonly key: string;
  readonly value:
    | { readonly stringValue: string }
    | { readonly intValue: string }
    | { readonly boolValue: boolean }
    | { readonly doubleValue: number };
}
export interface Span {
  readonly traceId: string;
  readonly spanId: string;
  readonly parentSpanId?: string;
  readonly name: string;
  readonly kind: number;
  readonly startTimeUnixNano: string;
  readonly endTimeUnixNano: string;
  readonly attributes: readonly Attribute[];
  readonly status: { readonly code: number; readonly message?: string };
}

const INTERNAL = 1;
const CLIENT = 3;
const OK = 1;
const ERROR = 2;

export function otelTrace(record: RunRecord): object {
  const { report } = record;
  const spans = [rootSpan(record), ...nodeSpans(record), ...record.calls.map((call) => callSpan(record, call))];
  return {
    resourceSpans: [
      {
        resource: { attributes: attributesOf({ 'service.name': 'sluice', 'sluice.flow': report.flow }) },
        scopeSpans: [{ scope: { name: 'sluice' }, spans }],
      },
    ],
  };
}

function rootSpan({ read, report }: RunRecord): Span {
  const { startedAt, now, origin } = read.state;
  const good = report.state !== 'failed';
  return {
    ...ids(report.run, 'run'),
    name: `invoke_workflow ${report.flow}`,
    kind: INTERNAL,
    ...times(startedAt, now),
    attributes: attributesOf({
      'gen_ai.operation.name': 'invoke_workflow',
      'sluice.run': report.run,
      'sluice.graph': report.hash,
      'sluice.state': report.state,
      'sluice.code': report.code,
      'sluice.tenant': origin.tenant,
      'gen_ai.usage.input_tokens': report.usage.inputTokens,
      'gen_ai.usage.output_tokens': report.usage.outputTokens,
      'sluice.cost_usd': report.usage.costUsd,
    }),
    status: good ? { code: OK } : { code: ERROR, message: report.error?.message ?? report.code ?? '' },
  };
}

/** One span for each visit of an authored node. */
function nodeSpans({ read, report }: RunRecord): readonly Span[] {
  return storyOf(read).flatMap((each): Span[] => {
    if (each.type !== 'node.finished' && each.type !== 'node.failed' && each.type !== 'node.stopped') return [];
    const failed = each.type === 'node.failed';
    return [
      {
        ...ids(report.run, `node ${each.branch} ${each.seq} ${each.node}`, 'run'),
        name: each.node,
        kind: INTERNAL,
        ...times(each.at - each.durationMs, each.at),
        attributes: attributesOf({ 'sluice.node': each.node, 'sluice.branch': each.branch, 'sluice.seq': each.seq }),
        status: failed ? { code: ERROR, message: each.error?.message ?? '' } : { code: OK },
      },
    ];
  });
}

const OPERATIONS = {
  model: 'chat',
  tool: 'execute_tool',
  check: 'check',
  ask: 'ask_human',
  wait: 'wait',
  undo: 'compensate',
} as const;

function callSpan({ read, report }: RunRecord, call: CallRecord): Span {
  const last = call.attempts.at(-1);
  const operation = OPERATIONS[call.kind];
  const { error } = outcomeOf(call);
  const { inputTokens, outputTokens } = last?.used ?? {};
  return {
    ...ids(report.run, `call ${call.key}`, 'run'),
    name: `${operation} ${call.name}`,
    kind: call.kind === 'model' || call.kind === 'tool' ? CLIENT : INTERNAL,
    ...times(call.at, last?.at ?? read.state.now),
    attributes: attributesOf({
      'gen_ai.operation.name': operation,
      'sluice.node': call.node,
      'sluice.seq': call.seq,
      'sluice.attempts': call.attempts.length,
      'gen_ai.agent.name': call.agent,
      ...(call.kind === 'tool' ? { 'gen_ai.tool.name': call.name, 'gen_ai.tool.call.id': call.key } : {}),
      'gen_ai.usage.input_tokens': inputTokens,
      'gen_ai.usage.output_tokens': outputTokens,
      'error.type': error?.type,
    }),
    status: error === null ? { code: OK } : { code: ERROR, message: error.message },
  };
}

function ids(run: string, name: string, parent?: string): Pick<Span, 'traceId' | 'spanId' | 'parentSpanId'> {
  const traceId = hash('sha256', run, 'hex').slice(0, 32);
  const spanId = (of: string): string => hash('sha256', `${run} ${of}`, 'hex').slice(0, 16);
  return { traceId, spanId: spanId(name), ...(parent === undefined ? {} : { parentSpanId: spanId(parent) }) };
}

function times(from: number, to: number): Pick<Span, 'startTimeUnixNano' | 'endTimeUnixNano'> {
  const nanos = (ms: number): string => (BigInt(Math.round(ms)) * 1_000_000n).toString();
  return { startTimeUnixNano: nanos(from), endTimeUnixNano: nanos(Math.max(from, to)) };
}

/** Values that are missing give no attribute. */
function attributesOf(values: { readonly [key: string]: Value }): readonly Attribute[] {
  return Object.entries(values).flatMap(([key, value]): Attribute[] => {
    if (value === null || value === undefined) return [];
    if (typeof value === 'boolean') return [{ key, value: { boolValue: value } }];
    if (typeof value === 'string') return [{ key, value: { stringValue: value } }];
    return [{ key, value: Number.isInteger(value) ? { intValue: String(value) } : { doubleValue: value } }];
  });
}
