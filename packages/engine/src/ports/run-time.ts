/**
 * The time of a run in this process. It begins at the time of day, but not before the last recorded instant, and then follows
 * the monotonic clock. So a jump of the system clock neither freezes a run nor ends its calls, and recorded instants never go
 * back. While a run only waits it follows the time of day forward: an approval expires at the hour it names.
 */
import type { Instant } from '@sluice-internal/kernel/ir';
import type { Clock } from './ports.ts';

export class RunTime {
  readonly #clock: Clock;
  #base: Instant;
  #since: number;

  constructor(clock: Clock, notBefore: Instant) {
    this.#clock = clock;
    this.#base = Math.max(clock.now(), notBefore);
    this.#since = clock.elapsed();
  }

  now(isPaused: boolean): Instant {
    const own = Math.floor(this.#base + this.#clock.elapsed() - this.#since);
    const ofDay = isPaused ? this.#clock.now() : own;
    if (ofDay <= own) return own;
    this.#base = ofDay;
    this.#since = this.#clock.elapsed();
    return ofDay;
  }
}

/** Detects jumps of the system clock by comparing it with the monotonic clock. */
export class JumpDetector {
  readonly #clock: Clock;
  #offset: number;

  constructor(clock: Clock) {
    this.#clock = clock;
    this.#offset = offsetOf(clock);
  }

  /** The size of a jump since the last call, in milliseconds; 0 for none. */
  jumpedMs(): number {
    const offset = offsetOf(this.#clock);
    const jump = Math.round(offset - this.#offset);
    if (Math.abs(jump) < JUMP_MIN_MS) return 0;
    this.#offset = offset;
    return jump;
  }
}

/** Smaller differences are the normal correction of a clock. */
const JUMP_MIN_MS = 1000;

function offsetOf(clock: Clock): number {
  return clock.now() - clock.elapsed();
}
