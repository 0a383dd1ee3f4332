/**
 * Folds one event into the state (L2). It never reads the flow, because events record decisions. So an old
 * journal has the same meaning for a newer engine. The state is changed in place; the values inside it are not.
 */
import { isForkDue, isOver } from './admit.ts';
import { counted, dropped, escalated, judged, requested, settled, undoRequested } from './evolve-effects.ts';
import { childEnded, forked, joined, rolledBack, startBranch } from './evolve-forks.ts';
import type { ErrorRecord, Event, EventOf, EventType, Outcome, Pending, RunState, Thread } from '../ir/events.ts';
import { withoutCalls } from './repeats.ts';
import { disownEffects, editSlots, shiftTimes } from './run-fork.ts';
import { applyWrites, resolve } from './slots.ts';
import { READY, charge, enqueue, failedOver, moveTo, threadOf, wakeBy } from './state.ts';
import { sooner } from './timing.ts';
import { beginWaits, endWaits } from './waiting.ts';

export function evolve(state: RunState | null, event: Event): RunState {
  if (state === null) {
    if (event.type !== 'run.started')
      throw new Error(`invariant: a journal begins with run.started, not ${event.type}`);
    return begin(event);
  }
  if (event.type === 'run.forked') shiftTimes(state, event.idleMs);
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
  'effect.settled': settled,
  'effect.judged': judged,
  'effect.dropped': dropped,
  'undo.requested': undoRequested,
  'answer.counted': counted,
  'question.escalated': escalated,
  'answer.refused': () => {},
  'question.notified': () => {},
  'review.saturated': () => {},
  'meter.tripped': (state, event) => {
    // After a trip the monitor starts again, so that a person can let the agents continue. The comparison of words
    // starts again too, so that an agent can repeat a call to get its result.
    const thread = threadOf(state, event.thread);
    if (event.stuck !== undefined) delete state.recent[event.meter];
    if (event.repeated?.rule === 'rephrased')
      state.recent[event.meter] = withoutCalls(state, event.meter, `${thread.id}#${thread.acts}`);
    tripped(thread, event);
  },
  'meter.raised': raised,
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
  'run.repinned': (state, { modules }) => {
    state.origin = { ...state.origin, pins: { ...state.origin.pins, modules } };
  },
  'run.forked': (state, { edits, moved }) => {
    editSlots(state, edits);
    if (moved !== true) disownEffects(state);
  },
  'run.halted': halted,
  'run.ended': (state, event) => {
    charge(state, event.charge);
    state.outcome = outcomeOf(state, { ...event, thread: '0' });
    state.queue.clear();
  },
  'clock.read': (state) => {
    if (isOver(state)) state.late = true;
    wakeForks(state);
  },
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

function raised(state: RunState, { raises, deadline }: EventOf<'meter.raised'>): void {
  for (const { meter, by } of raises) state.raised = { ...state.raised, [meter]: (state.raised?.[meter] ?? 0) + by };
  if (deadline === undefined) return;
  state.deadline = deadline;
  state.late = state.now >= deadline;
  wakeBy(state, state.deadline);
}

function tripped(thread: Thread, { meter, node, why, left, needs, to, noted }: EventOf<'meter.tripped'>): void {
  if (noted === true) thread.slots = { ...thread.slots, tripped: { meter, node, why, left, needs } };
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
