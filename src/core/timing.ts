/**
 * What the clock says about a call before it is asked for: whether there is time for it, until when, and not before when.
 * A run's own time is its deadline; who has time of their own uses it while any call of theirs is under way, however many at
 * once; a call that comes too early waits. All of it follows from the times of events, so that it survives a crash.
 */
import type { DoNode, MeterId } from '../ir/nodes.ts';
import { isOver } from './admit.ts';
import { declaredOf } from './declared.ts';
import { limitOf, meterAt, tripped } from './meters.ts';
import type { Tripped } from './meters.ts';
import type { Program } from './program.ts';
import type { Instant, Pace, RunState, Thread } from '../ir/events.ts';

export interface Timing {
  readonly notBefore?: Instant;
  readonly paced?: readonly Pace[];
  readonly timed?: readonly MeterId[];
  /** When whoever makes the call has no time left. */
  readonly until: Instant | null;
}

export function timingOf(program: Program, state: RunState, thread: Thread, node: DoNode): Timing | Tripped {
  const ids = declaredOf(program, node).clocks;
  if (ids === undefined) return UNTIMED;
  let notBefore = state.now;
  let until: Instant | null = null;
  const paced: Pace[] = [];
  const timed: MeterId[] = [];
  for (const id of ids) {
    const meter = meterAt(program, id);
    if (meter.unit === 'rate') {
      const perMs = meter.perMs ?? 0;
      // In the order in which they were asked for: nobody is let go before those who wait already.
      const known = state.paced?.[id] ?? [];
      const turn = Math.max(state.now, known.at(-1) ?? 0);
      const times = known.filter((time) => time > turn - perMs);
      const full = times[times.length - (meter.max ?? Infinity)];
      notBefore = Math.max(notBefore, full === undefined ? turn : full + perMs);
      paced.push({ meter: id, perMs });
    } else if (id === program.flow.clock) {
      if ((state.late === true || isOver(state)) && node.effect.kind !== 'ask')
        return tripped(thread, node, id, meter, 'limit', 0, meter.max ?? 0);
    } else {
      const left = limitOf(state, id, meter) - timeUsed(state, id);
      if (left <= 0) return tripped(thread, node, id, meter, 'limit', left, meter.max ?? 0);
      until = Math.min(until ?? Infinity, state.now + left);
      timed.push(id);
    }
  }
  return {
    until,
    ...(notBefore > state.now ? { notBefore } : {}),
    ...(paced.length === 0 ? {} : { paced }),
    ...(timed.length === 0 ? {} : { timed }),
  };
}

const UNTIMED: Timing = { until: null };

/** Remembers when a call was let go, as long as the stretch of time that it counts in. */
export function keepPace(state: RunState, paced: readonly Pace[] | undefined, at: Instant): void {
  for (const { meter, perMs } of paced ?? []) {
    const times = (state.paced?.[meter] ?? []).filter((time) => time > at - perMs);
    state.paced = { ...state.paced, [meter]: [...times, at] };
  }
}

export function startClocks(state: RunState, timed: readonly MeterId[] | undefined): void {
  for (const id of timed ?? []) {
    const { active, since, used } = state.clocks?.[id] ?? NEVER;
    state.clocks = { ...state.clocks, [id]: { active: active + 1, since: active === 0 ? state.now : since, used } };
  }
}

export function stopClocks(state: RunState, timed: readonly MeterId[] | undefined): void {
  for (const id of timed ?? []) {
    const { active, since, used } = state.clocks?.[id] ?? NEVER;
    const spent = active === 1 ? used + state.now - since : used;
    state.clocks = { ...state.clocks, [id]: { active: active - 1, since, used: spent } };
  }
}

const NEVER = { active: 0, since: 0, used: 0 };

function timeUsed(state: RunState, id: MeterId): number {
  const { active, since, used } = state.clocks?.[id] ?? NEVER;
  return active === 0 ? used : used + state.now - since;
}

/** The earlier of two instants, where null is never. */
export function sooner(one: Instant | null, other: Instant | null): Instant | null {
  return one === null || other === null ? (one ?? other) : Math.min(one, other);
}

/** The deadline of a call or a fork. `pastDeadline`: its own time counts alone, and not the run's. */
export function deadlineFrom(
  state: RunState,
  start: Instant,
  timeoutMs: number | null,
  pastDeadline = false,
): Instant | null {
  return sooner(timeoutMs === null ? null : start + timeoutMs, pastDeadline ? null : state.deadline);
}
