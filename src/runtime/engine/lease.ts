/** One lease for all the runs of a worker. Renewed well before it ends; once lost, it is lost for good. */
import type { Roster, WorkerId } from '../ports.ts';

export interface Lease {
  ready(): Promise<void>;
  /** By this machine's own watch, which a suspended process cannot fool: true only while nobody may have taken over. */
  holds(): boolean;
  /** Renews now. False when that was too late, or could not be done. */
  regain(): Promise<boolean>;
  resign(): Promise<void>;
}

export function createLease(roster: Roster, worker: WorkerId, leaseMs: number, onLost: () => void): Lease {
  let until = 0;
  let lost = false;
  const renew = async (): Promise<void> => {
    const asked = performance.now();
    const wall = Date.now();
    if (await roster.renew(worker, wall, wall + leaseMs)) until = asked + leaseMs;
    else if (!lost) {
      lost = true;
      onLost();
    }
  };
  const first = renew();
  first.catch(() => undefined);
  const timer = setInterval(() => void renew().catch(() => undefined), leaseMs / 3);
  timer.unref();
  const holds = (): boolean => !lost && performance.now() < until;
  let regaining: Promise<boolean> | null = null;
  const regain = async (): Promise<boolean> => {
    try {
      await renew();
      return holds();
    } catch {
      return false;
    } finally {
      regaining = null;
    }
  };
  return {
    ready: () => first,
    holds,
    regain: () => (regaining ??= regain()),
    resign: async () => {
      clearInterval(timer);
      if (!lost) await roster.resign(worker);
    },
  };
}
