/**
 * The fold of `run.forked`. A forked run starts with the events and the state of its parent. From then on it is independent:
 * the time since the parent's event does not count, and it never undoes effects of its parent.
 */
import type { Instant, RunState, SlotEdit, Thread } from '../ir/events.ts';
import { applyWrites } from './slots.ts';

/** Moves every instant of the state, so that the time since the parent's event does not count. */
export function shiftTimes(state: RunState, ms: number): void {
  const later = (at: Instant): Instant => at + ms;
  const maybe = (at: Instant | null): Instant | null => (at === null ? null : at + ms);
  Object.assign(state, { startedAt: later(state.startedAt) });
  state.deadline = maybe(state.deadline);
  state.wake = maybe(state.wake);
  if (state.waitsSince !== undefined) state.waitsSince += ms;
  for (const pending of state.pending.values()) {
    pending.notBefore = later(pending.notBefore);
    if (pending.escalateAt !== undefined) pending.escalateAt += ms;
    if (pending.ends !== undefined) pending.ends += ms;
    // A timer that ends at a date keeps its date.
    if (pending.until === undefined || pending.deadline !== pending.until) pending.deadline = maybe(pending.deadline);
  }
  for (const thread of state.threads.values()) shiftWalk(thread, ms);
  for (const { doing } of state.threads.values()) {
    if (doing.is !== 'forked') continue;
    doing.fork.deadline = maybe(doing.fork.deadline);
    if (doing.fork.waitsSince !== undefined) doing.fork.waitsSince += ms;
  }
  if (state.paced !== undefined) state.paced = mapped(state.paced, (times) => times.map(later));
  if (state.clocks !== undefined)
    state.clocks = mapped(state.clocks, (clock) => ({ ...clock, since: clock.since + ms }));
  if (state.rolling !== undefined)
    state.rolling = mapped(state.rolling, (amounts) => amounts.map((each) => ({ ...each, at: each.at + ms })));
}

export function shiftWalk(thread: Thread, ms: number): void {
  const { walk } = thread;
  if (walk?.since !== undefined) thread.walk = { ...walk, since: walk.since + ms };
}

/** Every thread sees the new values. */
export function editSlots(state: RunState, edits: readonly SlotEdit[]): void {
  for (const { slot, path, value } of edits) {
    const write = { slot, path: path.length === 0 ? undefined : path, mode: 'set', from: { value } } as const;
    for (const thread of state.threads.values()) thread.slots = applyWrites(thread.slots, [write], null);
    if (slot === 'input' && path.length === 0) Object.assign(state, { input: value });
  }
}

/** A fork that fails or is cancelled does not undo what its parent did. Calls that were open are made again by the fork. */
export function disownEffects(state: RunState): void {
  for (const thread of state.threads.values())
    thread.undo = thread.undo.flatMap((entry) =>
      state.pending.has(entry.key) ? [{ ...entry, ran: 'pending' as const, result: null }] : [],
    );
}

function mapped<From, To>(map: { [key: string]: From }, change: (value: From) => To): { [key: string]: To } {
  return Object.fromEntries(Object.entries(map).map(([key, value]) => [key, change(value)]));
}
