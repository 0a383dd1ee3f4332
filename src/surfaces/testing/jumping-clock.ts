/** A virtual clock whose hands somebody moves: what it says jumps, what it measures does not. */
import type { Clock } from '../../runtime/ports.ts';
import { createVirtualClock } from '../../runtime/engine/clock.ts';

export interface JumpingClock extends Clock {
  jump(ms: number): void;
  /** How much time has really passed. */
  elapsed(): number;
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
