/** The roster as a list, the latest run first. */
import type { Roster, RunEntry } from '../../runtime/ports.ts';
import type { Connection } from './connection.ts';

export function createEntries(connection: Connection): Pick<Roster, 'list' | 'find'> {
  const { prepare } = connection;
  const one = prepare(`${SELECT} WHERE runs.run = ?`);
  const all = prepare(`${SELECT} ORDER BY runs.id DESC LIMIT ?`);
  const some = prepare(`${SELECT} WHERE runs.status IN (SELECT value FROM json_each(?)) ORDER BY runs.id DESC LIMIT ?`);
  return {
    find: async (run) =>
      connection.read(() => {
        const row = one.get(run) as unknown as Row | undefined;
        return row === undefined ? null : toEntry(row);
      }),
    list: async (filter = {}) =>
      connection.read(() => {
        const limit = filter.limit ?? -1;
        const rows = filter.status === undefined ? all.all(limit) : some.all(JSON.stringify(filter.status), limit);
        return (rows as unknown as Row[]).map(toEntry);
      }),
  };
}

const SELECT = `
  SELECT runs.run, runs.flow, flows.hash, runs.notation, runs.status, runs.code, runs.started_at, runs.updated_at, runs.due, workers.worker
  FROM runs JOIN flows ON flows.id = runs.graph LEFT JOIN workers ON workers.id = runs.owner`;

type Row = readonly [
  string,
  string,
  string,
  string,
  RunEntry['status'],
  RunEntry['code'],
  number,
  number,
  number | null,
  string | null,
];

function toEntry([run, flow, hash, notation, status, code, startedAt, updatedAt, due, owner]: Row): RunEntry {
  return { run, flow, hash, notation, status, code, startedAt, updatedAt, due, owner };
}
