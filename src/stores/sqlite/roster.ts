/** The list of runs, their mail, and the removal of old runs. */
import type { RunId } from '../../ir/events.ts';
import { SluiceError } from '../../runtime/errors.ts';
import type { Mail, Roster, RunEntry } from '../../runtime/ports.ts';
import type { Connection } from './connection.ts';

/** The latest run first. */
export function createEntries(connection: Connection): Pick<Roster, 'list' | 'find'> {
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

export function createMail(connection: Connection): Pick<Roster, 'post' | 'mail' | 'deleteMail'> {
  const { prepare } = connection;
  const insert = prepare('INSERT INTO mail (run, fact) SELECT id, ? FROM runs WHERE run = ?');
  const remove = prepare('DELETE FROM mail WHERE id = ?');
  const unread = prepare(
    `SELECT mail.id, runs.run, mail.fact FROM mail JOIN runs ON runs.id = mail.run JOIN workers ON workers.id = runs.owner
     WHERE workers.worker = ? AND workers.fenced = 0 ORDER BY mail.id`,
  );
  return {
    post: async (run, fact) =>
      connection.write(() => {
        const { changes } = insert.run(JSON.stringify(fact), run);
        if (changes === 0) throw new SluiceError('run-not-found', `there is no run \`${run}\``);
      }),
    mail: async (worker) =>
      connection.read(() =>
        (unread.all(worker) as unknown as [number, string, string][]).map(([id, run, fact]) => ({
          id,
          run,
          fact: JSON.parse(fact) as Mail['fact'],
        })),
      ),
    deleteMail: async (ids) => {
      if (ids.length > 0) connection.write(() => ids.forEach((id) => remove.run(id)));
    },
  };
}

/** Removes ended runs. A tombstone keeps the id, the length and the last hash of each. */
export function createRetain(connection: Connection): Pick<Roster, 'retain'> {
  const { known, graphs, prepare } = connection;
  const beyond = prepare(
    `SELECT id, run, graph FROM runs WHERE notation = ?1 AND status IN ('completed', 'failed', 'cancelled')
     ORDER BY started_at, id LIMIT max(0, (SELECT count(*) FROM runs WHERE notation = ?1) - ?2)`,
  );
  const addTombstone = prepare(
    `INSERT INTO tombstones (id, run, events, hash, at)
     SELECT runs.id, runs.run, log.after + log.count, log.hash, CAST(unixepoch('subsec') * 1000 AS INTEGER)
     FROM runs JOIN log ON log.run = runs.id WHERE runs.id = ? ORDER BY log.after DESC LIMIT 1`,
  );
  const removals = ['log WHERE run', 'blobs WHERE run', 'snapshots WHERE run', 'mail WHERE run', 'runs WHERE id'].map(
    (place) => prepare(`DELETE FROM ${place} = ?`),
  );
  const removeFlow = prepare(
    'DELETE FROM flows WHERE id = ? AND NOT EXISTS (SELECT 1 FROM runs WHERE graph = flows.id)',
  );

  return {
    retain: async (notation, keep) => {
      const find = (): DropRow[] => beyond.all(notation, keep) as unknown as DropRow[];
      // Most of the time there is nothing to remove, and a read takes no lock.
      if (connection.read(find).length === 0) return [];
      return connection.write(() => {
        const rows = find();
        for (const [id, run, graph] of rows) {
          addTombstone.run(id);
          for (const removal of removals) removal.run(id);
          removeFlow.run(graph);
          known.delete(run);
          graphs.clear();
        }
        return rows.map(([, run]) => run);
      });
    },
  };
}

const SELECT_ENTRY = `
  SELECT runs.run, runs.flow, flows.hash, runs.notation, runs.status, runs.code, runs.started_at, runs.updated_at, runs.due, workers.worker
  FROM runs JOIN flows ON flows.id = runs.graph LEFT JOIN workers ON workers.id = runs.owner`;

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
];

function toEntry([run, flow, hash, notation, status, code, startedAt, updatedAt, due, owner]: EntryRow): RunEntry {
  return { run, flow, hash, notation, status, code, startedAt, updatedAt, due, owner };
}

type DropRow = readonly [id: number, run: RunId, graph: number];
