/**
 * Who works on which run. A run of a worker that fell silent, or whose process is certainly dead, is taken over in the same
 * transaction that fences that worker: should it wake up later, it finds its lease gone before it can write or act.
 */
import type { RunId } from '../../ir/events.ts';
import { holderHere, isDead } from '../process-owner.ts';
import type { Roster } from '../../runtime/ports.ts';
import type { Connection } from './connection.ts';

type Leases = Pick<Roster, 'renew' | 'claim' | 'release' | 'resign'>;

/** How long we remember workers that are gone; by then even a process that was asleep has stopped asking. */
const REMEMBER_MS = 7 * 24 * 3600 * 1000;

export function createLeases(connection: Connection, flush: () => void): Leases {
  const { known, leases, prepare } = connection;
  const find = prepare('SELECT id, until, fenced FROM workers WHERE worker = ?');
  const join = prepare('INSERT INTO workers (worker, until, holder) VALUES (?, ?, ?)');
  const others = prepare(
    'SELECT id, holder FROM workers WHERE id <> ? AND fenced = 0 AND until > ? AND holder NOT NULL',
  );
  const renew = prepare('UPDATE workers SET until = ? WHERE id = ?');
  const leave = prepare('DELETE FROM workers WHERE id = ?');
  const forget = prepare(
    'DELETE FROM workers WHERE until < ? AND NOT EXISTS (SELECT 1 FROM runs WHERE owner = workers.id)',
  );
  const fence = prepare('UPDATE workers SET fenced = 1 WHERE id = ?');
  const free = prepare('UPDATE runs SET owner = NULL WHERE run = ? AND owner = ?');
  const freeAll = prepare('UPDATE runs SET owner = NULL WHERE owner = ?');
  const take = prepare('UPDATE runs SET owner = ? WHERE id = ?');
  const named = prepare(
    `SELECT runs.id, runs.run, runs.owner FROM runs LEFT JOIN workers ON workers.id = runs.owner
     WHERE runs.run = ? AND (runs.owner IS NULL OR runs.owner = ? OR workers.fenced = 1 OR workers.until <= ?)`,
  );
  const needy = prepare(NEEDY);
  const shutOut = (number: number): void => {
    fence.run(number);
    leases.clear();
  };
  const worker = (id: string): readonly [id: number, until: number, fenced: number] | undefined =>
    find.get(id) as [number, number, number] | undefined;

  return {
    renew: async (id, now, until) =>
      connection.write(() => {
        const found = worker(id);
        if (found === undefined) {
          forget.run(now - REMEMBER_MS);
          join.run(id, until, holderHere());
          return true;
        }
        if (found[2] !== 0) return false;
        renew.run(until, found[0]);
        return true;
      }),

    claim: async (id, now, what) =>
      connection.write(() => {
        const found = worker(id);
        if (found === undefined || found[2] !== 0 || found[1] <= now) return [];
        const self = found[0];
        for (const [other, holder] of others.all(self, now) as unknown as [number, string][])
          if (isDead(holder)) shutOut(other);
        const rows = 'run' in what ? named.all(what.run, self, now) : needy.all({ now, limit: what.limit });
        return (rows as unknown as [number, RunId, number | null][]).map(([number, run, owner]) => {
          if (owner !== null && owner !== self) shutOut(owner);
          take.run(self, number);
          known.delete(run);
          return run;
        });
      }),

    release: async (id, runs) => {
      flush();
      connection.write(() => {
        const found = worker(id);
        if (found === undefined) return;
        for (const run of runs) {
          free.run(run, found[0]);
          known.delete(run);
        }
      });
    },

    resign: async (id) => {
      flush();
      connection.write(() => {
        const found = worker(id);
        if (found === undefined) return;
        known.clear();
        leases.clear();
        freeAll.run(found[0]);
        leave.run(found[0]);
      });
    },
  };
}

/** Runs in nobody's hands that are under way, due, or have mail; in the order in which they were started. */
export const NEEDY = `
  WITH gone (id) AS MATERIALIZED (SELECT NULL UNION ALL SELECT id FROM workers WHERE fenced = 1 OR until <= :now)
  SELECT runs.id, runs.run, runs.owner FROM gone CROSS JOIN runs ON runs.owner IS gone.id
    WHERE runs.status IN ('pending', 'running')
  UNION
  SELECT runs.id, runs.run, runs.owner FROM gone CROSS JOIN runs ON runs.owner IS gone.id
    WHERE runs.status = 'suspended' AND runs.due <= :now
  UNION
  SELECT runs.id, runs.run, runs.owner FROM mail JOIN runs ON runs.id = mail.run
    WHERE runs.owner IS NULL OR runs.owner IN (SELECT id FROM gone)
  ORDER BY 1 LIMIT :limit`;
