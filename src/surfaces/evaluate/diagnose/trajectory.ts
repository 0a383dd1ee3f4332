/**
 * A run as the detectors of pathologies see it: replies, tool calls, refusals, tripped limits, questions, plans, memory. It is
 * built from a journal; recorded agents of other systems can be brought into the same form.
 */
import { authorOf } from '../../../core/failure.ts';
import { isRecord, type Json } from '../../../expr/json.ts';
import type { CompiledFlow, Node, ToolDef } from '../../../ir/nodes.ts';
import type { MadeDecision } from '../../../runtime/report/decisions.ts';
import { flat } from '../../../effects/policy/sources.ts';
import {
  isSupportedWrite,
  type Attempt,
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
        ? [{ seq: event.seq, node: nameAt(flow.nodes, event.node), paths: event.paths.map((path) => path.join('.')) }]
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
  const { seq, at, agent, node, name: tool, input, print, proposed, attempts, verdict } = call;
  const { args = null } = input;
  const receipt = report.receipts.find((each) => each.seq === verdict?.seq);
  return {
    ...outcomeOf(call),
    ...natureOf(read.program.flow, call),
    seq,
    at,
    agent,
    node,
    tool,
    args,
    print,
    proposed,
    attempts: attempts.map((each) => ({ seq: each.seq, ok: each.ok })),
    approvedBy: receipt === undefined ? null : receipt.approvedBy,
  };
}

function outcomeOf({ attempts, verdict, seq }: CallRecord): Pick<ToolStep, 'ok' | 'result' | 'error' | 'settled'> {
  const last = attempts.at(-1);
  if (last === undefined) return { ok: false, result: null, error: null, settled: seq };
  const error = verdict === null ? last.error : (verdict.error ?? last.error);
  const ok = last.ok && (verdict === null || verdict.accepted);
  return { ok, result: last.value, error, settled: verdict === null ? last.seq : verdict.seq };
}

function natureOf(
  { tools, nodes }: CompiledFlow,
  { name, id }: CallRecord,
): Pick<ToolStep, 'effect' | 'idempotent' | 'paid'> {
  const node = nodes[id];
  const paid = node?.op === 'do' && (node.effect.reserve.costMicros ?? 0) > 0;
  const tool = Object.hasOwn(tools, name) ? tools[name] : undefined;
  return tool === undefined
    ? { effect: 'write', idempotent: false, paid }
    : { effect: tool.effect, idempotent: tool.idempotent, paid };
}

function replyStep({ read }: RunRecord, call: CallRecord): ReplyStep {
  const { seq, at, name: agent, node, thread: branch, attempts, retries, verdict, id } = call;
  const last = attempts.at(-1);
  const { inputTokens = 0, outputTokens = 0 } = last === undefined ? {} : last.used;
  const invalid = retries.flatMap((each) => (each.error.class === 'semantic' ? [each.seq] : []));
  if (verdict !== null && verdict.error !== null && verdict.error.class === 'semantic') invalid.push(verdict.seq);
  return {
    ...contentOf(last),
    seq,
    settled: verdict === null ? (last === undefined ? seq : last.seq) : verdict.seq,
    at,
    agent,
    node,
    branch,
    inputTokens,
    outputTokens,
    reflection: isReflection(read.program.flow.nodes[id]),
    invalid,
  };
}

function isReflection(node: Node | undefined): boolean {
  return node?.op === 'do' && (node.effect.reserve.reflections ?? 0) > 0;
}

function contentOf(attempt: Attempt | undefined): Pick<ReplyStep, 'text' | 'proposes'> {
  const value = attempt !== undefined && isRecord(attempt.value) ? attempt.value : {};
  const { text = '', toolCalls = [] } = value;
  const calls = Array.isArray(toolCalls) ? toolCalls.filter(isRecord) : [];
  return {
    text: typeof text === 'string' ? text : '',
    proposes: calls.map(({ name = '', args = null }) => ({ tool: String(name), args })),
  };
}

function tripsIn({ read }: RunRecord) {
  const { meters, nodes } = read.program.flow;
  return read.events.flatMap((event) => {
    if (event.type !== 'meter.tripped') return [];
    const meter = meters[event.meter];
    return [
      {
        seq: event.seq,
        unit: meter?.unit ?? ('visits' as const),
        label: meter?.label ?? event.meter,
        node: nameAt(nodes, event.node),
        why: event.why,
        noted: event.noted === true,
      },
    ];
  });
}

function questionStep({ seq, at, node, name, attempts, dropped }: CallRecord) {
  const answer = attempts.at(-1);
  return {
    seq,
    at,
    node,
    about: name,
    answeredAt: answer?.at ?? null,
    expired: isRecord(answer?.value) && answer.value['expired'] === true,
    open: answer === undefined && dropped === null,
  };
}

function memoryStep(call: CallRecord) {
  const { kind, name, attempts, seq } = call;
  if (kind !== 'check' || (name !== 'memory.write' && name !== 'memory.read')) return [];
  const value = isRecord(attempts.at(-1)?.value) ? (attempts.at(-1)?.value as { readonly [field: string]: Json }) : {};
  return [
    {
      seq,
      kind: name === 'memory.write' ? ('write' as const) : ('read' as const),
      stored: value['ok'] === true,
      supported: isSupportedWrite(call),
      reason: String(value['reason'] ?? ''),
      entries: Array.isArray(value['entries']) ? value['entries'] : [],
    },
  ];
}

function failedCheck({ kind, name, attempts, seq, verdict, input }: CallRecord): Trajectory['failedChecks'] {
  const value = attempts.at(-1)?.value;
  if (kind !== 'check' || !isRecord(value) || value['ok'] !== false || name.startsWith('memory.')) return [];
  const grounding = name === 'policy:grounding';
  const isArguments = name === 'policy:arguments';
  if (name.startsWith('policy:') && !grounding && !isArguments) return [];
  const check = isArguments ? String(input['tool']) : name;
  return [{ seq: verdict?.seq ?? seq, check, reason: String(value['reason'] ?? ''), grounding }];
}

function nameAt(nodes: CompiledFlow['nodes'], id: string): string {
  const node = nodes[id];
  return node === undefined ? id : authorOf(node);
}
