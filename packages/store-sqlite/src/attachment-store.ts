/** Images and files of runs, in a file of their own beside the journal, so that they can be erased alone. */
import { existsSync } from 'node:fs';
import type { AttachmentOrigin, AttachmentStore, StoredAttachment } from '@sluice-internal/engine/ports';
import { atOnce, fileBeside, openErasable } from './database.ts';

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
export function attachmentsBeside(journal: string): AttachmentStore {
  const path = attachmentFileOf(journal);
  let store: AttachmentStore | null = null;
  const existing = (): AttachmentStore | null =>
    store ?? (existsSync(path) ? (store = openAttachmentStore(path)) : null);
  return {
    add: async (run, attachment) => (store ??= openAttachmentStore(path)).add(run, attachment),
    find: async (run, id) => (await existing()?.find(run, id)) ?? null,
    list: async (run) => (await existing()?.list(run)) ?? [],
    erase: async (run) => (await existing()?.erase(run)) ?? 0,
    close: async () => store?.close(),
  };
}

function openAttachmentStore(path: string): AttachmentStore {
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
        addContent.run(id, data);
        addUse.run(run, id, mediaType, name, origin);
      }),
    find: async (run, id) => {
      const row = find.get(run, id);
      return row === undefined ? null : attachmentOf(id, row);
    },
    list: async (run) => list.all(run).map((row) => String(row['id'])),
    erase: async (run) =>
      atOnce(db, () => {
        const { changes } = removeUses.run(run);
        removeContents.run();
        return Number(changes);
      }),
    close: async () => {
      if (db.isOpen) db.close();
    },
  };
}

function attachmentOf(id: string, row: { readonly [column: string]: unknown }): StoredAttachment {
  return {
    id,
    data: row['data'] as Uint8Array,
    mediaType: String(row['media_type']),
    name: String(row['name']),
    origin: row['origin'] as AttachmentOrigin,
  };
}
