/**
 * Seals every text of a database with the first key. Each step is one transaction of some hundred rows, so that other processes go on.
 * The triggers that keep rows from changing are made again within the same transaction. Hashes are those of plain texts, so none
 * changes.
 */
import { resealed } from '@sluice-internal/engine/ports';
import type { Place } from '@sluice-internal/engine/ports';
import type { Connection } from './connection.ts';
import { placeOfAppend, placeOfBlob, placeOfGraph, placeOfLetter, placeOfMessage, placeOfSnapshot } from './places.ts';

const ROWS_AT_ONCE = 500;

interface Sealed {
  readonly table: string;
  readonly column: string;
  /** The trigger that refuses changes. */
  readonly trigger?: string;
  /** The id of the row, its text, its run, and what else is part of its place. */
  readonly select: string;
  readonly place: (store: string, run: string, seq: never) => Place;
}

const OF_RUN = (table: string, column: string, seq: string, id = 'id') =>
  `SELECT t.${id}, t.${column}, runs.run, ${seq} FROM ${table} AS t JOIN runs ON runs.id = t.run
   WHERE t.${id} > ? ORDER BY t.${id} LIMIT ${ROWS_AT_ONCE}`;

const SEALED: readonly Sealed[] = [
  {
    table: 'flows',
    column: 'text',
    select: `SELECT id, text, '', hash FROM flows WHERE id > ? ORDER BY id LIMIT ${ROWS_AT_ONCE}`,
    place: (store, _, hash: string) => placeOfGraph(store, hash),
  },
  {
    table: 'log',
    column: 'body',
    trigger: 'log_update',
    select: OF_RUN('log', 'body', 't.after'),
    place: placeOfAppend,
  },
  {
    table: 'blobs',
    column: 'body',
    trigger: 'blobs_update',
    select: OF_RUN('blobs', 'body', 't.hash'),
    place: placeOfBlob,
  },
  { table: 'snapshots', column: 'body', select: OF_RUN('snapshots', 'body', 't.seq', 'run'), place: placeOfSnapshot },
  { table: 'mail', column: 'fact', select: OF_RUN('mail', 'fact', 't.hash'), place: placeOfLetter },
  {
    table: 'run_facts',
    column: 'message',
    select: OF_RUN('run_facts', 'message', `''`, 'run'),
    place: (store, run) => placeOfMessage(store, run),
  },
];

/** Returns the number of rows that were sealed again. What they were before is overwritten in the file. */
export function rekey(connection: Connection, store: string): number {
  const count = SEALED.reduce((sum, each) => sum + rekeyTable(connection, store, each), 0);
  // Also if there was nothing to seal: the disk may have been full when it was.
  connection.vacuum();
  return count;
}

function rekeyTable(connection: Connection, store: string, { table, column, trigger, select, place }: Sealed): number {
  const { codec, prepare } = connection;
  const find = prepare(select);
  const id = table === 'snapshots' || table === 'run_facts' ? 'run' : 'id';
  const update = prepare(`UPDATE ${table} SET ${column} = ? WHERE ${id} = ?`);
  let last = 0;
  let count = 0;
  for (;;) {
    const found = connection.write(() => {
      const rows = find.all(last) as unknown as [number, string | null, string, never][];
      const changed = rows.flatMap(([row, text, run, seq]) => {
        const again = text === null ? null : resealed(codec, text, place(store, run, seq));
        return again === null ? [] : [[again, row] as const];
      });
      if (changed.length > 0)
        withoutTrigger(connection, trigger, () => changed.forEach((values) => update.run(...values)));
      count += changed.length;
      return rows;
    });
    if (found.length < ROWS_AT_ONCE) return count;
    last = found.at(-1)?.[0] ?? last;
  }
}

/** In a transaction of the caller. */
function withoutTrigger({ prepare }: Connection, trigger: string | undefined, work: () => void): void {
  if (trigger === undefined) return work();
  const row = prepare("SELECT sql FROM sqlite_schema WHERE type = 'trigger' AND name = ?").get(trigger) as unknown as
    | [string]
    | undefined;
  if (row !== undefined) prepare(`DROP TRIGGER ${trigger}`).run();
  work();
  if (row !== undefined) prepare(row[0]).run();
}
