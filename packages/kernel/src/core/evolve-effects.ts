/** Folds the life of an effect: requested, settled, judged, dropped. Reservations move from reserved to spent here (L4). */
import { DIMENSION_ROWS, isMeasured, measuredAmount } from '../ir/dimensions.ts';
import type { Amounts, Dimension, DimensionRow } from '../ir/dimensions.ts';
import type { Json } from '../expr/json.ts';
import type { EventOf, Hold, Pending, RecentCall, RunState, Settled, Thread } from '../ir/events.ts';
import { voteData } from './approvers.ts';
import { RECENT_MAX, printOf, withCall } from './repeats.ts';
import { comparedReply } from './turns.ts';
import { repairOf } from './retry.ts';
import { keepPace, startClocks, stopClocks } from './timing.ts';
import { charge, dequeue, enqueue, failedOver, threadOf, wakeBy } from './state.ts';

export function requested(state: RunState, event: EventOf<'effect.requested'>): void {
  const thread = threadOf(state, event.thread);
  charge(state, event.charge);
  thread.acts += 1;
  thread.doing = { is: 'waiting', on: event.key };
  dequeue(state, thread);
  if (event.undo !== undefined)
    thread.undo = [
      ...thread.undo,
      { ...event.undo, key: event.key, node: event.node, order: event.seq, ran: 'pending', result: null },
    ];
  watch(state, event);
  hold(state, event.holds);
  const notBefore = event.notBefore ?? event.at;
  keepPace(state, event.paced, notBefore);
  startClocks(state, event.timed);
  const pending: Pending = {
    key: event.key,
    thread: event.thread,
    node: event.node,
    kind: event.kind,
    name: event.name,
    ordinal: called(state, event.kind, event.name),
    attempt: 1,
    notBefore,
    deadline: event.deadline,
    holds: event.holds ?? NO_HOLDS,
    question: event.question ?? null,
    undoes: null,
    observed: null,
    accepted: false,
  };
  if (event.timed !== undefined) pending.timed = event.timed;
  if (event.watched !== undefined) pending.watched = event.watched;
  if (event.turns !== undefined) pending.turns = event.turns;
  if (event.until !== undefined) pending.until = event.until;
  if (event.signal !== undefined) pending.signal = event.signal;
  const afterMs = event.question?.approvers?.escalation?.afterMs;
  if (afterMs !== undefined) {
    pending.escalateAt = event.at + afterMs;
    wakeBy(state, pending.escalateAt);
  }
  expect(state, pending);
}

/** The last answer of a person counts. */
export function counted(state: RunState, { key, answer, at }: EventOf<'answer.counted'>): void {
  const pending = pendingOf(state, key);
  const { by, choice, proof } = answer;
  const vote = { by, choice, at, via: proof?.via ?? 'os_user', data: voteData(answer) } as const;
  pending.votes = [...(pending.votes ?? []).filter((each) => each.by !== by), vote];
}

export function escalated(state: RunState, { key }: EventOf<'question.escalated'>): void {
  const pending = pendingOf(state, key);
  pending.escalated = true;
  delete pending.escalateAt;
}

export function undoRequested(state: RunState, event: EventOf<'undo.requested'>): void {
  const thread = threadOf(state, event.thread);
  const entry = thread.undo[thread.undo.length - 1];
  thread.acts += 1;
  if (thread.doing.is === 'unwinding') thread.doing = { ...thread.doing, on: event.key };
  dequeue(state, thread);
  expect(state, {
    key: event.key,
    thread: event.thread,
    node: entry?.node ?? thread.at,
    kind: 'tool',
    name: event.tool,
    ordinal: called(state, 'tool', event.tool),
    attempt: 1,
    notBefore: event.at,
    deadline: event.deadline,
    holds: NO_HOLDS,
    question: null,
    undoes: event.undoes,
    observed: null,
    accepted: false,
  });
}

export function settled(state: RunState, { key, result }: EventOf<'effect.settled'>): void {
  const pending = pendingOf(state, key);
  pending.observed = result;
  for (const dimension in result.used)
    if (isMeasured(dimension)) use(state, dimension as Dimension, result.used[dimension as Dimension] ?? 0);
  const unsent = result.ok ? result.unsent === true : result.error.unsent !== undefined;
  if (unsent) refundUnsent(state, pending);
  else release(state, pending.holds, result.used ?? NOTHING_USED, isUnmeasured(result));
  pending.holds = NO_HOLDS;
  stopClocks(state, pending.timed);
  watchResult(state, pending, result);
  const thread = threadOf(state, pending.thread);
  if (result.ok) markUndo(thread, pending, 'yes', result.value);
  else if (result.error.ran === true) markUndo(thread, pending, 'yes', null);
  else if (result.error.class === 'timeout') markUndo(thread, pending, 'maybe', null);
  enqueue(state, thread.id);
}

export function judged(state: RunState, event: EventOf<'effect.judged'>): void {
  const pending = pendingOf(state, event.key);
  const thread = threadOf(state, pending.thread);
  if (pending.undoes !== null) {
    state.pending.delete(event.key);
    thread.undo = thread.undo.slice(0, -1);
    if (thread.doing.is === 'unwinding') thread.doing = { ...thread.doing, on: null };
    if (event.verdict === 'failed') state.undoFailed = true;
    return;
  }
  switch (event.verdict) {
    case 'accepted':
      pending.accepted = true;
      return;
    case 'retry':
      pending.attempt += 1;
      repairing(pending, event);
      pending.observed = null;
      if (event.target !== undefined) pending.target = event.target;
      pending.notBefore = event.notBefore;
      pending.deadline = event.deadline;
      pending.holds = event.holds ?? NO_HOLDS;
      pending.uncounted = event.transport === true || event.continues === true;
      if (event.transport === true) pending.transported = (pending.transported ?? 0) + 1;
      else if (event.continues !== true) pending.ordinal = called(state, pending.kind, pending.name);
      use(state, 'retries', 1);
      hold(state, event.holds);
      keepPace(state, event.paced, event.notBefore);
      startClocks(state, pending.timed);
      wakeBy(state, event.deadline);
      return dequeue(state, thread);
    case 'failed':
      state.pending.delete(event.key);
      forgetUndo(thread, event.key);
      return failedOver(thread, event.error, event.to ?? thread.at);
  }
}

/** Keeps the reply that the next attempt repairs or continues. Any other attempt starts afresh, unless it repeats a request. */
function repairing(pending: Pending, event: Extract<EventOf<'effect.judged'>, { verdict: 'retry' }>): void {
  if (event.repair === true && pending.observed?.ok === true) {
    pending.repaired = (pending.repaired ?? 0) + 1;
    pending.repair = repairOf(pending, event.error);
  } else if (event.transport !== true && event.continues !== true) delete pending.repair;
  if (event.continues === true && pending.observed?.ok === false) {
    pending.continued = (pending.continued ?? 0) + 1;
    pending.partial = pending.observed.error.partial ?? null;
  } else if (event.transport !== true) delete pending.partial;
}

/** The call was not made: it costs nothing, and does not count. */
function refundUnsent(state: RunState, pending: Pending): void {
  for (const { meter, amount } of pending.holds) state.reserved[meter] = (state.reserved[meter] ?? 0) - amount;
  const charged = CHARGED_BY.get(pending.kind);
  if (pending.uncounted === true || charged === undefined) return;
  for (const { name } of charged) use(state, name, -1);
  const id = `${pending.kind} ${pending.name}`;
  state.calls[id] = (state.calls[id] ?? 1) - 1;
}

/** The result of a dropped call is unknown, so it counts with all that was reserved for it. */
export function dropped(state: RunState, { key }: EventOf<'effect.dropped'>): void {
  const pending = pendingOf(state, key);
  release(state, pending.holds, NOTHING_USED, true);
  if (pending.observed === null) stopClocks(state, pending.timed);
  const thread = threadOf(state, pending.thread);
  if (pending.observed === null) markUndo(thread, pending, 'maybe', null);
  else forgetUndo(thread, pending.key);
  state.pending.delete(pending.key);
}

const NO_HOLDS: readonly Hold[] = [];
const NOTHING_USED: Amounts = {};

function expect(state: RunState, pending: Pending): void {
  state.pending.set(pending.key, pending);
  wakeBy(state, pending.deadline);
}

/** The result of a later attempt does not undo an attempt that ran, or may have run. */
function markUndo(thread: Thread, pending: Pending, ran: 'yes' | 'maybe', result: Json): void {
  if (thread.undo.length === 0) return;
  const index = thread.undo.findIndex((entry) => entry.key === pending.key);
  if (index < 0 || (ran === 'maybe' && thread.undo[index]?.ran === 'yes')) return;
  thread.undo = thread.undo.map((entry, i) => (i === index ? { ...entry, ran, result } : entry));
}

/** A call that failed in every attempt changed nothing, so there is nothing to undo. */
function forgetUndo(thread: Thread, key: string): void {
  if (thread.undo.some((entry) => entry.key === key && entry.ran === 'pending'))
    thread.undo = thread.undo.filter((entry) => entry.key !== key);
}

function watch(state: RunState, event: EventOf<'effect.requested'>): void {
  if (event.watched === undefined && event.turns === undefined) return;
  const { watched = [], turns = [], key, name, print, words, input } = event;
  const call = { key, name, print: `${name} ${print ?? input}`, ...(words && { words }), ok: null, result: null };
  for (const meter of watched) state.recent[meter] = withCall(state, meter, call);
  for (const meter of turns) state.recent[meter] = [...(state.recent[meter] ?? []).slice(1 - RECENT_MAX), call];
}

/** Keeps the result of a call for the loop detector; of a retried call, the last one. */
function watchResult(state: RunState, { watched, turns, key }: Pending, result: Settled): void {
  if (watched !== undefined) for (const meter of watched) keepResult(state, meter, key, settledTool(result));
  if (turns !== undefined) for (const meter of turns) keepResult(state, meter, key, settledTurn(result));
}

function keepResult(state: RunState, meter: string, key: string, settled: Pick<RecentCall, 'ok' | 'result'>): void {
  const recent = state.recent[meter] ?? [];
  state.recent[meter] = recent.map((call) => (call.key === key ? { ...call, ...settled } : call));
}

function settledTool(result: Settled): Pick<RecentCall, 'ok' | 'result'> {
  return { ok: result.ok, result: printOf(result.ok ? result.value : result.error.message) };
}

/** A reply that asks for tools does not end a turn. */
function settledTurn(result: Settled): Pick<RecentCall, 'ok' | 'result'> {
  const compared = result.ok ? comparedReply(result.value) : null;
  return compared === null ? { ok: false, result: null } : { ok: true, result: printOf(compared) };
}

/** The dimensions that each call of a kind charges by one. */
const CHARGED_BY: ReadonlyMap<string | undefined, readonly DimensionRow[]> = Map.groupBy(
  DIMENSION_ROWS,
  ({ call }) => call,
);
const NONE: readonly DimensionRow[] = [];

function called(state: RunState, kind: Pending['kind'], name: string): number {
  for (const row of CHARGED_BY.get(kind) ?? NONE) use(state, row.name, 1);
  const id = `${kind} ${name}`;
  const before = state.calls[id] ?? 0;
  state.calls[id] = before + 1;
  return before;
}

function use(state: RunState, dimension: Dimension, amount: number): void {
  state.usage[dimension] = (state.usage[dimension] ?? 0) + amount;
}

function hold(state: RunState, holds: readonly Hold[] | undefined): void {
  if (holds === undefined) return;
  for (const { meter, amount } of holds) state.reserved[meter] = (state.reserved[meter] ?? 0) + amount;
}

/** Unknown amounts count as spent. */
function isUnmeasured(result: Settled): boolean {
  return !result.ok && (result.error.class === 'timeout' || result.error.unmeasured === true);
}

function release(state: RunState, holds: readonly Hold[], used: Amounts, unknown: boolean): void {
  for (const { meter, dimension, amount, perMs } of holds) {
    state.reserved[meter] = (state.reserved[meter] ?? 0) - amount;
    const spent = !isMeasured(dimension) || unknown ? amount : measuredAmount(used, dimension);
    if (perMs === undefined) state.spent[meter] = (state.spent[meter] ?? 0) + spent;
    else roll(state, meter, spent, perMs);
  }
}

/** Adds an amount to a velocity meter, and forgets amounts that no longer count. */
function roll(state: RunState, meter: string, amount: number, perMs: number): void {
  const recent = (state.rolling?.[meter] ?? []).filter(({ at }) => at > state.now - perMs);
  state.rolling = { ...state.rolling, [meter]: [...recent, { at: state.now, amount }] };
}

function pendingOf(state: RunState, key: string): Pending {
  const pending = state.pending.get(key);
  if (pending === undefined) throw new Error(`invariant: run ${state.run} expects nothing under ${key}`);
  return pending;
}
