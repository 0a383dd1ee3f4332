/**
 * The lease of a worker, for all its runs. It is renewed at a third of its term. Its end is measured by the monotonic clock of this
 * process from before the request, so this process stops before the store gives its runs to another worker.
 */
import type { Instant } from '@sluice-internal/kernel/ir';
import type { Clock, Leases, WorkerId } from '../ports/ports.ts';
import { realClock, sleepOn } from '../ports/clock.ts';

export interface Lease {
  /** Resolves when the worker has joined. Rejects if the store failed; the next call tries again. */
  ready(): Promise<void>;
  /** True while no other worker can have taken over. The monotonic clock counts the time of a pause too. */
  holds(): boolean;
  /** Renews now. False when another worker has taken over, or the store failed. */
  renew(): Promise<boolean>;
  /** As `renew`, but rejects if the store failed. */
  request(): Promise<boolean>;
  resign(): Promise<void>;
  /** The time of day of the store, as of the last renewal. Changes of the clock of this machine do not move it. */
  now(): Instant;
}

/** The term of a lease, unless the engine has another. */
export const LEASE_MS = 10_000;

/** `name` is the name of the worker. `onFenced` may give it a new one, under which it joins: a fenced name can never join again. */
export function createLease(leases: Leases, name: () => WorkerId, leaseMs: number, onFenced: () => void): Lease {
  const time = new StoreTime();
  let until = 0;
  let resigned = false;
  const send = async (): Promise<boolean> => {
    const worker = name();
    const requestedAt = performance.now();
    const now = await leases.renew(worker, leaseMs);
    if (now !== null) {
      until = requestedAt + leaseMs;
      time.follow(now, requestedAt);
      return true;
    }
    until = 0;
    if (resigned) return false;
    onFenced();
    return worker === name() ? false : send();
  };
  let sending: Promise<boolean> | null = null;
  const request = (): Promise<boolean> => (sending ??= send().finally(() => (sending = null)));
  let joined = false;
  const join = async (): Promise<void> => {
    if (!joined) joined = await request();
  };
  join().catch(() => undefined);
  const timer = setInterval(() => void request().catch(() => undefined), leaseMs / 3);
  timer.unref();
  const holds = (): boolean => performance.now() < until;
  return {
    ready: join,
    holds,
    request,
    renew: () =>
      request().then(
        (renewed) => renewed && holds(),
        () => false,
      ),
    now: () => time.now(),
    resign: async () => {
      clearInterval(timer);
      resigned = true;
      await leases.resign(name());
    },
  };
}

/** Smaller differences come from the time that a request takes. */
const DRIFT_MS = 50;

/** The time of day of the store, counted on by the monotonic clock of this process. */
class StoreTime {
  #base = Date.now();
  #since = performance.now();

  now(): Instant {
    return Math.floor(this.#base + performance.now() - this.#since);
  }

  /** The store read its clock between the request and now. */
  follow(now: Instant, requestedAt: number): void {
    const answeredAt = performance.now();
    const [least, most] = [requestedAt, answeredAt].map((at) => this.#base + at - this.#since);
    if (now >= (least ?? 0) - DRIFT_MS && now <= (most ?? 0) + DRIFT_MS) return;
    this.#base = now;
    this.#since = (requestedAt + answeredAt) / 2;
  }
}

/** The real clock with the time of day of the store. All processes of a store agree on it. */
export function clockOf(lease: () => Lease): Clock {
  const clock: Clock = {
    ...realClock,
    now: () => lease().now(),
    at: (instant, wake) => realClock.at(realClock.now() + instant - clock.now(), wake),
    sleep: (ms, signal) => sleepOn(clock, ms, signal),
  };
  return clock;
}
