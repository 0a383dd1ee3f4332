/** Values that all processes of a database share, and the acts of operators on them. Each change is one transaction. */
import type { Json } from '../../expr/json.ts';
import { linkAct } from '../../runtime/journal/chain.ts';
import type { OperatorAct, Shared } from '../../runtime/ports.ts';
import type { Connection } from './connection.ts';

export function createShared(connection: Connection): Shared {
  const statements = connection.prepareAll(SQL);
  const read = (key: string): Json => {
    const row = statements.get.get(key) as unknown as [string] | undefined;
    return row === undefined ? null : (JSON.parse(row[0]) as Json);
  };
  return {
    get: async (key) => connection.read(() => read(key)),
    update: async (key, change) =>
      connection.write(() => {
        const [value, result] = change(read(key));
        statements.set.run(key, JSON.stringify(value));
        return result;
      }),
    list: async (prefix) =>
      connection.read(() =>
        (statements.list.all(prefix, prefix) as unknown as [string, string][]).map(([key, value]) => ({
          key,
          value: JSON.parse(value) as Json,
        })),
      ),
    operate: async (act, change) =>
      connection.write(() => {
        const last = statements.lastAct.get() as unknown as [string] | undefined;
        statements.set.run(act.key, JSON.stringify(change(read(act.key))));
        statements.act.run(act.at, act.by, act.what, act.key, act.why, linkAct(last?.[0] ?? '', act));
      }),
    acts: async () => connection.read(() => (statements.acts.all() as unknown as ActRow[]).map(toAct)),
  };
}

type ActRow = [at: number, by: string, what: string, key: string, why: string, link: string];

function toAct([at, by, what, key, why, link]: ActRow): OperatorAct {
  return { at, by, what, key, why, link };
}

const SQL = {
  get: 'SELECT value FROM shared WHERE key = ?',
  set: 'INSERT INTO shared VALUES (?, ?) ON CONFLICT (key) DO UPDATE SET value = excluded.value',
  list: 'SELECT key, value FROM shared WHERE substr(key, 1, length(?)) = ? ORDER BY key',
  lastAct: 'SELECT link FROM acts ORDER BY number DESC LIMIT 1',
  act: 'INSERT INTO acts (at, who, what, key, why, link) VALUES (?, ?, ?, ?, ?, ?)',
  acts: 'SELECT at, who, what, key, why, link FROM acts ORDER BY number',
} as const;
