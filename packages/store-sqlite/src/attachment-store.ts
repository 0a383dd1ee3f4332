/** Images and files of runs, in a file of their own beside the journal, so that they can be erased alone. */
import { existsSync } from 'node:fs';
import type { DatabaseSync } from 'node:sqlite';
import { resealed, resealedBytes } from '@sluice-internal/engine/ports';
import type { AttachmentOrigin, AttachmentStore, Codec, Place, StoredAttachment } from '@sluice-internal/engine/ports';
import { atOnce, codecFor, fileBeside, openErasable } from './database.ts';
import type { Rekeyed } from './database.ts';

const SCHEMA = `
CREATE TABLE IF NOT EXISTS contents (
  id TEXT PRIMARY KEY,
  data BLOB NOT NULL
) STRICT;
CREATE TABLE IF NOT EXISTS uses (
  run TEXT NOT NULL,
  id TEXT NOT NULL REFERENCES contents (id),
  media_type TEXT NOT NULL,
  name TEXT NOT NULL,
  origin TEXT NOT NULL,
  PRIMARY KEY (run, id)
) STRICT, WITHOUT ROWID;
CREATE INDEX IF NOT EXISTS uses_by_id ON uses (id);
`;

/** The file of the attachments that belong to a journal. */
export function attachmentFileOf(journal: string): string {
  return fileBeside(journal, 'attachments');
}

/** The file is made when the first attachment is added. */
export function attachmentsBeside(journal: string, codec: Codec = codecFor(journal)): Rekeyed<AttachmentStore> {
  const path = attachmentFileOf(journal);
  let store: Rekeyed<AttachmentStore> | null = null;
  const existing = (): Rekeyed<AttachmentStore> | null =>
    store ?? (existsSync(path) ? (store = openAttachmentStore(path, codec)) : null);
  return {
    add: async (run, attachment) => (store ??= openAttachmentStore(path, codec)).add(run, attachment),
    find: async (run, id) => (await existing()?.find(run, id)) ?? null,
    list: async (run) => (await existing()?.list(run)) ?? [],
    erase: async (run) => (await existing()?.erase(run)) ?? 0,
    rekey: () => existing()?.rekey() ?? 0,
    close: async () => store?.close(),
  };
}

function openAttachmentStore(path: string, codec: Codec): Rekeyed<AttachmentStore> {
  const db = openErasable(path, SCHEMA);
  const addContent = db.prepare('INSERT INTO contents (id, data) VALUES (?, ?) ON CONFLICT (id) DO NOTHING');
  // An attachment that came with the input stays one, also if a tool returns the same data.
  const addUse = db.prepare(
    `INSERT INTO uses (run, id, media_type, name, origin) VALUES (?, ?, ?, ?, ?)
     ON CONFLICT (run, id) DO UPDATE SET origin = excluded.origin WHERE excluded.origin = 'input'`,
  );
  const find = db.prepare(
    'SELECT media_type, name, origin, data FROM uses JOIN contents USING (id) WHERE run = ? AND id = ?',
  );
  const list = db.prepare('SELECT id FROM uses WHERE run = ? ORDER BY id');
  const removeUses = db.prepare('DELETE FROM uses WHERE run = ?');
  const removeContents = db.prepare('DELETE FROM contents WHERE id NOT IN (SELECT id FROM uses)');
  return {
    add: async (run, { id, data, mediaType, name, origin }) =>
      atOnce(db, () => {
        addContent.run(id, codec.sealBytes(data, placeOfData(id)));
        addUse.run(run, id, mediaType, codec.seal(name, placeOfName(run, id)), origin);
      }),
    find: async (run, id) => {
      const row = find.get(run, id);
      return row === undefined ? null : attachmentOf(run, id, row, codec);
    },
    list: async (run) => list.all(run).map((row) => String(row['id'])),
    erase: async (run) =>
      atOnce(db, () => {
        const { changes } = removeUses.run(run);
        removeContents.run();
        return Number(changes);
      }),
    rekey: () => rekey(db, codec),
    close: async () => {
      if (db.isOpen) db.close();
    },
  };
}

/** Returns the number of contents and names that were sealed again. What they were before is overwritten. */
function rekey(db: DatabaseSync, codec: Codec): number {
  return atOnce(db, () => {
    let count = 0;
    const putData = db.prepare('UPDATE contents SET data = ? WHERE id = ?');
    for (const { id } of db.prepare('SELECT id FROM contents').all()) {
      const data = db.prepare('SELECT data FROM contents WHERE id = ?').get(id as string)?.['data'] as Uint8Array;
      const again = resealedBytes(codec, data, placeOfData(String(id)));
      if (again === null) continue;
      putData.run(again, String(id));
      count += 1;
    }
    const putName = db.prepare('UPDATE uses SET name = ? WHERE run = ? AND id = ?');
    for (const { run, id, name } of db.prepare('SELECT run, id, name FROM uses').all()) {
      const again = resealed(codec, String(name), placeOfName(String(run), String(id)));
      if (again !== null) count += Number(putName.run(again, String(run), String(id)).changes);
    }
    return count;
  });
}

const placeOfData = (id: string): Place => ({ store: '', table: 'attachments', run: '', seq: id });
const placeOfName = (run: string, id: string): Place => ({ store: '', table: 'attachment names', run, seq: id });

function attachmentOf(
  run: string,
  id: string,
  row: { readonly [column: string]: unknown },
  codec: Codec,
): StoredAttachment {
  return {
    id,
    data: codec.openBytes(row['data'] as Uint8Array, placeOfData(id)),
    mediaType: String(row['media_type']),
    name: codec.open(String(row['name']), placeOfName(run, id)),
    origin: row['origin'] as AttachmentOrigin,
  };
}
