/** The real clock with a time of day that a test moves. */
import { realClock } from '@sluice-internal/engine/ports';
import type { Clock } from '@sluice-internal/engine/ports';

export function movableClock(): Clock & { offset: number } {
  const clock = {
    ...realClock,
    offset: 0,
    now: () => Date.now() + clock.offset,
    at: (instant: number, wake: () => void) => realClock.at(instant - clock.offset, wake),
  };
  return clock;
}
