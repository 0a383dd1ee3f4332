/** Images and files of runs, in the database of the journal. */
import type { AttachmentOrigin, AttachmentStore } from '@sluice-internal/engine/ports';
import { SLOW_MS } from './database.ts';
import type { Database } from './database.ts';

interface Row {
  readonly media_type: string;
  readonly name: string;
  readonly origin: AttachmentOrigin;
  readonly data: Uint8Array;
}

export function createAttachments(database: Database): AttachmentStore {
  const { query } = database;
  return {
    add: (run, { id, data, mediaType, name, origin }) =>
      database.transaction(async (inside) => {
        await inside('INSERT INTO @attachments (id, data) VALUES ($1, $2) ON CONFLICT (id) DO NOTHING', [
          id,
          Buffer.from(data),
        ]);
        // An attachment that came with the input stays one, also if a tool returns the same data.
        await inside(
          `INSERT INTO @attachment_uses AS u (run, id, media_type, name, origin) VALUES ($1, $2, $3, $4, $5)
           ON CONFLICT (run, id) DO UPDATE SET origin = excluded.origin WHERE excluded.origin = 'input'`,
          [run, id, mediaType, name, origin],
        );
      }, SLOW_MS),
    find: async (run, id) => {
      const [row] = await query<Row>(
        'SELECT media_type, name, origin, data FROM @attachment_uses JOIN @attachments USING (id) WHERE run = $1 AND id = $2',
        [run, id],
        SLOW_MS,
      );
      if (row === undefined) return null;
      const { media_type: mediaType, name, origin, data } = row;
      return { id, data, mediaType, name, origin };
    },
    list: async (run) =>
      (await query<{ id: string }>('SELECT id FROM @attachment_uses WHERE run = $1 ORDER BY id', [run])).map(
        ({ id }) => id,
      ),
    erase: (run) =>
      database.transaction(async (inside) => {
        const gone = await inside<{ id: string }>('DELETE FROM @attachment_uses WHERE run = $1 RETURNING id', [run]);
        await inside(
          `DELETE FROM @attachments a WHERE a.id = ANY ($1) AND NOT EXISTS (SELECT 1 FROM @attachment_uses u WHERE u.id = a.id)`,
          [gone.map(({ id }) => id)],
        );
        return gone.length;
      }, SLOW_MS),
    close: async () => undefined,
  };
}
