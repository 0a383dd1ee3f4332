/** A run as the detectors of pathologies see it: calls, replies, refusals, limits, plans and memory, from its journal. */
import { isRecord } from '@sluice-internal/kernel/expr';
import type { Json } from '@sluice-internal/kernel/expr';
import { CONTROLS_CHECK } from '@sluice-internal/kernel/ir';
import type { Meter, Node, ToolDef } from '@sluice-internal/kernel/ir';
import { nameAt } from '@sluice-internal/engine/report';
import {
  fieldsOf,
  isSupportedWrite,
  outcomeOf,
  type CallRecord,
  type PlanVersion,
  type RefusedCall,
  type RunRecord,
} from '../journal/record.ts';

interface At {
  readonly seq: number;
  readonly node: string;
  readonly agent: string | null;
}
export interface ToolStep extends Pick<CallRecord, 'seq' | 'agent' | 'node' | 'print' | 'proposed'> {
  readonly tool: string;
  readonly effect: ToolDef['effect'];
  readonly idempotent: boolean;
  readonly ok: boolean;
  readonly error: { readonly class: string; readonly type: string; readonly message: string } | null;
  /** `unknown`: it is not known if this attempt took effect. */
  readonly attempts: readonly { readonly unknown: boolean }[];
  /** The last event of the call. */
  readonly settled: number;
  /** The person who approved the call. */
  readonly approvedBy: string | null;
}
export interface ReplyStep extends Pick<CallRecord, 'seq' | 'node' | 'thread'> {
  readonly settled: number;
  readonly agent: string;
  readonly text: string;
  readonly proposes: readonly Json[];
  /** The reply of a verifier about an answer. */
  readonly verdict: boolean;
  /** Events that refused the reply because of its form. */
  readonly invalid: readonly number[];
}
/** A limit that was reached. */
export interface Trip extends At {
  readonly unit: Meter['unit'];
  readonly label: string;
  readonly why: 'limit' | 'foreseen';
  /** The graph itself reacts to it. */
  readonly noted: boolean;
}
export interface Trajectory {
  readonly notation: string | undefined;
  readonly state: string;
  readonly code: string | null;
  readonly calls: readonly ToolStep[];
  readonly replies: readonly ReplyStep[];
  readonly refused: readonly RefusedCall[];
  readonly trips: readonly Trip[];
  /** The end of the time of the run. */
  readonly outOfTime: readonly (At & { readonly label: string; readonly why: 'limit' })[];
  /** Reflections that were paid for: the answer goes back to the agent. */
  readonly reflections: readonly (At & { readonly thread: string })[];
  /** Plans of a planner, and the tasks that a staged planner hands out. */
  readonly plans: readonly (PlanVersion & { readonly node: string })[];
  readonly memory: ReturnType<typeof memoryWrite>;
  readonly saturated: readonly (At & { readonly about: string })[];
  /** The checks of values and citations of replies. */
  readonly grounding: readonly (At & { readonly ok: boolean; readonly reason: string })[];
  readonly badArguments: readonly (At & { readonly tool: string })[];
}

export function trajectoryOf(record: RunRecord): Trajectory {
  const { read, report, calls, refused, plans, forks } = record;
  const { flow } = read.program;
  const isStaged = flow.notation === 'staged';
  const tasks = isStaged ? forks.map(({ seq, node, items: steps }) => ({ seq, node, steps })) : [];
  return {
    notation: flow.notation,
    state: report.state,
    code: report.code,
    calls: calls.filter(({ kind }) => kind === 'tool').map((call) => toolStep(record, call)),
    replies: calls.filter(({ kind }) => kind === 'model').map((call) => replyStep(record, call)),
    refused,
    trips: tripsIn(record),
    outOfTime: outOfTimeIn(record),
    reflections: calls.filter(({ kind, id }) => kind === 'check' && isReflection(flow.nodes[id])),
    plans: [
      ...plans.map((plan) => ({ ...plan, node: 'plan' })),
      // The calls of one reply are a list too, and not a list of tasks.
      ...tasks.filter(({ steps }) => !steps.every((item) => isRecord(item) && 'name' in item && 'args' in item)),
    ],
    memory: calls.flatMap(memoryWrite),
    saturated: saturatedIn(record),
    grounding: calls.filter(({ name }) => name === 'policy:grounding').map(judgedValues),
    badArguments: calls
      .filter((call) => call.name === CONTROLS_CHECK && argumentsVerdict(call)['ok'] === false)
      .map(({ seq, node, agent, input }) => ({ seq, node, agent, tool: String(input['tool']) })),
  };
}

function toolStep({ read, report }: RunRecord, call: CallRecord): ToolStep {
  const { tools } = read.program.flow;
  const { effect = 'write', idempotent = false } = Object.hasOwn(tools, call.name) ? (tools[call.name] ?? {}) : {};
  return {
    ...call,
    ...outcomeOf(call),
    attempts: call.attempts.map(({ error }) => ({ unknown: error?.class === 'timeout' })),
    tool: call.name,
    effect,
    idempotent,
    approvedBy: report.receipts.find(({ seq }) => seq === call.verdict?.seq)?.approvedBy ?? null,
  };
}

function replyStep({ read }: RunRecord, call: CallRecord): ReplyStep {
  const { text = '', toolCalls = [] } = fieldsOf(call);
  const refused = call.verdict === null || call.verdict.error === null ? [] : [call.verdict];
  const node = read.program.flow.nodes[call.id];
  return {
    ...call,
    settled: outcomeOf(call).settled,
    agent: call.name,
    text: typeof text === 'string' ? text : '',
    proposes: Array.isArray(toolCalls) ? toolCalls : [],
    verdict: node?.op === 'do' && node.effect.kind === 'model' && node.effect.input['verdict'] !== undefined,
    invalid: [...call.retries, ...refused].flatMap(({ seq, error }) => (error?.type === 'SchemaError' ? [seq] : [])),
  };
}

function isReflection(node: Node | undefined): boolean {
  return node?.op === 'do' && (node.effect.reserve.reflections ?? 0) > 0;
}

function tripsIn({ read, calls }: RunRecord): readonly Trip[] {
  const { flow } = read.program;
  return read.events.flatMap((event) => {
    const meter = event.type === 'meter.tripped' ? flow.meters[event.meter] : undefined;
    if (event.type !== 'meter.tripped' || meter === undefined) return [];
    const { seq, why, noted = false } = event;
    const agent = calls.findLast((call) => call.kind === 'model' && call.seq < seq)?.name ?? null;
    return [{ seq, node: nameAt(flow, event.node), agent, unit: meter.unit, label: meter.label, why, noted }];
  });
}

function outOfTimeIn({ report }: RunRecord): Trajectory['outOfTime'] {
  const { failure } = report;
  if (failure?.about !== 'limit' || report.code !== 'TIMEOUT') return [];
  const { seq, node, agent, name: label } = failure;
  return [{ seq, node, agent, label, why: 'limit' }];
}

function saturatedIn({ read, calls }: RunRecord): Trajectory['saturated'] {
  return read.events.flatMap((event) => {
    const call = event.type === 'review.saturated' ? calls.find(({ key }) => key === event.key) : undefined;
    if (call === undefined) return [];
    const { node, agent, name: about } = call;
    return [{ seq: event.seq, node, agent, about }];
  });
}

function judgedValues(call: CallRecord): Trajectory['grounding'][number] {
  const { seq, node, agent, verdict } = call;
  const { ok, reason } = fieldsOf(call);
  return { seq: verdict?.seq ?? seq, node, agent, ok: ok !== false, reason: String(reason ?? '') };
}

function memoryWrite(call: CallRecord) {
  const { kind, name, seq, node, agent } = call;
  if (kind !== 'check' || name !== 'memory.write') return [];
  const { ok, reason } = fieldsOf(call);
  return [{ seq, node, agent, stored: ok === true, supported: isSupportedWrite(call), reason: String(reason ?? '') }];
}

/** The verdict about the arguments of a proposed call. */
function argumentsVerdict(call: CallRecord): { readonly [field: string]: Json } {
  const { verdicts } = fieldsOf(call);
  const { arguments: verdict } = isRecord(verdicts ?? null) ? (verdicts as { [control: string]: Json }) : {};
  return isRecord(verdict ?? null) ? (verdict as { [field: string]: Json }) : {};
}
