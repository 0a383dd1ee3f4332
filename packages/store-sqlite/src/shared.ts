/** Values that all processes of a database share, and the acts of operators on them. Each change is one transaction. */
import { parseJson } from '@sluice-internal/kernel/expr';
import type { Json } from '@sluice-internal/kernel/expr';
import { hashShared, linkAct } from '@sluice-internal/engine/journal';
import type { Cell, Cells, OperatorAct } from '@sluice-internal/engine/ports';
import type { Connection } from './connection.ts';
import type { Heads } from './heads.ts';

export function createShared(connection: Connection, heads: Heads): Cells {
  const { store } = heads;
  const statements = connection.prepareAll(SQL);
  /** A value that was changed from outside counts as absent. The hash of a value is its version. */
  const cellIn = (key: string, [text, hashed]: readonly [string, string]): Cell =>
    hashShared(store, key, text) === hashed ? { value: parseJson(text), version: hashed } : NO_VALUE;
  const read = (key: string): Cell => {
    const row = statements.get.get(key) as unknown as [string, string] | undefined;
    return row === undefined ? NO_VALUE : cellIn(key, row);
  };
  const put = (key: string, value: Json): void => {
    const text = JSON.stringify(value);
    const hashed = hashShared(store, key, text);
    const before = statements.get.get(key) as unknown as [string, string] | undefined;
    statements.set.run(key, text, hashed);
    heads.shared(key, hashed, before === undefined);
  };
  return {
    get: async (key) => connection.read(() => read(key)),
    swap: async (key, version, value, given) =>
      connection.write(() => {
        if (read(key).version !== version) return false;
        put(key, value);
        if (given === undefined) return true;
        const act = { ...given, key };
        const [last] = statements.head.get() as unknown as [string];
        const link = linkAct(last, act);
        statements.act.run(act.at, act.by, act.what, key, act.why, link);
        heads.act(link);
        return true;
      }),
    list: async (prefix, after = '', limit = -1) =>
      connection.read(() =>
        (statements.list.all(prefix, prefix, prefix, after, limit) as unknown as [string, string, string][])
          .map(([key, ...row]) => ({ key, ...cellIn(key, row) }))
          .filter(({ value }) => value !== null),
      ),
    integrity: async () =>
      connection.read(() => {
        const [head] = statements.head.get() as unknown as [string];
        const rows = statements.rows.all() as unknown as [string, string, string][];
        const changed = rows.filter(([key, value, hash]) => hashShared(store, key, value) !== hash);
        return { head, changed: changed.map(([key]) => key) };
      }),
    acts: async () => connection.read(() => (statements.acts.all() as unknown as ActRow[]).map(toAct)),
  };
}

const NO_VALUE: Cell = { value: null, version: '' };

type ActRow = [at: number, by: string, what: string, key: string, why: string, link: string];

function toAct([at, by, what, key, why, link]: ActRow): OperatorAct {
  return { at, by, what, key, why, link };
}

const SQL = {
  get: 'SELECT value, hash FROM shared WHERE key = ?',
  set: 'INSERT INTO shared VALUES (?, ?, ?) ON CONFLICT (key) DO UPDATE SET value = excluded.value, hash = excluded.hash',
  list: 'SELECT key, value, hash FROM shared WHERE key >= ? AND substr(key, 1, length(?)) = ? AND key > ? ORDER BY key LIMIT ?',
  rows: 'SELECT key, value, hash FROM shared ORDER BY key',
  head: 'SELECT acts FROM store',
  act: 'INSERT INTO acts (at, who, what, key, why, link) VALUES (?, ?, ?, ?, ?, ?)',
  acts: 'SELECT at, who, what, key, why, link FROM acts ORDER BY number',
} as const;
