/** The time of a run, of its caller and of a fork: whether it is over. */
import type { ForkState, Instant, RunState } from '../ir/events.ts';

/** True if the run has used up its own time, which stands still while the run only waits for people. */
export function isOver({ deadline, waitsSince, now }: RunState, at: Instant = now): boolean {
  return deadline !== null && (waitsSince ?? at) >= deadline;
}

/** True if the deadline that the caller set has passed. It never moves. */
export function isPast({ origin, now }: RunState, at: Instant = now): boolean {
  return origin.deadline !== undefined && at >= origin.deadline;
}

export function isForkDue({ deadline, waitsSince }: ForkState, at: Instant): boolean {
  return deadline !== null && waitsSince === undefined && at >= deadline;
}
