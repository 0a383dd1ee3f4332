/**
 * The real clock, and a virtual one that jumps to the next timer as soon as no work is under way. On the virtual clock a
 * script with an hour of delays runs in milliseconds, always in the same order.
 */
import type { Instant } from '@sluice-internal/kernel/ir';
import type { Clock } from './ports.ts';

const TIMER_MAX_MS = 2_000_000_000;

/**
 * The clock of the machine.
 * @example
 * const at = realClock.now();
 */
export const realClock: Clock = {
  virtual: false,
  now: () => Date.now(),
  elapsed: () => performance.now(),
  at: (instant, wake) => {
    const timer = setTimeout(wake, Math.min(Math.max(0, instant - Date.now()), TIMER_MAX_MS));
    return () => clearTimeout(timer);
  },
  sleep: (ms, signal) => sleepOn(realClock, ms, signal),
};

/**
 * A clock on which waits pass at once.
 * @example
 * const own = createEngine({ journal: openMemory(), clock: createVirtualClock() });
 */
export function createVirtualClock(start: Instant = Date.now()): Clock {
  const timers: { readonly due: Instant; readonly order: number; readonly wake: () => void }[] = [];
  let now = start;
  let order = 0;
  let working = 0;
  let scheduled = false;
  const consider = (): void => {
    if (scheduled) return;
    scheduled = true;
    // Two macrotasks: code that was just resumed can set more timers before time moves on.
    setImmediate(() =>
      setImmediate(() => {
        scheduled = false;
        if (working > 0 || timers.length === 0) return;
        const next = timers.reduce((a, b) => (b.due < a.due || (b.due === a.due && b.order < a.order) ? b : a));
        timers.splice(timers.indexOf(next), 1);
        now = Math.max(now, next.due);
        next.wake();
        consider();
      }),
    );
  };
  const clock: Clock = {
    virtual: true,
    now: () => now,
    elapsed: () => now,
    at: (due, wake) => {
      const timer = { due, order: order++, wake };
      timers.push(timer);
      consider();
      return () => {
        const index = timers.indexOf(timer);
        if (index >= 0) timers.splice(index, 1);
      };
    },
    sleep: (ms, signal) => sleepOn(clock, ms, signal),
    busy: () => {
      working += 1;
      let done = false;
      return () => {
        if (done) return;
        done = true;
        working -= 1;
        consider();
      };
    },
  };
  return clock;
}

export function sleepOn(clock: Clock, ms: number, signal?: AbortSignal): Promise<void> {
  return new Promise((resolve, reject) => {
    if (signal?.aborted === true) return reject(signal.reason as Error);
    const onAbort = (): void => {
      cancel();
      reject(signal?.reason as Error);
    };
    const cancel = clock.at(clock.now() + ms, () => {
      signal?.removeEventListener('abort', onAbort);
      resolve();
    });
    signal?.addEventListener('abort', onAbort, { once: true });
  });
}
