/** The removal of old runs. */
import type { RunId } from '@sluice-internal/kernel/ir';
import type { Index } from '@sluice-internal/engine/ports';
import { linkTombstone } from '@sluice-internal/engine/journal';
import type { Connection } from './connection.ts';
import type { Heads } from './heads.ts';
import { isIntact, readRow, SELECT_LISTED } from './listing.ts';
import type { ListedRow } from './listing.ts';

/**
 * Removes ended runs. A tombstone keeps the id, the length and the last hash of each. A run whose entry or journal was changed
 * from outside stays, so that the audit finds it.
 */
export function createRetain(connection: Connection, heads: Heads): Pick<Index, 'expired' | 'remove'> {
  const remove = createRemove(connection, heads);

  return {
    expired: createExpired(connection),
    remove: async (runs, files) => connection.write(() => remove(runs, files)),
  };
}

type Files = ReadonlyMap<RunId, string>;

function createRemove(connection: Connection, heads: Heads): (runs: readonly RunId[], files?: Files) => RunId[] {
  const { known, graphs, prepare } = connection;
  const find = prepare(`${SELECT_LISTED} WHERE runs.run = ? AND runs.${HAS_ENDED}`);
  const readHead = prepare('SELECT tombstones FROM store');
  const insert = prepare(
    'INSERT INTO tombstones (id, run, events, hash, at, tenant, file, link) VALUES (?, ?, ?, ?, ?, ?, ?, ?)',
  );
  const mailOf = prepare('SELECT id, posted FROM mail WHERE run = ?');
  const removals = ['log', 'blobs', 'snapshots', 'checkpoints', 'mail', 'run_facts', 'questions', 'runs'].map((table) =>
    prepare(`DELETE FROM ${table} WHERE ${table === 'runs' ? 'id' : 'run'} = ?`),
  );
  const removeFlow = prepare(
    'DELETE FROM flows WHERE hash = ? AND NOT EXISTS (SELECT 1 FROM runs WHERE graph = flows.id)',
  );
  const removeOne = (run: RunId, file: string | null): boolean => {
    const row = find.get(run) as unknown as ListedRow | undefined;
    const read = row === undefined ? null : readRow(row, connection.codec, heads.store);
    if (read === null || !isIntact(heads.store, read) || !heads.isNamed(read.id, read.end)) return false;
    const { id, listing, end } = read;
    const [last] = readHead.get() as unknown as [string];
    const { events, head: hash } = end;
    const { tenant, graph } = listing;
    const tombstone = { run, events, hash, at: Date.now(), tenant, file };
    const link = linkTombstone(last, tombstone);
    insert.run(id, run, events, hash, tombstone.at, tenant, file, link);
    heads.gone(id, link);
    for (const [letter, at] of mailOf.all(id) as unknown as [number, number][])
      if (heads.wasPosted(letter, at)) heads.done(letter);
    for (const removal of removals) removal.run(id);
    removeFlow.run(graph);
    known.delete(run);
    graphs.clear();
    return true;
  };
  return (runs, files) => runs.filter((run) => removeOne(run, files?.get(run) ?? null));
}

function createExpired(connection: Connection): Index['expired'] {
  const finding = (scope: string) => ({
    beyond: connection.prepare(
      `SELECT run FROM runs WHERE ${scope} AND ${HAS_ENDED} ORDER BY started_at, id
       LIMIT max(0, (SELECT count(*) FROM runs WHERE ${scope}) - ?3)`,
    ),
    old: connection.prepare(
      `SELECT run FROM runs WHERE ${scope} AND ${HAS_ENDED} AND updated_at < ?3 ORDER BY started_at, id`,
    ),
  });
  const ofNotation = finding('notation = ?1 AND ?2 IS NULL');
  const ofFlow = finding('flow = ?1 AND tenant IS ?2');
  return async (of, { runs, endedBefore }) =>
    connection.read(() => {
      const { beyond, old } = 'flow' in of ? ofFlow : ofNotation;
      const scope = 'flow' in of ? [of.flow, of.tenant] : [of.notation, null];
      const above = runs === undefined ? [] : beyond.all(...scope, runs);
      const late = endedBefore === undefined ? [] : old.all(...scope, endedBefore);
      return [...new Set([...above, ...late].map((row) => (row as unknown as [RunId])[0]))];
    });
}

const HAS_ENDED = `status IN ('completed', 'failed', 'cancelled')`;
