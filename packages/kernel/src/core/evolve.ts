/**
 * Folds one event into the state (L2). It never reads the flow, because events record decisions. So an old
 * journal has the same meaning for a newer engine. The state is changed in place; the values inside it are not.
 */
import type {
  ErrorRecord,
  Event,
  EventOf,
  EventType,
  Outcome,
  Pending,
  RunState,
  Thread,
  Hold,
  RecentCall,
  Sent,
  Settled,
  ForkState,
  Slots,
  UndoEntry,
} from '../ir/events.ts';
import { DIMENSION_ROWS, isMeasured, measuredAmount } from '../ir/dimensions.ts';
import type { Amounts, Dimension, DimensionRow } from '../ir/dimensions.ts';
import type { Json } from '../expr/json.ts';
import type { GatherMode } from '../ir/nodes.ts';
import type { Proof } from '../ir/people.ts';
import { dropDeed, forgetDeed, noteDeed, settleDeed } from './deeds.ts';
import { isCall } from './drops.ts';
import { earliest } from './admit.ts';
import { isForkDue, isOver } from './due.ts';
import { isBudgetError } from './meters.ts';
import { verdictOf } from './unclear.ts';
import { withoutCalls, RECENT_MAX, printOf, withCall } from './repeats.ts';
import { disownEffects, editSlots, shiftTimes, shiftWalk } from './run-fork.ts';
import { remarkData } from './guidance.ts';
import { applyWrites, resolve } from './slots.ts';
import { READY, charge, enqueue, failedOver, moveTo, threadOf, wakeBy, dequeue, branchName, isBelow } from './state.ts';
import { sooner, keepPace, startClocks, stopClocks } from './timing.ts';
import { beginWaits, endWaits } from './waiting.ts';
import { voteData } from './approvers.ts';
import { comparedReply } from './turns.ts';
import { withRepairs } from './mend.ts';
import { repairOf } from './retry.ts';
import { forgetStops, noteAct, noteAllStops, noteStop, noteUndo, noteUnsent, reopen } from './reopen.ts';

export function evolve(state: RunState | null, event: Event): RunState {
  if (state === null) {
    if (event.type !== 'run.started')
      throw new Error(`invariant: a journal begins with run.started, not ${event.type}`);
    return begin(event);
  }
  if (event.type === 'run.forked') shiftTimes(state, event.idleMs);
  if (event.type === 'budget.granted' && state.outcome !== null) {
    reopen(state, event.at - state.now);
    state.wake = earliest(state, -Infinity);
  }
  const scopes = endWaits(state, event);
  state.seq = event.seq;
  state.now = event.at;
  (FOLDS[event.type] as (state: RunState, event: Event) => void)(state, event);
  beginWaits(state, scopes, event);
  return state;
}

type Folds = { readonly [Type in EventType]: (state: RunState, event: EventOf<Type>) => void };

const FOLDS: Folds = {
  'run.started': () => {
    throw new Error('invariant: a run starts once');
  },
  'slots.written': written,
  'route.picked': (state, { charge: amounts, thread, to }) => {
    charge(state, amounts);
    moveTo(threadOf(state, thread), to);
  },
  'expression.failed': (state, { charge: amounts, thread, error, to }) => {
    charge(state, amounts);
    failedOver(threadOf(state, thread), error, to);
  },
  'effect.requested': requested,
  'call.judged': callJudged,
  'effect.settled': recordResult,
  'reply.repaired': (state, { key, text, args }) => {
    const pending = pendingOf(state, key);
    if (pending.observed !== null) pending.observed = withRepairs(pending.observed, { text, args });
  },
  'effect.judged': judged,
  'effect.dropped': dropped,
  'drop.answered': dropAnswered,
  'undo.requested': undoRequested,
  'answer.counted': counted,
  'question.escalated': escalated,
  'answer.refused': (state, { key, answer: { proof } }) => usedUp(pendingOf(state, key), proof),
  'question.notified': () => {},
  'review.saturated': () => {},
  'meter.tripped': (state, event) => {
    // After a trip the monitor starts again, so that a person can let the agents continue. The comparison of words
    // starts again too, so that an agent can repeat a call to get its result.
    const thread = threadOf(state, event.thread);
    if (event.stuck !== undefined) delete state.recent[event.meter];
    if (event.repeated?.rule === 'rephrased')
      state.recent[event.meter] = withoutCalls(state, event.meter, `${thread.id}#${thread.acts}`);
    // An approval that was not used is asked for again.
    if (event.unused !== undefined) delete thread.walk;
    if (event.error !== undefined) noteStop(state, thread, { at: event.node, meter: event.meter });
    tripped(thread, event);
  },
  'meter.raised': raised,
  'budget.granted': raised,
  'thread.forked': (state, event) => {
    charge(state, event.charge);
    forked(state, event);
  },
  'thread.started': (state, { thread, index }) => startBranch(state, threadOf(state, thread), index),
  'fork.joined': joined,
  'thread.ended': (state, event) => {
    charge(state, event.charge);
    childEnded(state, threadOf(state, event.thread), outcomeOf(state, event));
  },
  'undo.started': (state, event) => {
    charge(state, event.charge);
    threadOf(state, event.thread).doing = { is: 'unwinding', outcome: outcomeOf(state, event), on: null };
  },
  'rollback.started': rolledBack,
  'undo.denied': (state, { thread }) => {
    const unwinding = threadOf(state, thread);
    unwinding.undo = unwinding.undo.slice(0, -1);
    state.undoFailed = true;
  },
  'run.resumed': resumed,
  'run.repinned': (state, { modules }) => {
    state.origin = { ...state.origin, pins: { ...state.origin.pins, modules } };
  },
  'run.forked': (state, { edits, moved }) => {
    editSlots(state, edits);
    if (moved !== true) disownEffects(state);
  },
  'run.halted': halted,
  'limit.met': (state, { limit, ends }) => {
    state.met = { ...state.met, [limit]: ends === true ? 'all' : 'near' };
  },
  'run.broken': broken,
  'run.ended': (state, event) => {
    charge(state, event.charge);
    state.outcome = outcomeOf(state, { ...event, thread: '0' });
    state.queue.clear();
  },
  'clock.read': (state) => {
    if (isOver(state)) state.late = true;
    wakeForks(state);
  },
  'guidance.given': (state, { seq, by, text, agent }) => {
    state.remarks = [...(state.remarks ?? []), { seq, by, text, agent }];
  },
  'guidance.heard': heard,
  'deadlock.suspected': (state, { meter }) => {
    delete state.recent[meter];
  },
  'failure.repeated': () => {},
  'breaker.changed': () => {},
  'breaker.denied': () => {},
  'retry.denied': () => {},
  'guard.failed': () => {},
  'guard.coerced': () => {},
  'value.missing': () => {},
};

function heard(state: RunState, { thread: id, of, writes }: EventOf<'guidance.heard'>): void {
  const thread = threadOf(state, id);
  const remark = state.remarks?.find(({ seq }) => seq === of);
  if (remark === undefined) throw new Error(`invariant: run ${state.run} has no remark of event ${of}`);
  thread.slots = applyWrites(thread.slots, writes, remarkData(remark));
  state.remarks = state.remarks?.map((each) => (each === remark ? { ...each, heard: true } : each)) ?? [];
}

function raised(state: RunState, { raises, deadline }: EventOf<'meter.raised' | 'budget.granted'>): void {
  for (const { meter, by } of raises) state.raised = { ...state.raised, [meter]: (state.raised?.[meter] ?? 0) + by };
  if (deadline === undefined) return;
  state.deadline = deadline;
  state.late = state.now >= deadline;
  wakeBy(state, state.deadline);
}

function tripped(thread: Thread, event: EventOf<'meter.tripped'>): void {
  const { meter, node, why, left, needs, to, noted, error } = event;
  if (noted === true) thread.slots = { ...thread.slots, tripped: { meter, node, why, left, needs } };
  else if (error !== undefined) thread.slots = { ...thread.slots, error: { ...error } };
  moveTo(thread, to);
}

function begin(event: EventOf<'run.started'>): RunState {
  const root: Thread = {
    id: '0',
    parent: null,
    index: 0,
    at: event.entry,
    acts: 0,
    slots: { input: event.input },
    doing: READY,
    undo: [],
  };
  return {
    run: event.run,
    flow: event.flow,
    seed: event.seed,
    origin: event.origin,
    input: event.input,
    startedAt: event.at,
    deadline: event.deadline,
    seq: event.seq,
    now: event.at,
    threads: new Map([['0', root]]),
    queue: new Set(['0']),
    pending: new Map(),
    spent: {},
    reserved: {},
    usage: {},
    calls: {},
    recent: {},
    wake: sooner(event.deadline, event.origin.deadline ?? null),
    undoFailed: false,
    outcome: null,
  };
}

function written(state: RunState, event: EventOf<'slots.written'>): void {
  const thread = threadOf(state, event.thread);
  charge(state, event.charge);
  let pending: Pending | undefined;
  if (thread.doing.is === 'waiting') {
    pending = state.pending.get(thread.doing.on);
    state.pending.delete(thread.doing.on);
  }
  const it = pending?.observed?.ok === true ? pending.observed.value : null;
  thread.slots = applyWrites(thread.slots, event.writes, it, state.threads.size === 1);
  moveTo(thread, event.to);
}

/** Stops all threads. The root undoes completed effects in the reverse order of their requests. */
function halted(state: RunState, event: EventOf<'run.halted'>): void {
  const root = threadOf(state, '0');
  if (event.code === 'TIMEOUT') noteAllStops(state);
  const undo = [...root.undo];
  for (const thread of [...state.threads.values()]) {
    if (thread === root || thread.doing.is === 'unwinding') continue;
    undo.push(...thread.undo);
    state.threads.delete(thread.id);
  }
  root.undo = event.movedTo === undefined ? undo.sort((a, b) => a.order - b.order) : [];
  root.doing = {
    is: 'unwinding',
    outcome: { state: event.state, code: event.code, output: null, error: null },
    on: null,
  };
  state.queue = new Set(state.threads.keys());
}

function broken(state: RunState, { error }: EventOf<'run.broken'>): void {
  const root = threadOf(state, '0');
  state.threads = new Map([['0', root]]);
  state.pending.clear();
  state.queue.clear();
  delete state.stopped;
  root.undo = [];
  root.doing = READY;
  root.slots = { ...root.slots, error: { ...error } };
}

/** Queues each fork whose deadline has passed, although none of its branches moved. */
function wakeForks(state: RunState): void {
  for (const thread of state.threads.values()) {
    if (thread.doing.is !== 'forked') continue;
    if (isForkDue(thread.doing.fork, state.now)) enqueue(state, thread.id);
  }
}

function outcomeOf(
  state: RunState,
  event: EventOf<'thread.ended' | 'undo.started'> | (EventOf<'run.ended'> & { thread: string }),
): Outcome {
  const thread = threadOf(state, event.thread);
  const failed = thread.slots['error'] as unknown as ErrorRecord | undefined;
  const error = event.state === 'completed' ? null : (failed ?? null);
  return { state: event.state, code: event.code, output: resolve(event.output, thread.slots, null), error };
}

/** The life of an effect: requested, settled, judged, dropped. Its reservations move from reserved to spent (L4). */
function requested(state: RunState, event: EventOf<'effect.requested'>): void {
  const thread = threadOf(state, event.thread);
  charge(state, event.charge);
  thread.acts += 1;
  thread.doing = awaiting(thread, event);
  dequeue(state, thread);
  noteAct(state, thread, event.kind);
  if (event.undo !== undefined)
    thread.undo = [
      ...thread.undo,
      { ...event.undo, key: event.key, node: event.node, order: event.seq, ran: 'pending', result: null },
    ];
  noteDeed(state, event);
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
    ...countOf(state, thread, event),
    notBefore,
    deadline: event.deadline,
    holds: event.holds ?? NO_HOLDS,
    question: event.question ?? null,
    undoes: null,
    observed: null,
    accepted: false,
  };
  if (event.control === undefined) delete thread.walk;
  keepMarks(pending, event);
  const afterMs = event.question?.approvers?.escalation?.afterMs;
  if (afterMs !== undefined) {
    pending.escalateAt = event.at + afterMs;
    wakeBy(state, pending.escalateAt);
  }
  expect(state, pending);
}

/** The fields that few calls have. */
function keepMarks(pending: Pending, event: EventOf<'effect.requested'>): void {
  const { control, timed, watched, turns, charge: visits, until, signal, ends, verifies } = event;
  if (control !== undefined) pending.control = control;
  if (timed !== undefined) pending.timed = timed;
  if (watched !== undefined) pending.watched = watched;
  if (turns !== undefined) pending.turns = turns;
  if (visits !== undefined) pending.visits = visits;
  if (until !== undefined) pending.until = until;
  if (signal !== undefined) pending.signal = signal;
  if (ends !== undefined) pending.ends = ends;
  if (verifies !== undefined) pending.verifies = verifies;
}

/** A call that finds out about another one belongs to the undo of its thread. */
function awaiting({ doing }: Thread, { settles, control, key }: EventOf<'effect.requested'>): Thread['doing'] {
  if (settles !== undefined && doing.is === 'unwinding') return { ...doing, on: key };
  return control === undefined ? { is: 'waiting', on: key } : { is: 'waiting', on: key, control: true };
}

function countOf(
  state: RunState,
  thread: Thread,
  { settles, key, kind, name }: EventOf<'effect.requested'>,
): Pick<Pending, 'ordinal' | 'attempt' | 'settles'> {
  if (settles === undefined) return { ordinal: called(state, kind, name), attempt: 1 };
  const attempt = settles === key ? attemptsOf(thread, key) + 1 : 1;
  return { ordinal: ordinal(state, kind, name), attempt, settles };
}

/** The walk over the controls goes on, or the call is not made. */
function callJudged(state: RunState, event: EventOf<'call.judged'>): void {
  const thread = threadOf(state, event.thread);
  const pending = event.of === undefined ? undefined : state.pending.get(event.of);
  if (event.of !== undefined) state.pending.delete(event.of);
  charge(state, event.charge);
  const it = pending?.observed?.ok === true ? pending.observed.value : null;
  if (event.writes !== undefined) thread.slots = applyWrites(thread.slots, event.writes, it, state.threads.size === 1);
  if ('walk' in event) {
    thread.walk = event.walk;
    thread.doing = READY;
  } else if ('refusal' in event) {
    thread.slots = { ...thread.slots, _refusal: { ...event.refusal } };
    moveTo(thread, event.to);
  } else if ('error' in event) {
    if (isBudgetError(event.error)) noteUnmade(state, thread);
    failedOver(thread, event.error, event.to);
  } else thread.doing = READY;
}

/** A call before this one in the same reply did not fit. If an operator grants more, its controls are walked again. */
function noteUnmade(state: RunState, thread: Thread): void {
  delete thread.walk;
  thread.doing = READY;
  noteStop(state, thread, { at: thread.at });
}

/** The last answer of a person counts. */
function counted(state: RunState, { key, answer, at }: EventOf<'answer.counted'>): void {
  const pending = pendingOf(state, key);
  const { by, choice, proof } = answer;
  const vote = { by, choice, at, via: proof?.via ?? 'os_user', data: voteData(answer) } as const;
  pending.votes = [...(pending.votes ?? []).filter((each) => each.by !== by), vote];
  usedUp(pending, proof);
}

function usedUp(pending: Pending, proof: Proof | undefined): void {
  if (proof?.nonce !== undefined) pending.nonces = [...(pending.nonces ?? []), proof.nonce];
}

function escalated(state: RunState, { key }: EventOf<'question.escalated'>): void {
  const pending = pendingOf(state, key);
  pending.escalated = true;
  delete pending.escalateAt;
}

function undoRequested(state: RunState, event: EventOf<'undo.requested'>): void {
  const thread = threadOf(state, event.thread);
  noteUndo(state, event.undoes);
  const entry = thread.undo[thread.undo.length - 1];
  charge(state, event.charge);
  use(state, 'undoCalls', 1);
  thread.acts += 1;
  if (thread.doing.is === 'unwinding') thread.doing = { ...thread.doing, on: event.key };
  dequeue(state, thread);
  expect(state, {
    key: event.key,
    thread: event.thread,
    node: entry?.node ?? thread.at,
    kind: 'tool',
    name: event.tool,
    ordinal: ordinal(state, 'tool', event.tool),
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

function recordResult(state: RunState, { key, result }: EventOf<'effect.settled'>): void {
  const pending = pendingOf(state, key);
  delete pending.dropped;
  pending.observed = result;
  for (const dimension in result.used)
    if (isMeasured(dimension)) use(state, dimension as Dimension, result.used[dimension as Dimension] ?? 0);
  const unsent = result.ok ? result.unsent === true : result.error.unsent !== undefined || result.error.sent === 'no';
  if (unsent) refundUnsent(state, pending);
  else release(state, pending.holds, result.used ?? NOTHING_USED, isUnmeasured(result));
  pending.holds = NO_HOLDS;
  stopClocks(state, pending.timed);
  watchResult(state, pending, result);
  settleDeed(state, pending, result);
  const thread = threadOf(state, pending.thread);
  if (result.ok && result.unsent === true) state.stoodIn = true;
  if (result.ok) markUndo(thread, pending, 'yes', result.value);
  else if (result.error.ran === true) markUndo(thread, pending, 'yes', null);
  else if (result.error.class === 'timeout' && result.error.sent !== 'no')
    markUndo(thread, pending, result.error.sent === 'unknown' ? 'unknown' : 'maybe', null);
  countAttempts(thread, pending);
  enqueue(state, thread.id);
}

function judged(state: RunState, event: EventOf<'effect.judged'>): void {
  const pending = pendingOf(state, event.key);
  const thread = threadOf(state, pending.thread);
  if (pending.settles !== undefined) return foundOut(state, thread, pending, pending.settles);
  if (pending.undoes !== null) {
    state.pending.delete(event.key);
    thread.undo = thread.undo.slice(0, -1);
    if (thread.doing.is === 'unwinding') thread.doing = { ...thread.doing, on: null };
    if (event.verdict === 'failed') state.undoFailed = true;
    else forgetDeed(state, pending.undoes);
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
      dropDeed(state, event.key);
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
  if (pending.undoes !== null) return use(state, 'undoCalls', -1);
  const charged = CHARGED_BY.get(pending.kind);
  if (pending.uncounted === true || charged === undefined || pending.settles !== undefined) return;
  for (const { name } of charged) use(state, name, -1);
  const id = `${pending.kind} ${pending.name}`;
  state.calls[id] = (state.calls[id] ?? 1) - 1;
}

/** A call stays pending until the host has answered. A question, a timer, and a call that has its result, end at once. */
function dropped(state: RunState, { key, why }: EventOf<'effect.dropped'>): void {
  const pending = pendingOf(state, key);
  const thread = threadOf(state, pending.thread);
  if (why === 'halt' && pending.visits !== undefined) thread.cut = pending.visits;
  if (pending.observed === null && why !== 'late') stopClocks(state, pending.timed);
  if (pending.observed === null && isCall(pending)) {
    pending.dropped = why;
    if (why !== 'late') keepInput(thread, pending);
    return;
  }
  if (pending.observed === null) refundUnsent(state, pending);
  forgetUndo(thread, key);
  dropDeed(state, key);
  state.pending.delete(key);
}

/** The thread of the call ends, so its slots are kept for the case that nobody knows if the call was sent. */
function keepInput(thread: Thread, { key, attempt }: Pending): void {
  if (thread.undo.some((entry) => entry.key === key))
    thread.undo = thread.undo.map((entry) =>
      entry.key === key ? { ...entry, slots: thread.slots, attempts: attempt } : entry,
    );
}

/** A call that was not sent costs nothing and has nothing to undo. Of any other, all that was reserved counts. */
function dropAnswered(state: RunState, { key, sent }: EventOf<'drop.answered'>): void {
  const pending = pendingOf(state, key);
  // The result of a call whose time is over follows.
  if (pending.dropped === 'late') return;
  if (sent === 'no') {
    refundUnsent(state, pending);
    // An earlier attempt may have been sent although this one was not.
    if (pending.attempt === 1) noteUnsent(state, key);
    dropDeed(state, key);
  } else release(state, pending.holds, NOTHING_USED, true);
  state.pending.delete(key);
  for (const thread of state.threads.values()) {
    const entry = thread.undo.find((each) => each.key === key);
    if (entry === undefined) continue;
    thread.undo = replaced(thread.undo, key, afterDrop(entry, sent));
    enqueue(state, thread.id);
  }
  enqueue(state, '0');
}

function afterDrop(entry: UndoEntry, sent: Sent): UndoEntry | null {
  const isOpen = entry.ran === 'pending' || entry.ran === 'unknown';
  if (sent === 'yes' && isOpen) return withoutInput({ ...entry, ran: 'maybe' });
  if (sent === 'no' && entry.ran === 'pending') return null;
  return sent === 'unknown' && isOpen ? { ...entry, ran: 'unknown' } : entry;
}

function withoutInput(entry: UndoEntry): UndoEntry {
  const known = { ...entry };
  delete known.slots;
  delete known.attempts;
  delete known.asked;
  return known;
}

function replaced(undo: readonly UndoEntry[], key: string, by: UndoEntry | null): UndoEntry[] {
  return undo.flatMap((entry) => (entry.key === key ? (by ?? []) : [entry]));
}

function attemptsOf(thread: Thread, key: string): number {
  return thread.undo.find((entry) => entry.key === key)?.attempts ?? 1;
}

/** It is known now if the call happened. If no tool could find out, a person is asked next. */
function foundOut(state: RunState, thread: Thread, pending: Pending, settles: string): void {
  state.pending.delete(pending.key);
  if (thread.doing.is === 'unwinding') thread.doing = { ...thread.doing, on: null };
  const entry = thread.undo.find(({ key }) => key === settles);
  if (entry === undefined) return;
  const verdict = verdictOf(pending);
  const result = pending.kind !== 'ask' && pending.observed?.ok === true ? pending.observed.value : null;
  if (verdict === 'unanswered') state.undoFailed = true;
  if (verdict === 'open') thread.undo = replaced(thread.undo, settles, { ...entry, ran: 'unknown', asked: true });
  else if (verdict === 'happened')
    thread.undo = replaced(thread.undo, settles, withoutInput({ ...entry, ran: 'yes', result }));
  else {
    thread.undo = replaced(thread.undo, settles, null);
    noteUnsent(state, settles);
    forgetDeed(state, settles);
  }
}

/** The time in which nobody worked counts for the run and its caller only. */
function resumed(state: RunState, { idleMs, calls }: EventOf<'run.resumed'>): void {
  for (const pending of state.pending.values()) if (pending.ends !== undefined) pending.ends += idleMs;
  for (const thread of state.threads.values()) shiftWalk(thread, idleMs);
  for (const { key, deadline } of calls) {
    const pending = pendingOf(state, key);
    pending.resumed = (pending.resumed ?? 0) + 1;
    pending.deadline = deadline;
    wakeBy(state, deadline);
  }
  for (const id in state.clocks) {
    const clock = state.clocks[id];
    if (clock !== undefined && clock.active > 0)
      state.clocks = { ...state.clocks, [id]: { ...clock, since: clock.since + idleMs } };
  }
  for (const thread of state.threads.values()) {
    if (thread.doing.is !== 'forked' || thread.doing.fork.deadline === null) continue;
    if (![...state.pending.values()].some((each) => isCall(each) && isBelow(each.thread, thread))) continue;
    thread.doing.fork.deadline += idleMs;
    wakeBy(state, thread.doing.fork.deadline);
  }
}

const NO_HOLDS: readonly Hold[] = [];
const NOTHING_USED: Amounts = {};

function expect(state: RunState, pending: Pending): void {
  state.pending.set(pending.key, pending);
  wakeBy(state, pending.deadline);
}

/** The result of a later attempt does not undo an attempt that ran, or may have run. */
function markUndo(thread: Thread, pending: Pending, ran: 'yes' | 'maybe' | 'unknown', result: Json): void {
  const entry = thread.undo.find(({ key }) => key === pending.key);
  if (entry === undefined || (ran !== 'yes' && entry.ran === 'yes') || (ran === 'unknown' && entry.ran === 'maybe'))
    return;
  const kept = ran === 'unknown' ? { ...entry, slots: entry.slots ?? thread.slots, attempts: pending.attempt } : entry;
  thread.undo = replaced(thread.undo, pending.key, { ...kept, ran, result });
}

/** If the call is made again to find out about it, that is a further attempt. */
function countAttempts(thread: Thread, { key, attempt }: Pending): void {
  const entry = thread.undo.find((each) => each.key === key);
  if (entry?.ran === 'unknown') thread.undo = replaced(thread.undo, key, { ...entry, attempts: attempt });
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
  if (watched !== undefined) for (const meter of watched) keepResult(state, meter, key, comparedTool(result));
  if (turns !== undefined) for (const meter of turns) keepResult(state, meter, key, comparedTurn(result));
}

function keepResult(state: RunState, meter: string, key: string, outcome: Pick<RecentCall, 'ok' | 'result'>): void {
  const recent = state.recent[meter] ?? [];
  state.recent[meter] = recent.map((call) => (call.key === key ? { ...call, ...outcome } : call));
}

function comparedTool(result: Settled): Pick<RecentCall, 'ok' | 'result'> {
  return { ok: result.ok, result: printOf(result.ok ? result.value : result.error.message) };
}

/** A reply that asks for tools does not end a turn. */
function comparedTurn(result: Settled): Pick<RecentCall, 'ok' | 'result'> {
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
  return ordinal(state, kind, name);
}

/** The number of earlier calls of this name, also those that the engine makes to undo. */
function ordinal(state: RunState, kind: Pending['kind'], name: string): number {
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

/** A branch begins with a copy of its parent's slots and returns only the slots that the join declares (L12). */
function forked(state: RunState, event: EventOf<'thread.forked'>): void {
  const thread = threadOf(state, event.thread);
  thread.acts += 1;
  forgetStops(state, thread.id);
  const { branches } = event;
  const items = 'heads' in branches ? null : (resolve(branches.each, thread.slots, null) as readonly Json[]);
  const total = 'heads' in branches ? branches.heads.length : branches.count;
  const fork: ForkState = {
    key: event.key,
    node: event.node,
    branches,
    total,
    deadline: event.deadline,
    into: event.into,
    gather: event.gather,
    items,
    started: 0,
    done: 0,
    ok: 0,
    outcomes: Array.from({ length: total }, () => null),
  };
  if (event.exceptPeople === true) fork.exceptPeople = true;
  thread.doing = { is: 'forked', fork };
  wakeBy(state, event.deadline);
  dequeue(state, thread);
  for (let index = 0; index < event.started; index++) startBranch(state, thread, index);
  if (event.started === 0) enqueue(state, thread.id);
}

function startBranch(state: RunState, parent: Thread, index: number): void {
  if (parent.doing.is !== 'forked') return;
  const { fork } = parent.doing;
  fork.started += 1;
  const { branches, items } = fork;
  const to = 'heads' in branches ? branches.heads[index]?.to : branches.to;
  const slots: Slots =
    'heads' in branches
      ? parent.slots
      : { ...parent.slots, [branches.as]: items?.[index] ?? null, [`${branches.as}_index`]: index };
  const id = `${parent.id}:${parent.acts - 1}.${index}`;
  state.threads.set(id, {
    id,
    parent: parent.id,
    index,
    at: to ?? parent.at,
    acts: 0,
    slots,
    doing: READY,
    undo: [],
  });
  state.queue.add(id);
  dequeueIdle(state, parent);
}

/** A parent that was queued to start a further branch stays queued only while it may start another. */
function dequeueIdle(state: RunState, parent: Thread): void {
  if (parent.doing.is === 'forked' && parent.doing.fork.started >= parent.doing.fork.total) dequeue(state, parent);
}

function childEnded(state: RunState, child: Thread, outcome: Outcome): void {
  dequeue(state, child);
  state.threads.delete(child.id);
  const parent = state.threads.get(child.parent ?? '0');
  if (parent === undefined || parent.doing.is !== 'forked' || !isBelow(child.id, parent)) return enqueue(state, '0');
  const { fork } = parent.doing;
  const { state: end, code, output, error } = outcome;
  const handed = gatheredSlots(child.slots, parent.slots, fork.gather);
  fork.outcomes[child.index] = { state: end, code, output, error, handed };
  fork.done += 1;
  if (isBudgetError(error)) withdrawLater(state, parent, fork, child.index);
  if (outcome.state === 'completed') {
    fork.ok += 1;
    if (child.undo.length > 0) parent.undo = [...parent.undo, ...child.undo].sort((a, b) => a.order - b.order);
  }
  enqueue(state, parent.id);
}

/** Items after one that a budget stopped, and that have not acted yet, count as not started. */
function withdrawLater(state: RunState, parent: Thread, fork: ForkState, index: number): void {
  if (!('each' in fork.branches)) return;
  while (fork.started > index + 1) {
    const last = state.threads.get(`${parent.id}:${parent.acts - 1}.${fork.started - 1}`);
    if (last === undefined || last.acts > 0) return;
    dequeue(state, last);
    state.threads.delete(last.id);
    fork.started -= 1;
  }
}

/** The slots of this branch that the join gathers. */
function gatheredSlots(slots: Slots, before: Slots, gather: ForkState['gather']): Slots {
  if (slots === before) return NOTHING;
  let handed: { [slot: string]: Json } | null = null;
  for (const { slot } of gather) {
    const value = slots[slot];
    if (value !== undefined && !isSame(value, before[slot])) (handed ??= {})[slot] = value;
  }
  return handed ?? NOTHING;
}
const NOTHING: Slots = {};

/** Compares by content, because a state from a snapshot shares no objects. */
function isSame(a: Json, b: Json | undefined): boolean {
  if (a === b) return true;
  if (a === null || b === null || typeof a !== 'object' || typeof b !== 'object') return false;
  if (Array.isArray(a) || Array.isArray(b))
    return (
      Array.isArray(a) && Array.isArray(b) && a.length === b.length && a.every((item, index) => isSame(item, b[index]))
    );
  const keys = Object.keys(a);
  return (
    keys.length === Object.keys(b).length &&
    keys.every((key) => Object.hasOwn(b, key) && isSame(a[key] as Json, b[key]))
  );
}

function joined(state: RunState, event: EventOf<'fork.joined'>): void {
  const parent = threadOf(state, event.thread);
  if (parent.doing.is !== 'forked') return;
  const { fork } = parent.doing;
  if (event.why === 'short' && fork.outcomes.some((outcome) => isBudgetError(outcome?.error)))
    noteShort(state, parent, event.unstarted !== undefined);
  else forgetStops(state, parent.id);
  dropBranches(state, parent);
  parent.slots = { ...gathered(parent.slots, fork), [fork.into]: outcomes(fork, event.unstarted) };
  if (event.error === undefined) moveTo(parent, event.to);
  else failedOver(parent, event.error, event.to);
  enqueue(state, parent.id);
}

/** Branches whose calls were still being judged are kept too. */
function noteShort(state: RunState, parent: Thread, isUnstarted: boolean): void {
  noteStop(state, parent, { at: parent.at });
  if (!isUnstarted) return;
  for (const thread of state.threads.values())
    if (isBelow(thread.id, parent) && thread.doing.is === 'waiting') noteStop(state, thread, { at: thread.at });
}

/** Drops the branches that still run. The completed effects of a dropped branch are undone in a separate thread. */
function dropBranches(state: RunState, parent: Thread): void {
  const left = [...state.threads.values()].filter((thread) => isBelow(thread.id, parent));
  const undo = new Map<string, UndoEntry[]>();
  for (const thread of left) {
    if (thread.doing.is === 'unwinding') continue;
    dequeue(state, thread);
    state.threads.delete(thread.id);
    if (thread.undo.length > 0) undo.set(thread.id, thread.undo);
  }
  for (const [id, entries] of undo) addUnwinding(state, parent, id, entries);
}

/** The thread repeats its work. Another thread first undoes the effects of that work. */
function rolledBack(state: RunState, { thread: id, undoes }: EventOf<'rollback.started'>): void {
  const thread = threadOf(state, id);
  const keys = new Set(undoes);
  const entries = thread.undo.filter(({ key }) => keys.has(key));
  thread.undo = thread.undo.filter(({ key }) => !keys.has(key));
  addUnwinding(state, thread, `${id}:${thread.acts}.0`, entries);
  thread.acts += 1;
}

function addUnwinding(state: RunState, parent: Thread, id: string, entries: readonly UndoEntry[]): void {
  const outcome: Outcome = { state: 'cancelled', code: 'USER_CANCEL', output: null, error: null };
  state.threads.set(id, {
    id,
    parent: parent.id,
    index: -1,
    at: parent.at,
    acts: 0,
    slots: {},
    doing: { is: 'unwinding', outcome, on: null },
    undo: [...entries].sort((a, b) => a.order - b.order),
  });
  enqueue(state, id);
}

function gathered(slots: Slots, fork: ForkState): Slots {
  const given = new Map<string, Json[]>();
  for (const outcome of fork.outcomes) {
    if (outcome === null) continue;
    for (const slot in outcome.handed) {
      const value = outcome.handed[slot] as Json;
      const list = given.get(slot);
      if (list === undefined) given.set(slot, [value]);
      else list.push(value);
    }
  }
  const next: { [slot: string]: Json } = { ...slots };
  for (const { slot, mode } of fork.gather) {
    const values = given.get(slot);
    if (values !== undefined) next[slot] = merged(mode, slots[slot] ?? null, values);
  }
  return next;
}

function merged(mode: GatherMode, before: Json, given: readonly Json[]): Json {
  switch (mode) {
    case 'first':
      return given[0] as Json;
    case 'last':
      return given[given.length - 1] as Json;
    case 'any':
      return before === true || given.includes(true);
    case 'merge':
      return Object.assign({}, before, ...given) as Json;
    case 'concat':
      return concat(before, given);
  }
}

/** Each branch began with the parent's list and added to it; the additions follow each other in branch order. */
function concat(before: Json, given: readonly Json[]): Json {
  const front = Array.isArray(before) ? before : [];
  return [...front, ...given.flatMap((list) => (Array.isArray(list) ? list.slice(front.length) : []))];
}

function outcomes(fork: ForkState, unstarted: ErrorRecord | undefined): Json {
  return fork.outcomes.map((outcome, index) => {
    const error = outcome === null ? unstarted : outcome.error;
    return {
      name: branchName(fork, index),
      state: outcome?.state ?? (error ? 'failed' : 'cancelled'),
      code: outcome?.code ?? error?.code ?? null,
      output: outcome?.output ?? null,
      error: error ? { ...error } : null,
    };
  });
}
