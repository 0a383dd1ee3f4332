/** The removal of old runs, the details of a run made again, and the compaction of the chains of heads. */
import { linkTombstone } from '@sluice-internal/engine/journal';
import type { Index, RunDetails } from '@sluice-internal/engine/ports';
import type { RunId } from '@sluice-internal/kernel/ir';
import { createAudit, isIntact } from './audit.ts';
import { SLOW_MS } from './database.ts';
import type { Database, Query } from './database.ts';
import { headIn } from './lane.ts';
import type { Head, Lane, Place } from './lane.ts';
import { HAS_ENDED } from './lists.ts';
import { hashDetails, valuesOf } from './segments.ts';

/**
 * Removes ended runs, each in a transaction of its own. A tombstone keeps the id, the length and the last hash. A run whose entry or
 * journal was changed from outside stays, so that the audit finds it.
 */
export function createRetain(database: Database, lane: Lane): Pick<Index, 'remove' | 'describe'> {
  return {
    remove: async (runs, files) => {
      await database.ready();
      const removed: RunId[] = [];
      for (const run of runs) {
        const { head } = await lane.record((place) =>
          database.transaction((query) => removeOne(query, database.id, place, run, files?.get(run) ?? null), SLOW_MS),
        );
        if (head !== null) removed.push(run);
      }
      return removed;
    },
    describe: async (run, details) => {
      await database.ready();
      const { head } = await lane.record((place) =>
        database.transaction((query) => describe(query, database.id, place, run, details)),
      );
      return head !== null;
    },
  };
}

interface Removed {
  readonly id: number;
  readonly events: number;
  readonly head: string;
  readonly tenant: string | null;
  readonly graph: number;
  readonly last: string;
  readonly at: number;
}

const NONE = { head: null };

async function removeOne(
  query: Query,
  store: string,
  place: Place,
  run: RunId,
  file: string | null,
): Promise<{ readonly head: Head | null }> {
  const [row] = await query<Removed>(
    `SELECT r.id, e.events, e.head, r.tenant, r.graph, s.tombstones AS last, (extract(epoch FROM clock_timestamp()) * 1000)::bigint AS at
     FROM @store s, @runs r JOIN @ends e ON e.run = r.id WHERE r.run = $1 AND r.${HAS_ENDED} FOR UPDATE OF s, r`,
    [run],
  );
  if (row === undefined || !(await isIntact(query, store, run))) return NONE;
  const { id, events, head: hash, tenant, graph, last, at } = row;
  const link = linkTombstone(last, { run, events, hash, at, tenant, file });
  await query(
    `INSERT INTO @tombstones (number, id, run, events, hash, at, link, tenant, file)
     SELECT coalesce(max(number), 0) + 1, $1::bigint, $2, $3::bigint, $4, $5::bigint, $6, $7, $8 FROM @tombstones`,
    [id, run, events, hash, at, link, tenant, file],
  );
  await query('UPDATE @store SET tombstones = $1', [link]);
  const letters = await query<{ id: number }>(
    `DELETE FROM @mail m USING @heads h WHERE m.run = $1 AND h.chain = m.chain AND h.number = m.number
       AND strpos(h.body, '[' || m.id || ',"') > 0 RETURNING m.id`,
    [id],
  );
  for (const table of ['log', 'blobs', 'snapshots', 'checkpoints', 'mail', 'run_facts', 'questions'])
    await query(`DELETE FROM @${table} WHERE run = $1`, [id]);
  await query('DELETE FROM @runs WHERE id = $1', [id]);
  await query('DELETE FROM @flows WHERE id = $1 AND NOT EXISTS (SELECT 1 FROM @runs WHERE graph = $1)', [graph]).catch(
    () => undefined,
  );
  const done = letters.length === 0 ? '' : `,"done":[${letters.map((letter) => letter.id).join(',')}]`;
  return recorded(query, place, `,"gone":[[${id},${JSON.stringify(link)}]]${done}`);
}

/** Replaces the details of a run. Nothing happens if they were the same, or if another part of the run was changed from outside. */
async function describe(
  query: Query,
  store: string,
  place: Place,
  run: RunId,
  details: RunDetails,
): Promise<{ readonly head: Head | null }> {
  const [row] = await query<{ id: number; details: string; intact: boolean; shown: boolean }>(
    `SELECT r.id, r.details, e.listing = @listing($2, r, f.hash) AS intact
     FROM @runs r JOIN @ends e ON e.run = r.id LEFT JOIN @flows f ON f.id = r.graph WHERE r.run = $1 FOR UPDATE OF e, r`,
    [run, store],
  );
  if (row === undefined || !row.intact) return NONE;
  if (row.details === hashDetails(details) && (await isIntact(query, store, run))) return NONE;
  const append = {
    run,
    after: 1,
    count: 1,
    at: 0,
    body: '',
    hash: '',
    blobs: [],
    entry: null,
    flow: null,
    snapshot: null,
    details,
  };
  const [, , , more] = valuesOf([{ worker: '', appends: [append], at: [0], size: 0 }]);
  await query('SELECT @store_more(NULL, ARRAY[0], ARRAY[$1::bigint], $2::json)', [row.id, more]);
  const [end] = await query<{ record: string }>(
    `UPDATE @ends e SET listing = @listing($2, r, f.hash) FROM @runs r LEFT JOIN @flows f ON f.id = r.graph WHERE e.run = $1 AND r.id = $1
     RETURNING format('[%s,%s,%s,%s,%s,%s]', e.run, to_json(e.name), e.events, to_json(e.head), e.signed, to_json(e.listing)) AS record`,
    [row.id, store],
  );
  const made = await recorded(query, place, `,"runs":[${end?.record ?? ''}]`);
  await query('UPDATE @ends SET chain = $2, number = $3 WHERE run = $1', [row.id, made.head?.chain, made.head?.number]);
  return made;
}

async function recorded(query: Query, place: Place, records: string): Promise<{ readonly head: Head | null }> {
  const [row] = await query<{ r: Head | null }>('SELECT @head($1, $2, $3, $4) AS r', [...place, records]);
  return { head: headIn(row?.r as never) };
}

/** Puts one row in the place of all others. The rows of a database that was changed from outside stay: they show what was changed. */
export async function compactHeads(database: Database): Promise<void> {
  const audit = createAudit(database);
  await database.transaction(async (query) => {
    await query('LOCK TABLE @heads IN SHARE ROW EXCLUSIVE MODE');
    const folded = await audit.fold(query);
    if (typeof folded === 'string') return;
    const { head } = await recorded(query, [null, 1, ''], folded.records());
    const at = [head?.chain, head?.number];
    await query('UPDATE @ends SET chain = $1, number = $2', at);
    await query('UPDATE @mail SET chain = $1, number = $2', at);
    await query('DELETE FROM @heads WHERE NOT (chain = $1 AND number = $2)', at);
  }, SLOW_MS);
}
