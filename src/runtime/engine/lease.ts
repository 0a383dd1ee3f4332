/** The lease of a worker, for all its runs. It is renewed at a third of its term. Once lost, it cannot be renewed. */
import type { Roster, WorkerId } from '../ports.ts';

export interface Lease {
  ready(): Promise<void>;
  /** True while no other worker can have taken over. Measured by the monotonic clock, which counts the time of a pause. */
  holds(): boolean;
  /** Renews now. False when another worker has taken over, or the store failed. */
  renew(): Promise<boolean>;
  resign(): Promise<void>;
}

export function createLease(roster: Roster, worker: WorkerId, leaseMs: number, onLost: () => void): Lease {
  let until = 0;
  let lost = false;
  const request = async (): Promise<void> => {
    const requestedAt = performance.now();
    const wall = Date.now();
    if (await roster.renew(worker, wall, wall + leaseMs)) until = requestedAt + leaseMs;
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
    resign: async () => {
      clearInterval(timer);
      if (!lost) await roster.resign(worker);
    },
  };
}
