/**
 * A store that several processes share, one after the other, each of which may die at a commit: before it is stored, or
 * after that but before anybody learns of it. The next process begins when the lease of the dead one has run out.
 */
import type { Store } from '@sluice-internal/engine/ports';

export interface Death {
  /** At which commit of this process; 0 for never. */
  readonly at: number;
  readonly when: 'before' | 'after';
}
export interface DyingStore {
  readonly store: Store;
  readonly died: () => boolean;
  /** For a test that lets a process go without a death. */
  readonly kill: () => void;
}

/** The workers of each store so far. */
const workers = new WeakMap<Store, Set<string>>();

export function dyingStore(shared: Store, death: Death): DyingStore {
  const { journal, leases } = shared;
  const others = workers.get(shared) ?? new Set();
  let commits = 0;
  let dead = false;
  const alive = (): void => {
    if (dead) throw new Error('the process is dead');
  };
  return {
    died: () => dead,
    kill: () => {
      dead = true;
    },
    store: {
      id: shared.id,
      journal: {
        load: async (...given) => (alive(), journal.load(...given)),
        page: async (...given) => (alive(), journal.page(...given)),
        changes: async (...given) => (alive(), journal.changes(...given)),
        commit: async (...given) => {
          alive();
          commits += 1;
          const strikes = commits === death.at;
          if (strikes && death.when === 'before') dead = true;
          alive();
          const results = await journal.commit(...given);
          if (strikes) dead = true;
          alive();
          return results;
        },
      },
      leases: {
        ...leases,
        renew: async (worker, term) => {
          alive();
          for (const earlier of others) if (earlier !== worker) await leases.renew(earlier, 0);
          workers.set(shared, others.add(worker));
          return leases.renew(worker, term);
        },
        claim: async (...given) => (alive(), leases.claim(...given)),
        resign: async (worker) => (dead ? undefined : leases.resign(worker)),
      },
      mail: shared.mail,
      index: shared.index,
      shared: shared.shared,
      reach: shared.reach,
      close: async () => undefined,
    },
  };
}
