/**
 * Repeats a failed effect as its node declares: first with the same target, after a delay with full jitter, then once with
 * each fallback target. A request that did not reach the provider is repeated even without a declared retry. A reply that
 * does not fit is first sent back to the model. Every attempt needs time and budget.
 */
import type { Json } from '../expr/json.ts';
import { callAmounts } from '../ir/dimensions.ts';
import type { Amounts } from '../ir/dimensions.ts';
import { worstCase } from '../ir/estimate.ts';
import { shortfall } from '../ir/meters.ts';
import type { Command, ErrorRecord, EventBody, Failure, Instant, Pending, RunState } from '../ir/events.ts';
import type { DoNode, Retry } from '../ir/nodes.ts';
import { declaredOf } from './declared.ts';
import { recallsOf } from './drops.ts';
import { readPath } from './slots.ts';
import { route } from './failure.ts';
import { meterAt, reserve } from './meters.ts';
import { startOf } from './outstanding.ts';
import { evaluateInput } from './program.ts';
import type { Program, Visit } from './program.ts';
import { draw } from './random.ts';
import { deadlineFrom, sooner, timesOf, timingOf } from './timing.ts';
import type { Timing } from './timing.ts';

/** The event of the next attempt. Null if no attempt is left, or the reason why the next one cannot be made. */
export function retry(
  visit: Visit<DoNode>,
  pending: Pending,
  error: ErrorRecord,
  failure: Failure,
): EventBody | string | null {
  const { state, node } = visit;
  const next = nextAttempt(visit, pending, error, failure);
  if (next === null) return null;
  const { target, policy } = next;
  const notBefore = target === undefined ? delayed(state, policy, pending, failure.retryAfterMs ?? 0) : state.now;
  const declared = declaredOf(visit.program, node);
  const timing = timingOf(visit, declared);
  if ('type' in timing) return NO_TIME;
  const start = startAt(visit, pending, notBefore, timing);
  if (typeof start === 'string') return start;
  const repair = policy === REPAIR ? repairOf(pending, error) : pending.repair;
  const partial = policy === CONTINUATION ? failure.partial : pending.partial;
  const worst = worstOf(visit, startOf({ repair, partial }), target ?? pending.target);
  const isSameCall = policy === TRANSPORT || policy === CONTINUATION;
  const amounts = { ...worst, retries: 1, ...(isSameCall ? callAmounts('model', 0) : {}) };
  const holds = reserve(visit, declared, amounts);
  if (holds !== undefined && 'type' in holds) return shortfall(meterAt(visit.program, holds.meter), holds);
  return {
    type: 'effect.judged',
    key: pending.key,
    verdict: 'retry',
    error,
    target,
    ...markOf(policy),
    notBefore: start,
    deadline: sooner(sooner(deadlineFrom(state, start, node.timeoutMs), timing.until), endOf(pending, start)),
    holds,
    paced: timing.paced,
  };
}

const NO_TIME = 'no time is left';

/** When the next attempt begins, or the reason why that is too late for the run, the call or its queue. */
function startAt(
  { program, state, node }: Visit<DoNode>,
  { ends }: Pending,
  wanted: Instant,
  timing: Timing,
): Instant | string {
  if (wanted >= (deadlineFrom(state, wanted, null) ?? Infinity)) return NO_TIME;
  const start = Math.max(wanted, timing.notBefore ?? wanted);
  const { queueMs = Infinity, wholeMs = 0 } = timesOf(program, node);
  if (ends !== undefined && start >= ends) return `the ${wholeMs / 1000} s of the whole call are over`;
  return start - wanted > queueMs ? `its rate limit has no place within ${queueMs / 1000} s` : start;
}

/** The end of all attempts. If the result of a timer is rejected, its instant has passed, so the next attempt ends at once. */
function endOf({ until, ends }: Pending, start: Instant): Instant | null {
  return until === undefined ? (ends ?? null) : Math.max(until, start);
}

function worstOf(
  { program, thread: { slots }, node }: Visit<DoNode>,
  start: Command['input'],
  target: string | undefined,
): Amounts {
  return worstCase(program, node, { ...evaluateInput(program, node.effect.input, slots), ...start }, target);
}

function markOf(policy: Delay): { readonly transport?: true; readonly repair?: true; readonly continues?: true } {
  if (policy === TRANSPORT) return { transport: true };
  if (policy === CONTINUATION) return { continues: true };
  return policy === REPAIR ? { repair: true } : {};
}

interface Attempt {
  /** The fallback target; undefined is the same target again. */
  readonly target: string | undefined;
  readonly policy: Delay;
}

function nextAttempt(visit: Visit<DoNode>, pending: Pending, error: ErrorRecord, failure: Failure): Attempt | null {
  const { program, node } = visit;
  if (failure.ran === true || isLost(program, pending, failure)) return null;
  if (isRepaired(node, pending, error)) return { target: undefined, policy: REPAIR };
  if (isContinued(program, node, pending, failure)) return { target: undefined, policy: CONTINUATION };
  const { transportRetries = 0, unsent } = failure;
  if (pending.target === undefined && unsent === undefined) {
    const { transported = 0 } = pending;
    const isDeclared = node.retry.max > 0 && isRetried(visit, error);
    if (isDeclared && declaredAttempt(pending) <= node.retry.max) return { target: undefined, policy: node.retry };
    if (!isDeclared && transported < transportRetries) return { target: undefined, policy: TRANSPORT };
  }
  const target = nextTarget(node, pending, error, unsent);
  return target === undefined ? null : { target, policy: node.retry };
}

/** It was in flight at too many crashes. */
function isLost(program: Program, pending: Pending, { sent, type }: Failure): boolean {
  return sent === 'unknown' && (type === 'UnknownOutcome' || (pending.resumed ?? 0) >= recallsOf(program, pending));
}

/** The number of the attempt without repeated requests, repairs and continuations. */
export function declaredAttempt({ attempt, transported = 0, repaired = 0, continued = 0 }: Pending): number {
  return attempt - transported - repaired - continued;
}

function isContinued(
  { flow }: Program,
  { effect }: DoNode,
  { continued = 0 }: Pending,
  { partial, continuations }: Failure,
): boolean {
  if (partial === undefined || effect.kind !== 'model') return false;
  return continued < (continuations ?? flow.agents[effect.agent]?.continuations ?? 0);
}

export const TOO_MANY_CALLS = 'TooManyCallsError';

export function callsIn(reply: Json): number {
  const calls = readPath(reply, ['toolCalls']);
  return Array.isArray(calls) ? calls.length : 0;
}

/** The reply that the next attempt repairs, and the reason. Calls that were too many are not shown to the model again. */
export function repairOf({ observed }: Pending, { type, message }: ErrorRecord): NonNullable<Pending['repair']> {
  const reply = observed?.ok === true ? observed.value : null;
  if (type !== TOO_MANY_CALLS) return { reply, problem: message };
  const text = readPath(reply, ['text']);
  return { reply: { text: text === '' ? `(${callsIn(reply)} tool calls)` : text }, problem: message };
}

/** A reply with too many calls is sent back once, whatever form it should have. */
function isRepaired({ fit }: DoNode, { observed, repaired = 0 }: Pending, { type }: ErrorRecord): boolean {
  if (observed?.ok !== true) return false;
  if (type === TOO_MANY_CALLS) return repaired < 1;
  return fit !== undefined && type === 'SchemaError' && repaired < fit.repairs;
}

function isRetried(visit: Visit<DoNode>, error: ErrorRecord): boolean {
  const { on, when } = visit.node.retry;
  if (!on.includes(error.class)) return false;
  return when === undefined || route(visit, { failed: [{ when, to: 'again' }], fail: '' }, error) === 'again';
}

type Delay = Pick<Retry, 'baseMs' | 'capMs' | 'factor'>;
const TRANSPORT: Delay = { baseMs: 500, capMs: 30_000 };
const REPAIR: Delay = { baseMs: 0, capMs: 0 };
const CONTINUATION: Delay = { baseMs: 0, capMs: 0 };

/** Full jitter, but never earlier than the server asked for. */
function delayed({ seed, now }: RunState, policy: Delay, pending: Pending, retryAfterMs: number): Instant {
  const { baseMs, capMs, factor = 2 } = policy;
  const most = Math.min(capMs, baseMs * factor ** pending.attempt);
  const jitter = baseMs === 0 ? 0 : draw(seed, `${pending.key} ${pending.attempt}`) * most;
  return now + Math.floor(Math.max(jitter, retryAfterMs));
}

function nextTarget(
  { retry: { fallback, whileOpen } }: DoNode,
  { target }: Pending,
  error: ErrorRecord,
  unsent: Failure['unsent'],
): string | undefined {
  if (unsent === 'breaker' && target === undefined && whileOpen !== undefined) return whileOpen;
  if (fallback === undefined || !fallback.on.includes(error.class)) return undefined;
  return fallback.targets[target === undefined ? 0 : fallback.targets.indexOf(target) + 1];
}
