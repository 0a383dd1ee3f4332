/** The list of runs, their mail, and the removal of old runs. */
import type { RunId } from '../../ir/events.ts';
import { SluiceError } from '../../runtime/errors.ts';
import type { Mail, Roster, RunEntry } from '../../runtime/ports.ts';
import { linkTombstone } from '../../runtime/journal/chain.ts';
import { hashMail, readMail } from '../mail.ts';
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

export function createMail(connection: Connection, store: string): Pick<Roster, 'post' | 'mail' | 'deleteMail'> {
  const { prepare } = connection;
  const insert = prepare('INSERT INTO mail (run, fact, hash) SELECT id, ?, ? FROM runs WHERE run = ?');
  const remove = prepare('DELETE FROM mail WHERE id = ?');
  const unread = prepare(
    `SELECT mail.id, runs.run, mail.fact, mail.hash FROM mail JOIN runs ON runs.id = mail.run JOIN workers ON workers.id = runs.owner
     WHERE workers.worker = ? AND workers.fenced = 0 ORDER BY mail.id`,
  );
  return {
    post: async (run, fact) =>
      connection.write(() => {
        const text = JSON.stringify(fact);
        const { changes } = insert.run(text, hashMail(store, run, text), run);
        if (changes === 0) throw new SluiceError('run-not-found', `there is no run \`${run}\``);
      }),
    mail: async (worker) =>
      connection.read(() =>
        (unread.all(worker) as unknown as [number, string, string, string][]).map(([id, run, fact, hash]): Mail => ({
          id,
          run,
          fact: readMail(store, run, fact, hash),
        })),
      ),
    deleteMail: async (ids) => {
      if (ids.length > 0) connection.write(() => ids.forEach((id) => remove.run(id)));
    },
  };
}

/** Removes ended runs. A tombstone keeps the id, the length and the last hash of each. */
export function createRetain(connection: Connection): Pick<Roster, 'retain' | 'expired' | 'remove' | 'tombstones'> {
  const { known, graphs, prepare } = connection;
  const beyond = prepare(
    `SELECT id, run, graph FROM runs WHERE notation = ?1 AND ${HAS_ENDED}
     ORDER BY started_at, id LIMIT max(0, (SELECT count(*) FROM runs WHERE notation = ?1) - ?2)`,
  );
  const lastAppend = prepare('SELECT after + count, hash FROM log WHERE run = ? ORDER BY after DESC LIMIT 1');
  const readHead = prepare('SELECT tombstones FROM store');
  const writeHead = prepare('UPDATE store SET tombstones = ?');
  const insert = prepare('INSERT INTO tombstones (id, run, events, hash, at, link) VALUES (?, ?, ?, ?, ?, ?)');
  const all = prepare('SELECT run, events, hash, at, link FROM tombstones ORDER BY number');
  const addTombstone = (id: number, run: RunId): void => {
    const [events, hash] = (lastAppend.get(id) ?? [0, '']) as unknown as [number, string];
    const [head] = readHead.get() as unknown as [string];
    const at = Date.now();
    const link = linkTombstone(head, { run, events, hash, at });
    insert.run(id, run, events, hash, at, link);
    writeHead.run(link);
  };
  const removals = ['log', 'blobs', 'snapshots', 'checkpoints', 'mail', 'runs'].map((table) =>
    prepare(`DELETE FROM ${table} WHERE ${table === 'runs' ? 'id' : 'run'} = ?`),
  );
  const removeFlow = prepare(
    'DELETE FROM flows WHERE id = ? AND NOT EXISTS (SELECT 1 FROM runs WHERE graph = flows.id)',
  );
  const remove = (rows: readonly DropRow[]): RunId[] => {
    for (const [id, run, graph] of rows) {
      addTombstone(id, run);
      for (const removal of removals) removal.run(id);
      removeFlow.run(graph);
      known.delete(run);
      graphs.clear();
    }
    return rows.map(([, run]) => run);
  };
  const named = prepare(`SELECT id, run, graph FROM runs WHERE run = ? AND ${HAS_ENDED}`);

  return {
    tombstones: async () =>
      connection.read(() => {
        const [head] = readHead.get() as unknown as [string];
        const rows = all.all() as unknown as [RunId, number, string, number, string][];
        return { list: rows.map(([run, events, hash, at, link]) => ({ run, events, hash, at, link })), head };
      }),
    retain: async (notation, keep) => {
      const find = (): DropRow[] => beyond.all(notation, keep) as unknown as DropRow[];
      // Most of the time there is nothing to remove, and a read takes no lock.
      if (connection.read(find).length === 0) return [];
      return connection.write(() => remove(find()));
    },
    expired: createExpired(connection),
    remove: async (runs) =>
      connection.write(() => remove(runs.flatMap((run) => named.all(run) as unknown as DropRow[]))),
  };
}

function createExpired(connection: Connection): Roster['expired'] {
  const beyond = connection.prepare(
    `SELECT run FROM runs WHERE flow = ?1 AND tenant IS ?2 AND ${HAS_ENDED} ORDER BY started_at, id
     LIMIT max(0, (SELECT count(*) FROM runs WHERE flow = ?1 AND tenant IS ?2) - ?3)`,
  );
  const old = connection.prepare(
    `SELECT run FROM runs WHERE flow = ? AND tenant IS ? AND ${HAS_ENDED} AND updated_at < ? ORDER BY started_at, id`,
  );
  return async ({ flow, tenant }, { runs, endedBefore }) =>
    connection.read(() => {
      const above = runs === undefined ? [] : beyond.all(flow, tenant, runs);
      const late = endedBefore === undefined ? [] : old.all(flow, tenant, endedBefore);
      return [...new Set([...above, ...late].map((row) => (row as unknown as [RunId])[0]))];
    });
}

const HAS_ENDED = `status IN ('completed', 'failed', 'cancelled')`;

const SELECT_ENTRY = `
  SELECT runs.run, runs.flow, flows.hash, runs.notation, runs.status, runs.code, runs.started_at, runs.updated_at, runs.due, workers.worker,
    runs.tenant, runs.user, runs.parent
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
  tenant: string | null,
  user: string | null,
  parent: string | null,
];

function toEntry(row: EntryRow): RunEntry {
  const [run, flow, hash, notation, status, code, startedAt, updatedAt, due, owner, tenant, user, parent] = row;
  return { run, flow, hash, notation, status, code, startedAt, updatedAt, due, owner, tenant, user, parent };
}

type DropRow = readonly [id: number, run: RunId, graph: number];
