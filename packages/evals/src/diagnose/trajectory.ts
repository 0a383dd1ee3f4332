/**
 * A run as the detectors of pathologies see it: replies, tool calls, refusals, tripped limits, questions, plans, memory. It is
 * built from a journal; recorded agents of other systems can be brought into the same form.
 */
import { isRecord } from '@sluice-internal/kernel/expr';
import type { Json } from '@sluice-internal/kernel/expr';
import { CONTROLS_CHECK } from '@sluice-internal/kernel/ir';
import type { Node, ToolDef } from '@sluice-internal/kernel/ir';
import { nameAt } from '@sluice-internal/engine/report';
import type { MadeDecision } from '@sluice-internal/engine/ports';
import { flat } from '@sluice-internal/guard/text';
import {
  fieldsOf,
  isSupportedWrite,
  outcomeOf,
  type CallRecord,
  type PlanVersion,
  type RefusedCall,
  type RunRecord,
} from '../journal/record.ts';

export interface ToolStep extends Pick<CallRecord, 'seq' | 'at' | 'agent' | 'node' | 'print' | 'proposed'> {
  readonly tool: string;
  readonly args: Json;
  readonly effect: ToolDef['effect'];
  readonly idempotent: boolean;
  /** A call costs money. */
  readonly paid: boolean;
  readonly ok: boolean;
  readonly result: Json;
  readonly error: { readonly class: string; readonly type: string; readonly message: string } | null;
  readonly attempts: readonly { readonly seq: number; readonly ok: boolean }[];
  /** The last event of the call. */
  readonly settled: number;
  /** The person who approved the call. */
  readonly approvedBy: string | null;
}
export interface ReplyStep extends Pick<CallRecord, 'seq' | 'at' | 'node'> {
  readonly settled: number;
  readonly agent: string;
  readonly branch: string;
  readonly text: string;
  readonly proposes: readonly { readonly tool: string; readonly args: Json }[];
  readonly inputTokens: number;
  readonly outputTokens: number;
  readonly reflection: boolean;
  /** Replies that were tried again or refused because of their form. */
  readonly invalid: readonly number[];
}
export interface Trajectory {
  readonly run: string;
  readonly flow: string;
  /** The notation of the document. A recorded agent of another system has none. */
  readonly notation?: string;
  readonly state: string;
  readonly code: string | null;
  readonly goal: string;
  readonly answer: string;
  readonly last: number;
  readonly calls: readonly ToolStep[];
  readonly replies: readonly ReplyStep[];
  readonly refused: readonly RefusedCall[];
  readonly trips: ReturnType<typeof tripsIn>;
  readonly questions: readonly ReturnType<typeof questionStep>[];
  readonly plans: readonly PlanVersion[];
  readonly memory: ReturnType<typeof memoryStep>;
  /** Lists that a fork went over. */
  readonly forks: readonly { readonly seq: number; readonly node: string; readonly items: readonly Json[] }[];
  readonly lateJoins: readonly { readonly seq: number; readonly node: string }[];
  /** Reads of values that do not exist. */
  readonly missing: readonly { readonly seq: number; readonly node: string; readonly paths: readonly string[] }[];
  /** Checks of the answer that did not hold: grounding, acceptance. */
  readonly failedChecks: readonly {
    readonly seq: number;
    readonly check: string;
    readonly reason: string;
    readonly grounding: boolean;
  }[];
  readonly decisions: readonly MadeDecision[];
  readonly tools: { readonly [name: string]: ToolDef };
  readonly instructions: readonly string[];
  readonly reason: string | null;
  readonly usage: { readonly toolCalls: number; readonly modelCalls: number; readonly costUsd: number };
}

export function trajectoryOf(record: RunRecord): Trajectory {
  const { read, report, calls, refused, plans } = record;
  const { flow } = read.program;
  const { input, seq } = read.state;
  const goal = read.state.threads.get('0')?.slots['goal'];
  return {
    run: report.run,
    flow: report.flow,
    notation: read.program.flow.notation,
    state: report.state,
    code: report.code,
    goal: flat(goal ?? input),
    answer: report.output === null ? '' : flat(report.output),
    last: seq,
    calls: calls.filter(({ kind }) => kind === 'tool').map((call) => toolStep(record, call)),
    replies: calls.filter(({ kind }) => kind === 'model').map((call) => replyStep(record, call)),
    refused,
    trips: tripsIn(record),
    questions: calls.flatMap((call) => (call.question === null ? [] : [questionStep(call)])),
    plans,
    memory: calls.flatMap(memoryStep),
    // The calls of one reply are a list too, and not a list of tasks.
    forks: record.forks.filter(
      ({ items }) => !items.every((item) => isRecord(item) && 'name' in item && 'args' in item),
    ),
    lateJoins: read.events.flatMap((event) =>
      event.type === 'fork.joined' && event.why === 'late' ? [{ seq: event.seq, node: event.thread }] : [],
    ),
    missing: read.events.flatMap((event) =>
      event.type === 'value.missing'
        ? [{ seq: event.seq, node: nameAt(flow, event.node), paths: event.paths.map((path) => path.join('.')) }]
        : [],
    ),
    failedChecks: calls.flatMap(failedCheck),
    decisions: report.decisions,
    tools: flow.tools,
    instructions: Object.values(flow.agents).map(({ instructions }) => instructions),
    reason: report.reason ?? null,
    usage: report.usage,
  };
}

function toolStep({ read, report }: RunRecord, call: CallRecord): ToolStep {
  const { tools, nodes } = read.program.flow;
  const node = nodes[call.id];
  const { effect = 'write', idempotent = false } = Object.hasOwn(tools, call.name) ? (tools[call.name] ?? {}) : {};
  return {
    ...call,
    ...outcomeOf(call),
    tool: call.name,
    args: call.input['args'] ?? null,
    effect,
    idempotent,
    paid: node?.op === 'do' && (node.effect.reserve.costMicros ?? 0) > 0,
    approvedBy: report.receipts.find(({ seq }) => seq === call.verdict?.seq)?.approvedBy ?? null,
  };
}

function replyStep({ read }: RunRecord, call: CallRecord): ReplyStep {
  const { inputTokens = 0, outputTokens = 0 } = call.attempts.at(-1)?.used ?? {};
  const { text = '', toolCalls = [] } = fieldsOf(call);
  const proposed = Array.isArray(toolCalls) ? toolCalls.filter(isRecord) : [];
  const refused = call.verdict === null || call.verdict.error === null ? [] : [call.verdict];
  return {
    ...call,
    settled: outcomeOf(call).settled,
    agent: call.name,
    branch: call.thread,
    text: typeof text === 'string' ? text : '',
    proposes: proposed.map(({ name = '', args = null }) => ({ tool: String(name), args })),
    inputTokens,
    outputTokens,
    reflection: isReflection(read.program.flow.nodes[call.id]),
    invalid: [...call.retries, ...refused].flatMap(({ seq, error }) => (error?.class === 'semantic' ? [seq] : [])),
  };
}

function isReflection(node: Node | undefined): boolean {
  return node?.op === 'do' && (node.effect.reserve.reflections ?? 0) > 0;
}

function tripsIn({ read }: RunRecord) {
  const { flow } = read.program;
  return read.events.flatMap((event) => {
    if (event.type !== 'meter.tripped') return [];
    const meter = flow.meters[event.meter];
    return [
      {
        seq: event.seq,
        unit: meter?.unit ?? ('visits' as const),
        label: meter?.label ?? event.meter,
        node: nameAt(flow, event.node),
        why: event.why,
        noted: event.noted === true,
      },
    ];
  });
}

function questionStep(call: CallRecord) {
  const { seq, at, node, name: about, attempts, dropped } = call;
  const answer = attempts.at(-1);
  const expired = fieldsOf(call)['expired'] === true;
  return {
    seq,
    at,
    node,
    about,
    answeredAt: answer?.at ?? null,
    expired,
    open: answer === undefined && dropped === null,
  };
}

function memoryStep(call: CallRecord) {
  const { kind, name, seq } = call;
  if (kind !== 'check' || (name !== 'memory.write' && name !== 'memory.read')) return [];
  const { ok, reason, entries } = fieldsOf(call);
  return [
    {
      seq,
      kind: name === 'memory.write' ? ('write' as const) : ('read' as const),
      stored: ok === true,
      supported: isSupportedWrite(call),
      reason: String(reason ?? ''),
      entries: Array.isArray(entries) ? entries : [],
    },
  ];
}

function failedCheck(call: CallRecord): Trajectory['failedChecks'] {
  const { kind, name, input } = call;
  if (kind !== 'check' || name.startsWith('memory.')) return [];
  const { seq } = call.verdict ?? call;
  const isControls = name === CONTROLS_CHECK;
  const { ok, reason } = isControls ? argumentsVerdict(call) : fieldsOf(call);
  if (ok !== false) return [];
  const grounding = name === 'policy:grounding';
  if (name.startsWith('policy:') && !grounding) return [];
  const check = isControls ? String(input['tool']) : name;
  return [{ seq, check, reason: String(reason ?? ''), grounding }];
}

/** The verdict about the arguments of a proposed call. */
function argumentsVerdict(call: CallRecord): { readonly [field: string]: Json } {
  const { verdicts } = fieldsOf(call);
  const { arguments: verdict } = isRecord(verdicts ?? null) ? (verdicts as { [control: string]: Json }) : {};
  return isRecord(verdict ?? null) ? (verdict as { [field: string]: Json }) : {};
}
