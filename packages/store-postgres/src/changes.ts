/** The changes of all runs, in the order of the transactions that stored them. A page ends before the first one that is still open. */
import { changeCursor, placeOfChange } from '@sluice-internal/engine/ports';
import type { Journal, RunChange } from '@sluice-internal/engine/ports';
import type { Database } from './database.ts';

export function createChanges(database: Database): Journal['changes'] {
  return async (after, limit) => {
    const [found] = await database.query<{ horizon: number }>('SELECT @horizon() AS horizon');
    const horizon = found?.horizon ?? 0;
    if (after === null) {
      const [last] = await database.query<{ place: number }>(
        'SELECT coalesce(max(place), 0) AS place FROM @log WHERE place < $1',
        [horizon],
      );
      return { items: [], next: changeCursor(last?.place ?? 0) };
    }
    const rows = await database.query<Omit<RunChange, 'cursor'> & { readonly place: number }>(
      `SELECT l.place, r.run, l.after + l.count AS seq, r.status, r.code, r.tenant
       FROM @log l JOIN @runs r ON r.id = l.run WHERE l.place > $1 AND l.place < $2 ORDER BY l.place LIMIT $3`,
      [placeOfChange(after), horizon, limit],
    );
    const items = rows.map(({ place, ...change }) => ({ cursor: changeCursor(place), ...change }));
    return { items, next: items.at(-1)?.cursor ?? after };
  };
}
