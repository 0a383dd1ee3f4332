/** The changes of all runs, in the order of the log. There is one writer at a time, so its row ids are in the order of commits. */
import { changeCursor, placeOfChange } from '@sluice-internal/engine/ports';
import type { Journal, RunChange } from '@sluice-internal/engine/ports';
import type { Connection } from './connection.ts';

export function createChanges(connection: Connection): Journal['changes'] {
  const last = connection.prepare('SELECT coalesce(max(id), 0) FROM log');
  const find = connection.prepare(
    `SELECT log.id, runs.run, log.after + log.count, runs.status, runs.code, runs.tenant
     FROM log JOIN runs ON runs.id = log.run WHERE log.id > ? ORDER BY log.id LIMIT ?`,
  );
  return async (after, limit) =>
    connection.read(() => {
      if (after === null) return { items: [], next: changeCursor((last.get() as unknown as [number])[0]) };
      const rows = find.all(placeOfChange(after), limit) as unknown as ChangeRow[];
      const items = rows.map(toChange);
      return { items, next: items.at(-1)?.cursor ?? after };
    });
}

type ChangeRow = readonly [
  id: number,
  run: string,
  seq: number,
  status: RunChange['status'],
  code: RunChange['code'],
  tenant: string | null,
];

function toChange([id, run, seq, status, code, tenant]: ChangeRow): RunChange {
  return { cursor: changeCursor(id), run, seq, status, code, tenant };
}
