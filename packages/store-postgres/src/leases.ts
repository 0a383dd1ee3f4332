/**
 * Leases in Postgres. The server's clock measures them, so no clock of a worker matters. A claim reads the workers without a lock first,
 * because most find nothing; then one function takes the runs, one claim at a time.
 */
import { KEEP_GONE_WORKERS_MS, planClaim, thisProcess } from '@sluice-internal/engine/ports';
import type { Leases, StoreClock, WorkerId, WorkerLease } from '@sluice-internal/engine/ports';
import type { RunId } from '@sluice-internal/kernel/ir';
import type { Database } from './database.ts';

interface Options {
  /** Instead of the clock of the server. */
  readonly clock: StoreClock | undefined;
  /** Resolves when all commits that were asked for are stored. */
  readonly flush: () => Promise<void>;
  /** Other workers may take runs now. */
  readonly onReleased: (runs: readonly RunId[]) => void;
}

export function createLeases(database: Database, { clock, flush, onReleased }: Options): Leases {
  const times = (): readonly (number | null)[] =>
    clock === undefined ? [null, null] : [clock.now(), Math.floor(clock.elapsed())];
  return {
    renew: async (worker, termMs) => {
      const term = Math.ceil(termMs);
      const values = [worker, term, thisProcess(), KEEP_GONE_WORKERS_MS, ...times()];
      const [row] = await database.query<{ now: number; fenced: boolean }>(RENEW, values);
      return row === undefined || row.fenced ? null : row.now;
    },
    claim: async (worker, which) => {
      const look = await lookAt(database, worker, which, times());
      return look === null ? [] : take(database, worker, which, look);
    },
    release: async (worker, runs) => {
      await flush();
      const released = await database.query<{ run: RunId }>(
        `UPDATE @runs SET owner = NULL WHERE run = ANY ($1) AND owner = (SELECT id FROM @workers WHERE worker = $2) RETURNING run`,
        [runs, worker],
      );
      if (released.length > 0) onReleased(released.map(({ run }) => run));
    },
    resign: async (worker) => {
      await flush();
      const released = await database.transaction(async (query) => {
        const rows = await query<{ run: RunId }>(
          'UPDATE @runs SET owner = NULL WHERE owner = (SELECT id FROM @workers WHERE worker = $1) RETURNING run',
          [worker],
        );
        await query('DELETE FROM @workers WHERE worker = $1', [worker]);
        return rows.map(({ run }) => run);
      });
      if (released.length > 0) onReleased(released);
    },
  };
}

interface Look {
  readonly plan: NonNullable<ReturnType<typeof planClaim<number>>>;
  readonly untils: ReadonlyMap<number, number>;
  readonly now: number;
  readonly elapsed: number;
}
interface LookRow {
  readonly leases: readonly (WorkerLease<number> & { readonly worker: WorkerId; readonly owns: boolean })[] | null;
  readonly free: boolean;
  readonly now: number;
  readonly elapsed: number;
}

/** Null if there is nothing to claim. */
async function lookAt(
  database: Database,
  worker: WorkerId,
  which: Parameters<Leases['claim']>[1],
  times: readonly (number | null)[],
): Promise<Look | null> {
  const [row] = await database.query<LookRow>('run' in which ? LOOK_AT_WORKERS : LOOK, [...times]);
  const { leases, free, now, elapsed } = row ?? { leases: null, free: false, now: 0, elapsed: 0 };
  const self = leases?.find((lease) => lease.worker === worker);
  if (leases === null || self === undefined) return null;
  const plan = planClaim(leases, self.id, elapsed);
  if (plan === null) return null;
  const isGone = (id: number): boolean => plan.gone.includes(id);
  const isIdle = !free && plan.fence.length === 0 && !leases.some(({ id, owns }) => owns && isGone(id));
  if (!('run' in which) && isIdle) return null;
  return { plan, untils: new Map(leases.map(({ id, until }) => [id, until])), now, elapsed };
}

async function take(
  database: Database,
  worker: WorkerId,
  which: Parameters<Leases['claim']>[1],
  { plan: { gone, fence }, untils, now, elapsed }: Look,
): Promise<readonly RunId[]> {
  const filter =
    'run' in which ? [which.run, null, [], null] : [null, which.limit, which.except ?? [], which.tenant ?? null];
  const [row] = await database.query<{ runs: readonly RunId[] }>(
    'SELECT @claim($1, $2::bigint[], $3::bigint[], $4::bigint[], $5, $6, $7::text[], $8, $9, $10) AS runs',
    [worker, gone, gone.map((id) => untils.get(id)), fence, ...filter, now, elapsed],
  );
  return row?.runs ?? [];
}

const NOW = '(extract(epoch FROM clock_timestamp()) * 1000)::bigint';

/** One statement. A fenced worker stays fenced; workers that ended long ago and own nothing are removed when another one joins. */
const RENEW = `
  WITH renewed AS (
    UPDATE @workers SET until = coalesce($6::bigint, ${NOW}) + $2, term = $2 WHERE worker = $1 AND NOT fenced RETURNING id
  ), known AS (SELECT id, fenced FROM @workers WHERE worker = $1),
  cleaned AS (
    DELETE FROM @workers w WHERE NOT EXISTS (SELECT 1 FROM known) AND NOT EXISTS (SELECT 1 FROM @runs r WHERE r.owner = w.id)
      AND (w.until < coalesce($6::bigint, ${NOW}) - $4::bigint OR w.until > coalesce($6::bigint, ${NOW}) + w.term)
  ), joined AS (
    INSERT INTO @workers (worker, until, term, process) SELECT $1, coalesce($6::bigint, ${NOW}) + $2, $2, $3
      WHERE NOT EXISTS (SELECT 1 FROM known) ON CONFLICT DO NOTHING RETURNING id
  )
  SELECT coalesce($5::bigint, ${NOW}) AS now,
    NOT EXISTS (SELECT 1 FROM renewed) AND NOT EXISTS (SELECT 1 FROM joined) AS fenced`;

const LEASES = `(SELECT json_agg(json_build_object('id', w.id, 'worker', w.worker, 'until', w.until, 'term', w.term, 'fenced', w.fenced,
    'process', w.process, 'owns', EXISTS (SELECT 1 FROM @runs r WHERE r.owner = w.id AND r.status IN ('pending', 'running', 'suspended'))))
    FROM @workers w) AS leases`;
const TIMES = `coalesce($1::bigint, ${NOW}) AS now, coalesce($2::bigint, ${NOW}) AS elapsed`;

const LOOK_AT_WORKERS = `SELECT ${LEASES}, true AS free, ${TIMES}`;

const LOOK = `SELECT ${LEASES}, ${TIMES},
  EXISTS (SELECT 1 FROM @runs r WHERE r.owner IS NULL AND r.status IN ('pending', 'running'))
  OR EXISTS (SELECT 1 FROM @runs r WHERE r.owner IS NULL AND r.status = 'suspended' AND r.due <= coalesce($1::bigint, ${NOW}))
  OR EXISTS (SELECT 1 FROM @mail m JOIN @runs r ON r.id = m.run LEFT JOIN @workers w ON w.id = r.owner
    WHERE w.id IS NULL OR w.fenced OR w.until <= coalesce($2::bigint, ${NOW}) OR w.until > coalesce($2::bigint, ${NOW}) + w.term)
  OR EXISTS (SELECT 1 FROM @runs r WHERE r.owner IS NOT NULL AND r.status IN ('pending', 'running', 'suspended')
    AND NOT EXISTS (SELECT 1 FROM @workers w WHERE w.id = r.owner)) AS free`;
