/**
 * Measures the time in which a run only waits for people, and moves its deadline by that time. A fork with `exceptPeople`
 * does the same for its own deadline. Everything follows from the times of events, so a crash does not change it.
 */
import type { Event, ForkState, RunState, Thread } from '../ir/events.ts';
import { isBelow, wakeBy } from './state.ts';

/** The threads whose forks must be checked again after the event. */
type Scopes = readonly Thread[];
const NONE: Scopes = [];

/** Ends the waits that this event interrupts. */
export function endWaits(state: RunState, event: Event): Scopes {
  if (state.waitsSince !== undefined) {
    const ms = event.at - state.waitsSince;
    delete state.waitsSince;
    if (ms > 0) moveDeadline(state, ms);
  }
  const scopes = scopesOf(state, event);
  for (const { doing } of scopes)
    if (doing.is === 'forked' && doing.fork.waitsSince !== undefined) moveFork(state, doing.fork, event.at);
  return scopes;
}

/** Begins the waits that follow from the event. */
export function beginWaits(state: RunState, scopes: Scopes, event: Event): void {
  if (canContinue(event)) return;
  if (state.outcome === null && waitsForPeople(state, null)) state.waitsSince = state.now;
  for (const thread of scopes)
    if (thread.doing.is === 'forked' && waitsForPeople(state, thread)) thread.doing.fork.waitsSince = state.now;
}

/**
 * True if the thread of the event can move now, or waits for a call. Then neither the run nor a fork above it waits only for
 * people.
 */
function canContinue(event: Event): boolean {
  switch (event.type) {
    case 'slots.written':
    case 'route.picked':
    case 'effect.settled':
      return true;
    case 'effect.requested':
      return event.kind !== 'ask';
    default:
      return false;
  }
}

function moveDeadline(state: RunState, ms: number): void {
  state.waitedMs = (state.waitedMs ?? 0) + ms;
  if (state.deadline === null || state.late === true) return;
  state.deadline += ms;
  wakeBy(state, state.deadline);
}

function moveFork(state: RunState, fork: ForkState, at: number): void {
  const ms = at - (fork.waitsSince ?? at);
  delete fork.waitsSince;
  if (fork.deadline !== null) fork.deadline += ms;
  wakeBy(state, fork.deadline);
}

/** True if open questions are all that the run, or the branches below a thread, wait for. */
function waitsForPeople(state: RunState, parent: Thread | null): boolean {
  if (state.pending.size === 0) return false;
  let asks = 0;
  for (const { kind, observed, thread } of state.pending.values()) {
    if (parent !== null && !isBelow(thread, parent)) continue;
    if (kind !== 'ask' || observed !== null) return false;
    asks += 1;
  }
  if (asks === 0) return false;
  for (const { id, doing } of state.threads.values()) {
    if (parent !== null && !isBelow(id, parent)) continue;
    if (doing.is === 'ready' || (doing.is === 'unwinding' && doing.on === null)) return false;
  }
  return true;
}

/** The threads above the event's thread that have forked without counting the time of people. */
function scopesOf(state: RunState, event: Event): Scopes {
  // Without a fork there is one thread.
  if (state.threads.size === 1) return NONE;
  const id = 'thread' in event ? event.thread : 'key' in event ? state.pending.get(event.key)?.thread : undefined;
  if (id === undefined) return NONE;
  let scopes: Thread[] | null = null;
  for (let end = id.lastIndexOf(':'); end > 0; end = id.lastIndexOf(':', end - 1)) {
    const thread = state.threads.get(id.slice(0, end));
    if (thread?.doing.is === 'forked' && thread.doing.fork.exceptPeople === true) (scopes ??= []).push(thread);
  }
  return scopes ?? NONE;
}
