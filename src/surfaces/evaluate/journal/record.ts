/**
 * One run as evaluations see it: the report, and every call with its input, its attempts and its verdict. Everything is
 * computed from the journal.
 */
import { inherited } from '../../../ir/branches.ts';
import { isRecord, type Json } from '../../../expr/json.ts';
import { canonical } from '../../../expr/canonical.ts';
import { evolve } from '../../../core/evolve.ts';
import { authorOf } from '../../../core/failure.ts';
import { inputOf } from '../../../core/outstanding.ts';
import type { Amounts } from '../../../ir/dimensions.ts';
import type { EffectKey, ErrorRecord, Event, Failure, Question, RunState, ThreadId } from '../../../ir/events.ts';
import type { EffectKind } from '../../../ir/nodes.ts';
import type { Report } from '../../../runtime/engine/types.ts';
import type { ReadRun } from '../../../runtime/journal/read.ts';
import { reportOf } from '../../../runtime/report/report.ts';

export interface Attempt {
  readonly seq: number;
  readonly at: number;
  readonly ok: boolean;
  readonly value: Json;
  readonly error: Failure | null;
  readonly used: Amounts;
}
export interface CallRecord {
  readonly key: EffectKey;
  readonly kind: EffectKind | 'undo';
  /** The agent, tool or check; of a question, its subject. */
  readonly name: string;
  /** The authored node. */
  readonly node: string;
  /** The node of the graph. */
  readonly id: string;
  readonly thread: ThreadId;
  /** The agent that replied last in this branch before the call. Null before the first reply. */
  readonly agent: string | null;
  /** True if a model proposed the call. */
  readonly proposed: boolean;
  readonly seq: number;
  readonly at: number;
  readonly input: { readonly [field: string]: Json };
  /** Name and arguments as one text, to compare calls. */
  readonly print: string;
  readonly question: Question | null;
  readonly attempts: Attempt[];
  readonly retries: { readonly seq: number; readonly error: ErrorRecord }[];
  verdict: { readonly seq: number; readonly accepted: boolean; readonly error: ErrorRecord | null } | null;
  /** The event that closed a question without an answer. */
  dropped: number | null;
}
/** A proposed call that a check held back. */
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
  const fold: Fold = { read, state: null, calls: new Map(), agents: new Map(), refused: [], plans: [], forks: [] };
  for (const event of read.events) {
    fold.state = evolve(fold.state, event);
    enter(fold, fold.state, event);
  }
  const { calls, refused, plans, forks } = fold;
  return { read, report: reportOf(read), calls: [...calls.values()], refused, plans, forks };
}

interface Fold {
  readonly read: ReadRun;
  state: RunState | null;
  readonly calls: Map<EffectKey, CallRecord>;
  /** The agent that replied last, by branch. */
  readonly agents: Map<ThreadId, string>;
  readonly refused: RefusedCall[];
  readonly plans: PlanVersion[];
  readonly forks: { readonly seq: number; readonly node: string; readonly items: readonly Json[] }[];
}
type Of<Type extends Event['type']> = Extract<Event, { readonly type: Type }>;

function enter(fold: Fold, state: RunState, event: Event): void {
  switch (event.type) {
    case 'effect.requested':
      requested(fold, state, event);
      return;
    case 'undo.requested':
      addCall(fold, state, event, { kind: 'undo', name: event.tool, id: '' });
      return;
    case 'effect.settled':
      fold.calls.get(event.key)?.attempts.push(attemptOf(event));
      return;
    case 'effect.judged':
      judged(fold.calls.get(event.key), event);
      return;
    case 'effect.dropped':
      dropped(fold.calls.get(event.key), event);
      return;
    case 'slots.written':
      written(fold, state, event);
      return;
    case 'thread.forked':
      forked(fold, state, event);
      return;
    default:
  }
}

function requested(fold: Fold, state: RunState, event: Of<'effect.requested'>): void {
  const { kind, name, node: id, question } = event;
  addCall(fold, state, event, { kind, name, id, question });
  if (kind === 'model') fold.agents.set(event.thread, name);
}

function addCall(
  fold: Fold,
  state: RunState,
  { key, thread, seq, at }: Of<'effect.requested' | 'undo.requested'>,
  { kind, name, id, question }: Pick<CallRecord, 'kind' | 'name' | 'id'> & { readonly question?: Question | undefined },
): void {
  const pending = state.pending.get(key);
  const input = pending === undefined ? {} : inputOf(fold.read.program, state, pending);
  const node = fold.read.program.flow.nodes[id];
  const before = inherited(fold.agents, thread) ?? null;
  fold.calls.set(key, {
    key,
    kind,
    name: question?.about ?? name,
    node: node === undefined ? name : authorOf(node),
    id,
    thread,
    agent: kind === 'model' ? name : before,
    proposed: node?.label.authored !== undefined && before !== null,
    seq,
    at,
    input,
    print: printOf(name, input['args'] ?? null),
    question: question ?? null,
    attempts: [],
    retries: [],
    verdict: null,
    dropped: null,
  });
}

function dropped(call: CallRecord | undefined, { seq }: Of<'effect.dropped'>): void {
  if (call !== undefined) call.dropped ??= seq;
}

/** Name and arguments as one text. The order of the fields does not matter. */
export function printOf(name: string, args: Json): string {
  return `${name} ${canonical(args)}`;
}

function attemptOf({ seq, at, result }: Of<'effect.settled'>): Attempt {
  const { used = {} } = result;
  return result.ok
    ? { seq, at, ok: true, value: result.value, error: null, used }
    : { seq, at, ok: false, value: null, error: result.error, used };
}

function judged(call: CallRecord | undefined, event: Of<'effect.judged'>): void {
  if (call === undefined) return;
  if (event.verdict === 'retry') call.retries.push({ seq: event.seq, error: event.error });
  else {
    const error = event.verdict === 'failed' ? event.error : null;
    call.verdict = { seq: event.seq, accepted: event.verdict === 'accepted', error };
  }
}

function forked({ read, forks }: Fold, state: RunState, { seq, thread, node: id }: Of<'thread.forked'>): void {
  const doing = state.threads.get(thread)?.doing;
  const node = read.program.flow.nodes[id];
  if (doing?.is !== 'forked' || doing.fork.items === null || node === undefined) return;
  forks.push({ seq, node: authorOf(node), items: doing.fork.items });
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
    // A result that fails its verification belongs to a call that was made.
    if (!isRecord(last) || typeof last['refused'] !== 'string' || last['refused'] === 'verification') continue;
    const { tool = '', args = null, refused: check, error = '' } = last;
    addRefused(fold, event, { tool: String(tool), args, check: String(check), reason: String(error) });
  }
}

function stopped(fold: Fold, event: Of<'slots.written'>, error: Json | undefined, call: Json | undefined): void {
  if (!isRecord(error) || error['class'] !== 'policy' || !isRecord(call) || typeof call['name'] !== 'string') return;
  if ([...fold.calls.values()].some(({ kind, thread }) => kind === 'tool' && thread === event.thread)) return;
  const { name: tool, args = null } = call;
  addRefused(fold, event, { tool, args, check: 'permission', reason: String(error['message'] ?? '') });
}

function addRefused(
  { refused, agents }: Fold,
  { seq, thread }: Of<'slots.written'>,
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
export function isSupportedWrite({ input, attempts }: Pick<CallRecord, 'input' | 'attempts'>): boolean {
  const value = attempts.at(-1)?.value;
  if (isRecord(value) && value['state'] === 'refused') return true;
  if (isRecord(value) && typeof value['supported'] === 'boolean') return value['supported'];
  const { citations, observations } = input;
  if (!Array.isArray(citations) || citations.length === 0 || !Array.isArray(observations)) return false;
  const good = new Set(
    observations.flatMap((each) => (isRecord(each) && each['ok'] === true ? [String(each['id'])] : [])),
  );
  return citations.every((id) => good.has(String(id)));
}
