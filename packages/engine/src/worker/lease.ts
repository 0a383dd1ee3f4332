/** The lease of a worker, for all its runs. It is renewed at a third of its term. Once lost, it cannot be renewed. */
import type { Instant } from '@sluice-internal/kernel/ir';
import type { Leases, WorkerId } from '../ports/ports.ts';
import { realClock } from '../ports/clock.ts';
import { JumpDetector } from '../ports/run-time.ts';

export interface Lease {
  ready(): Promise<void>;
  /** True while no other worker can have taken over. Measured by the monotonic clock, which counts the time of a pause. */
  holds(): boolean;
  /** Renews now. False when another worker has taken over, or the store failed. */
  renew(): Promise<boolean>;
  resign(): Promise<void>;
  /** The time to compare with the leases of other workers. */
  now(): Instant;
}

/** The term of a lease, unless the engine has another. */
export const LEASE_MS = 10_000;

export function createLease(leases: Leases, worker: WorkerId, leaseMs: number, onLost: () => void): Lease {
  let until = 0;
  let lost = false;
  const request = async (): Promise<void> => {
    const requestedAt = performance.now();
    const wall = Date.now();
    if (await leases.renew(worker, wall, wall + leaseMs)) until = requestedAt + leaseMs;
    else if (!lost) {
      lost = true;
      onLost();
    }
  };
  const first = request();
  first.catch(() => undefined);
  const timer = setInterval(() => void request().catch(() => undefined), leaseMs / 3);
  timer.unref();
  const holds = (): boolean => !lost && performance.now() < until;
  let renewing: Promise<boolean> | null = null;
  const renew = async (): Promise<boolean> => {
    try {
      await request();
      return holds();
    } catch {
      return false;
    } finally {
      renewing = null;
    }
  };
  return {
    ready: () => first,
    holds,
    renew: () => (renewing ??= renew()),
    now: claimTime(leaseMs),
    resign: async () => {
      clearInterval(timer);
      if (!lost) await leases.resign(worker);
    },
  };
}

/**
 * Leases in the store are times of day. After the clock of this machine has jumped, the leases of live workers look wrong until
 * they are renewed. For two terms after a jump this takes the earlier of the old and the new time, so that no lease seems to
 * have ended because of the jump.
 */
function claimTime(leaseMs: number): () => Instant {
  const detector = new JumpDetector(realClock);
  let aheadMs = 0;
  let careUntil = 0;
  return () => {
    const jump = detector.jumpedMs();
    if (jump !== 0) {
      aheadMs = Math.max(0, aheadMs + jump);
      careUntil = performance.now() + 2 * leaseMs;
    }
    if (performance.now() >= careUntil) aheadMs = 0;
    return Date.now() - aheadMs;
  };
}
