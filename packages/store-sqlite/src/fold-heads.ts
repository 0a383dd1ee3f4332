/** The audit of a store: folds all chains of heads, and compares what they record with the rows of the store. */
import { parseJson } from '@sluice-internal/kernel/expr';
import type { RunId } from '@sluice-internal/kernel/ir';
import { hashShared } from '@sluice-internal/engine/journal';
import { hashMail } from '@sluice-internal/engine/ports';
import type { Codec } from '@sluice-internal/engine/ports';
import type { Connection, Statements } from './connection.ts';
import { changedSchema, SELECT_PARTS } from './foreign-schema.ts';
import { hashHead } from './heads-row.ts';
import type { Folded, HeadsBody } from './heads-row.ts';
import { brokenRow, readRow, SELECT_LISTED } from './listing.ts';
import type { ListedRow } from './listing.ts';
import { placeOfLetter } from './places.ts';

/** The reason why the store was changed from outside, or what its chains record. */
export function createAudit(connection: Connection, store: string): () => string | Folded {
  const statements = connection.prepareAll(SQL);
  /** In a transaction of the caller. */
  return () => {
    const folded = fold(statements, store);
    if (typeof folded === 'string') return folded;
    const broken =
      brokenRuns(statements, store, folded, connection.codec) ??
      brokenTombstones(statements, folded) ??
      brokenMail(statements, store, folded, connection.codec) ??
      brokenValues(statements, store, folded) ??
      changedSchema(statements.parts);
    return broken ?? folded;
  };
}

type Rows = Statements<typeof SQL>;

function fold({ heads }: Rows, store: string): Folded | string {
  const last: Folded['last'] = new Map();
  const folded: Folded = { runs: new Map(), gone: new Map(), mail: new Map(), acts: [], shared: new Map(), last };
  for (const row of heads.iterate()) {
    const [id, chain, body, hashed] = row as unknown as [number, number, string, string];
    if (hashHead(store, id, chain, body) !== hashed) return CHANGED;
    const read = parseJson(body) as unknown as HeadsBody;
    // Only the first row of all can stand for deleted ones.
    if (last.size === 0) for (const [each, at, end] of read.cut ?? []) last.set(each, [at, end]);
    if (read.prev !== (last.get(chain)?.[1] ?? '')) return CHANGED;
    last.set(chain, [id, hashed]);
    take(folded, read, id);
  }
  return folded;
}
const CHANGED = 'the chains of heads were changed';

function take(folded: Folded, body: HeadsBody, at: number): void {
  const { gone, mail, acts, shared } = folded;
  takeRuns(folded, body, at);
  for (const [id, hashed] of body.posted ?? []) mail.set(id, [hashed, at]);
  for (const id of body.done ?? []) mail.delete(id);
  acts.push(...(body.acts ?? []));
  for (const [id, link] of body.gone ?? []) gone.set(id, link);
  for (const [key, hashed] of body.shared ?? []) shared.set(key, hashed);
}

function takeRuns({ runs }: Folded, { runs: listed = [], moves = [] }: HeadsBody, at: number): void {
  for (const [id, name, events, head, signed, listing] of listed)
    runs.set(id, { name, events, head, signed, listing, at });
  for (const [id, events, head, signed] of moves) {
    const before = runs.get(id);
    // In one commit a run may have gone on before its listing changed.
    if (before !== undefined && before.events < events) runs.set(id, { ...before, events, head, signed, at });
  }
}

function brokenRuns(rows: Rows, store: string, folded: Folded, codec: Codec): string | null {
  return brokenEnds(rows, folded) ?? brokenList(rows, store, folded, codec);
}

function brokenEnds({ ends }: Rows, { runs }: Folded): string | null {
  let count = 0;
  for (const row of ends.iterate()) {
    const [id, name, events, head, signed, listing, at] = row as unknown as EndRow;
    const found = runs.get(id);
    const own = [name, events, head, signed, listing, at];
    const recorded = [found?.name, found?.events, found?.head, found?.signed, found?.listing, found?.at];
    if (!own.every((value, index) => value === recorded[index]))
      return `run \`${found?.name ?? name}\`: its end differs from the chains of heads`;
    count += 1;
  }
  return count < runs.size ? 'the end of a run was deleted' : null;
}
type EndRow = readonly [number, RunId, number, string, number, string, number];

function brokenList({ rows }: Rows, store: string, { runs, gone }: Folded, codec: Codec): string | null {
  let count = 0;
  for (const listed of rows.iterate()) {
    const row = readRow(listed as unknown as ListedRow, codec, store);
    const broken = gone.has(row.id) ? 'it was removed, and is listed' : brokenRow(store, row);
    if (broken !== null) return `run \`${row.listing.run}\`: ${broken}`;
    count += 1;
  }
  return count + gone.size === runs.size ? null : LISTS;
}
const LISTS = 'the list of runs does not add up: a run or the tombstone of one was changed, added or deleted';

function brokenTombstones({ tombstones, store }: Rows, { gone }: Folded): string | null {
  const rows = tombstones.all() as unknown as [number, string][];
  const [last] = store.get() as unknown as [string];
  const areSame = rows.length === gone.size && rows.every(([id, link]) => gone.get(id) === link);
  return areSame && (rows.at(-1)?.[1] ?? '') === last ? null : LISTS;
}

function brokenMail({ letters }: Rows, store: string, { mail }: Folded, codec: Codec): string | null {
  const rows = letters.all() as unknown as [number, RunId | null, string, string, number][];
  const areSame = rows.every(([id, run, fact, hashed, at]) => {
    const [recorded, place] = mail.get(id) ?? [];
    if (run === null) return false;
    // Without the key, the letter is compared by the hash that was recorded.
    const isOwn =
      !codec.has(fact) || hashMail(store, run, codec.open(fact, placeOfLetter(store, run, hashed))) === hashed;
    return isOwn && recorded === hashed && place === at;
  });
  return areSame && rows.length === mail.size ? null : 'a message between processes was changed, added or deleted';
}

function brokenValues({ acts, shared, store }: Rows, id: string, folded: Folded): string | null {
  const links = (acts.all() as unknown as [string][]).map(([link]) => link);
  const areActs = links.length === folded.acts.length && links.every((link, index) => link === folded.acts[index]);
  const [, last, count] = store.get() as unknown as [string, string, number];
  if (!areActs || last !== (links.at(-1) ?? '')) return 'an act of an operator was changed, added or deleted';
  const rows = shared.all() as unknown as [string, string, string][];
  const areSame = rows.every(
    ([key, value, hashed]) => hashShared(id, key, value) === hashed && folded.shared.get(key) === hashed,
  );
  const isWhole = rows.length === folded.shared.size && rows.length === count;
  return areSame && isWhole ? null : 'a shared value was changed, added or deleted';
}

const SQL = {
  heads: 'SELECT id, chain, body, hash FROM heads ORDER BY id',
  ends: 'SELECT run, name, events, head, signed, listing, at FROM ends',
  rows: SELECT_LISTED,
  tombstones: 'SELECT id, link FROM tombstones ORDER BY number',
  store: 'SELECT tombstones, acts, shared FROM store',
  letters: `SELECT mail.id, runs.run, mail.fact, mail.hash, mail.posted FROM mail LEFT JOIN runs ON runs.id = mail.run`,
  acts: 'SELECT link FROM acts ORDER BY number',
  shared: 'SELECT key, value, hash FROM shared',
  parts: SELECT_PARTS,
} as const;
