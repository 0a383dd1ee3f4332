/**
 * One run as evaluations see it: the report, and every call with its input, its attempts and its verdict. Everything is
 * computed from the journal.
 */
import { inherited } from '@sluice-internal/kernel/ir';
import type { Event, RunState, ThreadId } from '@sluice-internal/kernel/ir';
import { canonical, isRecord } from '@sluice-internal/kernel/expr';
import type { Json } from '@sluice-internal/kernel/expr';
import type { Report } from '@sluice-internal/engine/ports';
import type { ReadRun } from '@sluice-internal/engine/journal';
import { InputLog, nameAt, reportOf } from '@sluice-internal/engine/report';
import type { RunCall } from '@sluice-internal/engine/report';

export interface CallRecord extends RunCall {
  /** The agent that replied last in this branch before the call. Null before the first reply. */
  readonly agent: string | null;
  /** True if a model proposed the call. */
  readonly proposed: boolean;
  /** Name and arguments as one text, to compare calls. */
  readonly print: string;
}
/** A proposed call that a check refused. */
export interface RefusedCall {
  readonly seq: number;
  readonly tool: string;
  readonly args: Json;
  /** The check: schema, permission, budget, rate, approval, risk, … */
  readonly check: string;
  readonly reason: string;
  readonly agent: string | null;
}
export interface PlanVersion {
  readonly seq: number;
  readonly steps: readonly Json[];
}
export interface RunRecord {
  readonly read: ReadRun;
  readonly report: Report;
  readonly calls: readonly CallRecord[];
  readonly refused: readonly RefusedCall[];
  /** Every version of the plan that the run kept in its slot `plan`. */
  readonly plans: readonly PlanVersion[];
  /** The lists that forks went over. */
  readonly forks: readonly { readonly seq: number; readonly node: string; readonly items: readonly Json[] }[];
}

export function recordOf(read: ReadRun): RunRecord {
  const log = new InputLog(read.program);
  const fold: Fold = { read, calls: [], agents: new Map(), refused: [], plans: [], forks: [] };
  for (const event of read.events) {
    const call = log.take(event);
    if (call?.seq === event.seq) addCall(fold, call);
    else if (event.type === 'slots.written') written(fold, log.state as RunState, event);
    else if (event.type === 'call.judged' && 'error' in event) notMade(fold, log.state as RunState, event);
    else if (event.type === 'thread.forked') forked(fold, log.state as RunState, event);
  }
  const { calls, refused, plans, forks } = fold;
  return { read, report: reportOf(read), calls, refused, plans, forks };
}

interface Fold {
  readonly read: ReadRun;
  readonly calls: CallRecord[];
  /** The agent that replied last, by branch. */
  readonly agents: Map<ThreadId, string>;
  readonly refused: RefusedCall[];
  readonly plans: PlanVersion[];
  readonly forks: { readonly seq: number; readonly node: string; readonly items: readonly Json[] }[];
}
type Of<Type extends Event['type']> = Extract<Event, { readonly type: Type }>;

/** The log changes the call with each further event, so the record has the same object. */
function addCall({ read, calls, agents }: Fold, call: RunCall): void {
  const { kind, name, id, thread, input } = call;
  const before = inherited(agents, thread) ?? null;
  const agent = kind === 'model' ? name : before;
  const proposed = read.program.flow.nodes[id]?.label.authored !== undefined && before !== null;
  calls.push(Object.assign(call, { agent, proposed, print: printOf(name, input['args'] ?? null) }));
  if (kind === 'model') agents.set(thread, name);
}

/** Name and arguments as one text. The order of the fields does not matter. */
export function printOf(name: string, args: Json): string {
  return `${name} ${canonical(args)}`;
}

/** The fields of the object that the last attempt gave. Empty if it gave no object. */
export function fieldsOf({ attempts }: Pick<RunCall, 'attempts'>): { readonly [field: string]: Json } {
  const value = attempts.at(-1)?.value;
  return isRecord(value) ? value : {};
}

/** The outcome of a call, by its last attempt and its verdict. `settled` is the last event of the call. */
export function outcomeOf({ attempts, verdict, seq }: RunCall) {
  const last = attempts.at(-1);
  return {
    ok: last?.ok === true && verdict?.accepted !== false,
    result: last?.value ?? null,
    error: verdict?.error ?? last?.error ?? null,
    settled: verdict?.seq ?? last?.seq ?? seq,
  };
}

function forked({ read, forks }: Fold, state: RunState, { seq, thread, node }: Of<'thread.forked'>): void {
  const doing = state.threads.get(thread)?.doing;
  if (doing?.is !== 'forked' || doing.fork.items === null) return;
  forks.push({ seq, node: nameAt(read.program.flow, node), items: doing.fork.items });
}

/** Refusals and plans are written to slots. A refusal that ends the turn is written as the error of the branch of its call. */
function written(fold: Fold, state: RunState, event: Of<'slots.written'>): void {
  const slots = state.threads.get(event.thread)?.slots ?? {};
  for (const { slot, mode } of event.writes) {
    const value = slots[slot];
    if (slot === 'error') stopped(fold, event, value, slots['call']);
    if (!Array.isArray(value)) continue;
    if (slot === 'plan' && mode !== 'append') fold.plans.push({ seq: event.seq, steps: value });
    const last = mode === 'append' ? value.at(-1) : undefined;
    // A result that fails its verification has a call too.
    if (!isRecord(last) || typeof last['refused'] !== 'string' || last['refused'] === 'verification') continue;
    const { tool = '', args = null, refused: check, error = '' } = last;
    addRefused(fold, event, { tool: String(tool), args, check: String(check), reason: String(error) });
  }
}

/** Controls have ended the turn. */
function notMade(fold: Fold, state: RunState, event: Of<'call.judged'>): void {
  const { error = null, call } = state.threads.get(event.thread)?.slots ?? {};
  stopped(fold, event, error, call);
}

function stopped(
  fold: Fold,
  event: Of<'slots.written' | 'call.judged'>,
  error: Json | undefined,
  call: Json | undefined,
): void {
  if (!isRecord(error) || error['class'] !== 'policy' || !isRecord(call) || typeof call['name'] !== 'string') return;
  if (fold.calls.some(({ kind, thread }) => kind === 'tool' && thread === event.thread)) return;
  const { name: tool, args = null } = call;
  addRefused(fold, event, { tool, args, check: 'permission', reason: String(error['message'] ?? '') });
}

function addRefused(
  { refused, agents }: Fold,
  { seq, thread }: Of<'slots.written' | 'call.judged'>,
  call: Omit<RefusedCall, 'seq' | 'agent'>,
): void {
  refused.push({ seq, ...call, agent: inherited(agents, thread) ?? null });
}

/** The expectations of a case. A run of production has none. */
export interface Labels {
  /** The code that the run must end with. */
  readonly code?: string;
  /** The number of steps of the reference run. */
  readonly steps?: number;
  /** True if a person must take over, or the run must fail closed. */
  readonly escalates?: boolean;
  /** The output is the expected one, as far as the case expects one. */
  readonly isRight?: boolean;
}
/** A run with the facts that its metrics need beyond the journal. */
export interface Measured extends RunRecord {
  readonly labels: Labels;
  /** The first event that a replay does not come to; null if the replay agrees. */
  readonly differsAt: number | null;
}

export function hasEnded({ report }: RunRecord): boolean {
  return report.state === 'completed' || report.state === 'failed' || report.state === 'cancelled';
}

/** As the write gate decided, if the journal has it; otherwise every citation must be a successful observation. A refused write made no entry. */
export function isSupportedWrite(call: Pick<RunCall, 'input' | 'attempts'>): boolean {
  const { state, supported } = fieldsOf(call);
  if (state === 'refused') return true;
  if (typeof supported === 'boolean') return supported;
  const { citations, observations } = call.input;
  if (!Array.isArray(citations) || citations.length === 0 || !Array.isArray(observations)) return false;
  const good = new Set(
    observations.flatMap((each) => (isRecord(each) && each['ok'] === true ? [String(each['id'])] : [])),
  );
  return citations.every((id) => good.has(String(id)));
}
