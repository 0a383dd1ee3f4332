/** The list of runs, and the removal of old runs. */
import type { RunId } from '@sluice-internal/kernel/ir';
import type { Index, RunEntry, Tombstone } from '@sluice-internal/engine/ports';
import { linkTombstone } from '@sluice-internal/engine/journal';
import type { Connection } from './connection.ts';
import { isIntact, readRow, SELECT_SEALED, weightOf, weightOfHash, weightOfTombstone } from './sealed-run.ts';
import type { SealedRow } from './sealed-run.ts';
import type { Seals } from './seals.ts';

/** The latest run first. */
export function createEntries(connection: Connection): Pick<Index, 'list' | 'find'> {
  const { prepare } = connection;
  const one = prepare(`${SELECT_ENTRY} WHERE runs.run = ?`);
  const all = prepare(`${SELECT_ENTRY} ORDER BY runs.id DESC LIMIT ?`);
  const some = prepare(
    `${SELECT_ENTRY} WHERE runs.status IN (SELECT value FROM json_each(?)) ORDER BY runs.id DESC LIMIT ?`,
  );
  return {
    find: async (run) =>
      connection.read(() => {
        const row = one.get(run) as unknown as EntryRow | undefined;
        return row === undefined ? null : toEntry(row);
      }),
    list: async (filter = {}) =>
      connection.read(() => {
        const limit = filter.limit ?? -1;
        const rows = filter.status === undefined ? all.all(limit) : some.all(JSON.stringify(filter.status), limit);
        return (rows as unknown as EntryRow[]).map(toEntry);
      }),
  };
}

/**
 * Removes ended runs. A tombstone keeps the id, the length and the last hash of each. A run whose entry or journal was changed
 * from outside stays, so that the audit finds it.
 */
export function createRetain(
  connection: Connection,
  seals: Seals,
): Pick<Index, 'expired' | 'remove' | 'removed' | 'tombstones'> {
  const { prepare } = connection;
  const readHead = prepare('SELECT tombstones FROM store');
  const all = prepare(`${SELECT_TOMBSTONE} ORDER BY number`);
  const one = prepare(`${SELECT_TOMBSTONE} WHERE run = ?`);
  const remove = createRemove(connection, seals);

  return {
    tombstones: async () =>
      connection.read(() => {
        const [head] = readHead.get() as unknown as [string];
        return { list: (all.all() as unknown as TombstoneRow[]).map(toTombstone), head };
      }),
    removed: async (run) =>
      connection.read(() => {
        const row = one.get(run) as unknown as TombstoneRow | undefined;
        return row === undefined ? null : toTombstone(row);
      }),
    expired: createExpired(connection),
    remove: async (runs, files) => connection.write(() => remove(runs, files)),
  };
}

type Files = ReadonlyMap<RunId, string>;

function createRemove(connection: Connection, seals: Seals): (runs: readonly RunId[], files?: Files) => RunId[] {
  const { known, graphs, prepare } = connection;
  const find = prepare(`${SELECT_SEALED} WHERE runs.run = ? AND runs.${HAS_ENDED}`);
  const readHead = prepare('SELECT tombstones FROM store');
  const insert = prepare(
    'INSERT INTO tombstones (id, run, events, hash, at, tenant, file, link) VALUES (?, ?, ?, ?, ?, ?, ?, ?)',
  );
  const mailOf = prepare('SELECT id, hash FROM mail WHERE run = ?');
  const removals = ['log', 'blobs', 'snapshots', 'checkpoints', 'mail', 'runs'].map((table) =>
    prepare(`DELETE FROM ${table} WHERE ${table === 'runs' ? 'id' : 'run'} = ?`),
  );
  const removeFlow = prepare(
    'DELETE FROM flows WHERE hash = ? AND NOT EXISTS (SELECT 1 FROM runs WHERE graph = flows.id)',
  );
  const removeOne = (run: RunId, file: string | null): boolean => {
    const row = find.get(run) as unknown as SealedRow | undefined;
    const read = row === undefined ? null : readRow(row);
    if (read === null || !isIntact(seals.store, read)) return false;
    const { id, seal, sealed } = read;
    const [head] = readHead.get() as unknown as [string];
    const { events, head: hash, tenant } = sealed;
    const tombstone = { run, events, hash, at: Date.now(), tenant, file };
    const link = linkTombstone(head, tombstone);
    insert.run(id, run, events, hash, tombstone.at, tenant, file, link);
    seals.setLink('tombstones', link);
    seals.change(run, weightOfTombstone([id, link]) - weightOfHash(seal));
    for (const [, hashed] of mailOf.all(id) as unknown as [number, string][])
      seals.changeMail(-weightOf('mail', hashed));
    for (const removal of removals) removal.run(id);
    removeFlow.run(sealed.graph);
    known.delete(run);
    graphs.clear();
    return true;
  };
  return (runs, files) => runs.filter((run) => removeOne(run, files?.get(run) ?? null));
}

const SELECT_TOMBSTONE = 'SELECT run, events, hash, at, tenant, file, link FROM tombstones';
type TombstoneRow = readonly [
  run: RunId,
  events: number,
  hash: string,
  at: number,
  tenant: string | null,
  file: string | null,
  link: string,
];

function toTombstone([run, events, hash, at, tenant, file, link]: TombstoneRow): Tombstone {
  return { run, events, hash, at, tenant, file, link };
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

const SELECT_ENTRY = `
  SELECT runs.run, runs.flow, coalesce(flows.hash, ''), runs.notation, runs.status, runs.code, runs.started_at, runs.updated_at, runs.due, workers.worker,
    runs.tenant, runs.user, runs.parent
  FROM runs LEFT JOIN flows ON flows.id = runs.graph LEFT JOIN workers ON workers.id = runs.owner`;

type EntryRow = readonly [
  run: string,
  flow: string,
  hash: string,
  notation: string,
  status: RunEntry['status'],
  code: RunEntry['code'],
  startedAt: number,
  updatedAt: number,
  due: number | null,
  owner: string | null,
  tenant: string | null,
  user: string | null,
  parent: string | null,
];

function toEntry(row: EntryRow): RunEntry {
  const [run, flow, hash, notation, status, code, startedAt, updatedAt, due, owner, tenant, user, parent] = row;
  return { run, flow, hash, notation, status, code, startedAt, updatedAt, due, owner, tenant, user, parent };
}
