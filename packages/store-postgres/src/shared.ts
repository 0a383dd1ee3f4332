/** Values that all processes of a database share, and the acts of operators on them. */
import { parseJson } from '@sluice-internal/kernel/expr';
import { hashShared, linkAct } from '@sluice-internal/engine/journal';
import type { Cell, Cells, OperatorAct } from '@sluice-internal/engine/ports';
import type { Database, Query } from './database.ts';
import { headIn } from './lane.ts';
import type { Head, Lane, Place } from './lane.ts';

interface Row {
  readonly key: string;
  readonly value: string;
  readonly hash: string;
}
interface Swap {
  readonly key: string;
  readonly version: string;
  readonly text: string;
  readonly act: (Omit<OperatorAct, 'key' | 'link'> & { readonly link: string }) | null;
}

export function createShared(database: Database, lane: Lane): Cells {
  /** A value that was changed from outside counts as absent. The hash of a value is its version. */
  const cellIn = ({ key, value, hash }: Row): Cell =>
    hashShared(database.id, key, value) === hash ? { value: parseJson(value), version: hash } : NO_VALUE;
  const read = async (key: string): Promise<Row | undefined> =>
    (await database.query<Row>('SELECT key, value, hash FROM @shared WHERE key = $1', [key]))[0];

  const swapIn = async (query: Query, place: Place, { key, version, text, act }: Swap, damaged: string | null) => {
    const hashed = hashShared(database.id, key, text);
    const given =
      act === null ? null : JSON.stringify({ at: act.at, who: act.by, what: act.what, why: act.why, link: act.link });
    const values = [...place, key, version, damaged, text, hashed, given];
    const [row] = await query<{ r: Head | null }>(SWAP, values);
    return { head: headIn(row?.r as never) };
  };
  const swapWithAct = (
    place: Place,
    swap: Omit<Swap, 'act'>,
    act: Omit<OperatorAct, 'key' | 'link'>,
    damaged: string | null,
  ) =>
    database.transaction(async (query) => {
      const [last] = await query<{ acts: string }>('SELECT acts FROM @store FOR UPDATE');
      const link = linkAct(last?.acts ?? '', { ...act, key: swap.key });
      return swapIn(query, place, { ...swap, act: { ...act, link } }, damaged);
    });
  const trySwap = async (
    swap: Omit<Swap, 'act'>,
    act: Omit<OperatorAct, 'key' | 'link'> | undefined,
    damaged: string | null,
  ) => {
    const { head } = await lane.record((place) =>
      act === undefined
        ? swapIn(database.query, place, { ...swap, act: null }, damaged)
        : swapWithAct(place, swap, act, damaged),
    );
    return head !== null;
  };
  return {
    get: async (key) => {
      const row = await read(key);
      return row === undefined ? NO_VALUE : cellIn(row);
    },
    swap: async (key, version, value, act) => {
      await database.ready();
      const swap = { key, version, text: JSON.stringify(value) };
      if (await trySwap(swap, act, null)) return true;
      const row = version === '' ? await read(key) : undefined;
      return row !== undefined && cellIn(row).version === '' && trySwap(swap, act, row.hash);
    },
    list: async (prefix, after = '', limit) => {
      const rows = await database.query<Row>(
        `SELECT key, value, hash FROM @shared WHERE starts_with(key, $1) AND key >= $1 AND key > $2 ORDER BY key LIMIT $3`,
        [prefix, after, limit ?? null],
      );
      return rows.map((row) => ({ key: row.key, ...cellIn(row) })).filter(({ value }) => value !== null);
    },
    ...createRecords(database),
  };
}

function createRecords(database: Database): Pick<Cells, 'integrity' | 'acts'> {
  return {
    integrity: async () => {
      const [store] = await database.query<{ acts: string }>('SELECT acts FROM @store');
      const rows = await database.query<Row>('SELECT key, value, hash FROM @shared ORDER BY key');
      const changed = rows.filter(({ key, value, hash }) => hashShared(database.id, key, value) !== hash);
      return { head: store?.acts ?? '', changed: changed.map(({ key }) => key) };
    },
    acts: () => database.query<OperatorAct>('SELECT at, who AS by, what, key, why, link FROM @acts ORDER BY number'),
  };
}

const NO_VALUE: Cell = { value: null, version: '' };
const SWAP = 'SELECT @swap($1, $2, $3, $4, $5, $6, $7, $8, $9::json) AS r';
