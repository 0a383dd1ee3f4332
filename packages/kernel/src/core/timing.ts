/**
 * The time limits of a call before it is requested: is there time left, when must it end, when may it start. The time of a
 * run is its deadline. A part of a run with its own time limit uses it while at least one of its calls is open. A call above
 * a rate limit waits. All of this follows from the times of events, so a crash does not change it.
 */
import type { DoNode, Meter, MeterId, ToolDef } from '../ir/nodes.ts';
import { isOver } from './due.ts';
import { declaredOf } from './declared.ts';
import { limitOf, meterAt, tripped } from './meters.ts';
import type { Charges, Tripped } from './meters.ts';
import type { Program, Visit } from './program.ts';
import type { Instant, Pace, RunState, ThreadId } from '../ir/events.ts';

export interface Timing {
  readonly notBefore?: Instant;
  readonly paced?: readonly Pace[];
  readonly timed?: readonly MeterId[];
  /** The time limit of the caller ends here. */
  readonly until: Instant | null;
}

export function timingOf(
  visit: Visit<DoNode>,
  { clocks: ids }: Charges = declaredOf(visit.program, visit.node),
): Timing | Tripped {
  if (ids === undefined) return UNTIMED;
  const { program, state, node } = visit;
  let notBefore = state.now;
  let until: Instant | null = null;
  const paced: Pace[] = [];
  const timed: MeterId[] = [];
  for (const id of ids) {
    const meter = meterAt(program, id);
    const trip = (left: number): Tripped => tripped(visit, id, meter, 'limit', left, meter.max ?? 0);
    if (meter.unit === 'rate') {
      notBefore = Math.max(notBefore, turnOf(state, id, meter));
      paced.push({ meter: id, perMs: meter.perMs ?? 0 });
    } else if (id === program.flow.clock) {
      if ((state.late === true || isOver(state)) && node.effect.kind !== 'ask') return trip(0);
    } else {
      const left = limitOf(state, id, meter) - timeUsed(state, id);
      if (left <= 0) return trip(left);
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

/** The earliest start under a rate limit. Calls start in the order of their requests. */
function turnOf(state: RunState, id: MeterId, { perMs = 0, max }: Meter): Instant {
  const known = state.paced?.[id] ?? [];
  const turn = Math.max(state.now, known.at(-1) ?? 0);
  const times = known.filter((time) => time > turn - perMs);
  const full = times[times.length - (max ?? Infinity)];
  return full === undefined ? turn : full + perMs;
}

const UNTIMED: Timing = { until: null };

/** Remembers the start of a call for as long as it counts against its rate limit. */
export function keepPace(state: RunState, paced: readonly Pace[] | undefined, at: Instant): void {
  if (paced === undefined) return;
  for (const { meter, perMs } of paced) {
    const times = (state.paced?.[meter] ?? []).filter((time) => time > at - perMs);
    state.paced = { ...state.paced, [meter]: [...times, at] };
  }
}

export function startClocks(state: RunState, timed: readonly MeterId[] | undefined): void {
  if (timed === undefined) return;
  for (const id of timed) {
    const { active, since, used } = state.clocks?.[id] ?? NEVER;
    state.clocks = { ...state.clocks, [id]: { active: active + 1, since: active === 0 ? state.now : since, used } };
  }
}

export function stopClocks(state: RunState, timed: readonly MeterId[] | undefined): void {
  if (timed === undefined) return;
  for (const id of timed) {
    const { active, since, used } = state.clocks?.[id] ?? NEVER;
    const spent = active === 1 ? used + state.now - since : used;
    state.clocks = { ...state.clocks, [id]: { active: active - 1, since, used: spent } };
  }
}

/** The times of a call beside its timeout: only tools declare them. */
export function timesOf({ flow }: Program, { effect }: DoNode): Pick<ToolDef, 'queueMs' | 'wholeMs'> {
  return effect.kind === 'tool' && Object.hasOwn(flow.tools, effect.tool) ? (flow.tools[effect.tool] ?? {}) : {};
}

const NEVER = { active: 0, since: 0, used: 0 };

export function timeUsed(state: RunState, id: MeterId): number {
  const { active, since, used } = state.clocks?.[id] ?? NEVER;
  return active === 0 ? used : used + state.now - since;
}

/** The earliest deadline of the forks that a thread is a branch of. */
export function enclosingDeadline(state: RunState, thread: ThreadId): Instant | null {
  let earliest: Instant | null = null;
  for (let parent = state.threads.get(thread)?.parent ?? null; parent !== null;) {
    const above = state.threads.get(parent);
    if (above?.doing.is === 'forked') earliest = sooner(earliest, above.doing.fork.deadline);
    parent = above?.parent ?? null;
  }
  return earliest;
}

/** The earlier of two instants, where null is never. */
export function sooner(one: Instant | null, other: Instant | null): Instant | null {
  return one === null || other === null ? (one ?? other) : Math.min(one, other);
}

/**
 * The deadline of a call or a question. The time of the run does not close a question: it stands still while the run only waits
 * for people, and ends the whole run when it is used up.
 */
export function deadlineFrom(
  { deadline, origin }: RunState,
  start: Instant,
  timeoutMs: number | null,
  isQuestion = false,
): Instant | null {
  const own = timeoutMs === null ? null : start + timeoutMs;
  return sooner(sooner(own, isQuestion ? null : deadline), origin.deadline ?? null);
}
