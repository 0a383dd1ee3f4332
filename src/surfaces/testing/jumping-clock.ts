/** A virtual clock whose time of day can jump. Durations are not affected. */
import type { Clock } from '../../runtime/ports.ts';
import { createVirtualClock } from '../../runtime/engine/clock.ts';

export interface JumpingClock extends Clock {
  jump(ms: number): void;
}

export function createJumpingClock(start: number, offset: number): JumpingClock {
  const base = createVirtualClock(start);
  let ahead = offset;
  return {
    virtual: true,
    now: () => base.now() + ahead,
    at: (instant, wake) => base.at(instant - ahead, wake),
    sleep: (ms, signal) => base.sleep(ms, signal),
    busy: () => base.busy?.() ?? (() => undefined),
    jump: (ms) => {
      ahead += ms;
    },
    elapsed: () => base.now(),
  };
}
