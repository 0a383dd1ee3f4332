/** Sealed values of personal data in a file of their own beside the journal, so that they can be erased alone. */
import { atOnce, fileBeside, openErasable } from './database.ts';
import type { RunId } from '@sluice-internal/kernel/ir';
import type { PiiStore } from '@sluice-internal/engine/ports';

const SCHEMA = `
CREATE TABLE IF NOT EXISTS tokens (
  run TEXT NOT NULL,
  token TEXT NOT NULL,
  type TEXT NOT NULL,
  lookup TEXT NOT NULL,
  sealed BLOB NOT NULL,
  release TEXT,
  PRIMARY KEY (run, token)
) STRICT;
-- The last number of each type. It stays after an erasure, so that no token is given to a second value.
CREATE TABLE IF NOT EXISTS numbers (
  run TEXT NOT NULL,
  type TEXT NOT NULL,
  last INTEGER NOT NULL,
  PRIMARY KEY (run, type)
) STRICT, WITHOUT ROWID;
CREATE UNIQUE INDEX IF NOT EXISTS tokens_by_lookup ON tokens (run, lookup);
`;

const NUMBER_MAX = 1_000_000_000;

/** The file of the sealed values that belong to a journal. */
export function piiFileOf(journal: string): string {
  return fileBeside(journal, 'pii');
}

export function openPiiStore(path: string): PiiStore & { owners(): Promise<readonly RunId[]> } {
  const db = openErasable(path, SCHEMA);
  const byLookup = db.prepare('SELECT token FROM tokens WHERE run = ? AND lookup = ?');
  const lastNumber = db.prepare(
    // A larger number was written by hand, and JavaScript could not count on from it.
    `SELECT min(${NUMBER_MAX}, max(coalesce((SELECT last FROM numbers WHERE run = ?1 AND type = ?2), 0),
                (SELECT count(*) FROM tokens WHERE run = ?1 AND type = ?2))) AS last`,
  );
  const setNumber = db.prepare(
    `INSERT INTO numbers VALUES (?1, ?2, ?3) ON CONFLICT (run, type) DO UPDATE SET last = max(last, excluded.last)`,
  );
  const lastOf = (run: string, type: string): number => Number(lastNumber.get(run, type)?.['last'] ?? 0);
  const insert = db.prepare('INSERT INTO tokens (run, token, type, lookup, sealed) VALUES (?, ?, ?, ?, ?)');
  const byToken = db.prepare('SELECT sealed, release FROM tokens WHERE run = ? AND token = ?');
  const anyOf = db.prepare('SELECT token, sealed FROM tokens WHERE run = ? LIMIT 1');
  const release = db.prepare('UPDATE tokens SET release = ?3 WHERE run = ?1 AND token = ?2 AND release IS NOT ?3');
  const owners = db.prepare('SELECT DISTINCT run FROM tokens');
  const remove = db.prepare('DELETE FROM tokens WHERE run = ?');
  return {
    owners: async () => owners.all().map(({ run }) => String(run)),
    tokenOf: async (run, lookup) => (byLookup.get(run, lookup)?.['token'] ?? null) as string | null,
    lastNumber: async (run, type) => lastOf(run, type),
    add: async (run, type, lookup, number, made) =>
      atOnce(db, () => {
        // Another process may have added it since.
        const added = byLookup.get(run, lookup);
        if (added !== undefined) return String(added['token']);
        setNumber.run(run, type, number);
        insert.run(run, made.token, type, lookup, made.sealed);
        return made.token;
      }),
    find: async (run, token) => (byToken.get(run, token)?.['sealed'] ?? null) as Uint8Array | null,
    first: async (run) => {
      const row = anyOf.get(run);
      return row === undefined ? null : { token: String(row['token']), sealed: row['sealed'] as Uint8Array };
    },
    release: async (run, token, mark) => void release.run(run, token, mark),
    releaseOf: async (run, token) => (byToken.get(run, token)?.['release'] ?? null) as string | null,
    erase: async (run) => Number(remove.run(run).changes),
    close: async () => {
      if (db.isOpen) db.close();
    },
  };
}
