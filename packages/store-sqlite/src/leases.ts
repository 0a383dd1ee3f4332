/** Leases in SQLite. A claim, and the fencing of workers that lose a run by it, are one transaction. */
import type { RunId } from '@sluice-internal/kernel/ir';
import { KEEP_GONE_WORKERS_MS, planClaim, renewalOf, thisProcess } from '@sluice-internal/engine/ports';
import type { Leases, OpenRunsFilter, StoreClock, WorkerId, WorkerLease } from '@sluice-internal/engine/ports';
import type { Connection, Statements } from './connection.ts';

export function createLeases(connection: Connection, flush: () => void, clock: StoreClock): Leases {
  const { known, leases } = connection;
  const statements = connection.prepareAll(SQL);
  const leaseOf = (worker: WorkerId): WorkerLease<number> | undefined => {
    const row = statements.find.get(worker) as unknown as LeaseRow | undefined;
    return row === undefined ? undefined : toLease(row);
  };
  return {
    renew: async (worker, termMs) =>
      connection.write(() => {
        const lease = leaseOf(worker);
        if (renewalOf(lease) === 'refuse') return null;
        const [term, elapsed] = [Math.ceil(termMs), Math.floor(clock.elapsed())];
        const until = elapsed + term;
        if (lease === undefined) {
          statements.removeGone.run({ elapsed, keep: KEEP_GONE_WORKERS_MS });
          statements.join.run(worker, until, term, thisProcess());
        } else statements.renew.run(until, term, lease.id);
        return clock.now();
      }),
    claim: async (worker, which) =>
      connection.write(() => {
        const lease = leaseOf(worker);
        return lease === undefined ? [] : claim(connection, statements, lease.id, clock, which);
      }),
    release: async (worker, runs) => {
      flush();
      connection.write(() => {
        const lease = leaseOf(worker);
        if (lease === undefined) return;
        for (const run of runs) {
          statements.release.run(run, lease.id);
          known.delete(run);
        }
      });
    },
    resign: async (worker) => {
      flush();
      connection.write(() => {
        const lease = leaseOf(worker);
        if (lease === undefined) return;
        known.clear();
        leases.clear();
        statements.releaseAll.run(lease.id);
        statements.leave.run(lease.id);
      });
    },
  };
}

function claim(
  connection: Connection,
  statements: Statements<typeof SQL>,
  self: number,
  clock: StoreClock,
  which: Parameters<Leases['claim']>[1],
): RunId[] {
  const leases = (statements.all.all() as unknown as LeaseRow[]).map(toLease);
  const plan = planClaim(leases, self, Math.floor(clock.elapsed()));
  if (plan === null) return [];
  const fence = (worker: number): void => {
    statements.fence.run(worker);
    connection.leases.clear();
  };
  plan.fence.forEach(fence);
  // An owner that is not a worker was written from outside.
  const unknown = (statements.unknownOwners.all() as unknown as [number][]).map(([id]) => id);
  const gone = JSON.stringify([...plan.gone, ...unknown]);
  const rows =
    'run' in which
      ? statements.claimableByName.all({ run: which.run, self, gone })
      : statements.claimable.all({ now: clock.now(), gone, ...filterOf(which) });
  return (rows as unknown as [number, RunId, number | null][]).map(([id, run, owner]) => {
    if (owner !== null && owner !== self) fence(owner);
    statements.setOwner.run(self, id);
    connection.known.delete(run);
    return run;
  });
}

function filterOf({ limit, except = [], tenant }: OpenRunsFilter): { readonly [name: string]: string | number | null } {
  return { limit, except: JSON.stringify(except), tenant: tenant ?? null };
}

/** `needsWork` of the claim policy as a query, oldest run first. The index on owner, status and due answers each part. */
export const CLAIMABLE = `
  WITH free (owner) AS MATERIALIZED (SELECT NULL UNION ALL SELECT value FROM json_each(:gone))
  SELECT id, run, owner FROM (
    SELECT runs.id, runs.run, runs.owner, runs.tenant FROM free CROSS JOIN runs ON runs.owner IS free.owner
      WHERE runs.status IN ('pending', 'running')
    UNION
    SELECT runs.id, runs.run, runs.owner, runs.tenant FROM free CROSS JOIN runs ON runs.owner IS free.owner
      WHERE runs.status = 'suspended' AND runs.due <= :now
    UNION
    SELECT runs.id, runs.run, runs.owner, runs.tenant FROM mail JOIN runs ON runs.id = mail.run
      WHERE runs.owner IS NULL OR runs.owner IN (SELECT owner FROM free)
  ) WHERE run NOT IN (SELECT value FROM json_each(:except)) AND (:tenant IS NULL OR tenant = :tenant)
  ORDER BY 1 LIMIT :limit`;

const SQL = {
  find: 'SELECT id, until, term, fenced, process FROM workers WHERE worker = ?',
  all: 'SELECT id, until, term, fenced, process FROM workers',
  join: 'INSERT INTO workers (worker, until, term, process) VALUES (?, ?, ?, ?)',
  renew: 'UPDATE workers SET until = ?, term = ? WHERE id = ?',
  leave: 'DELETE FROM workers WHERE id = ?',
  removeGone: `DELETE FROM workers WHERE (until < :elapsed - :keep OR until > :elapsed + term)
    AND NOT EXISTS (SELECT 1 FROM runs WHERE owner = workers.id)`,
  fence: 'UPDATE workers SET fenced = 1 WHERE id = ?',
  release: 'UPDATE runs SET owner = NULL WHERE run = ? AND owner = ?',
  releaseAll: 'UPDATE runs SET owner = NULL WHERE owner = ?',
  unknownOwners: `SELECT DISTINCT owner FROM runs WHERE owner IS NOT NULL
    AND NOT EXISTS (SELECT 1 FROM workers WHERE workers.id = runs.owner)`,
  setOwner: 'UPDATE runs SET owner = ? WHERE id = ?',
  claimable: CLAIMABLE,
  claimableByName: `SELECT id, run, owner FROM runs
    WHERE run = :run AND (owner IS NULL OR owner = :self OR owner IN (SELECT value FROM json_each(:gone)))`,
} as const;

type LeaseRow = readonly [id: number, until: number, term: number, fenced: number, process: string | null];

function toLease([id, until, term, fenced, process]: LeaseRow): WorkerLease<number> {
  return { id, until, term, fenced: fenced !== 0, process };
}
