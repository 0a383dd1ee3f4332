/**
 * The id of the store is in the database file itself before the first key is made from it. A copy of the file without its log then
 * has the same id, so that a run which is started again there gives its calls the same idempotency keys.
 */
import { closeSync, fsyncSync, openSync, statSync } from 'node:fs';
import { dirname, resolve } from 'node:path';
import type { DatabaseSync } from 'node:sqlite';
import { pathToFileURL } from 'node:url';
import { SluiceError } from '@sluice-internal/engine/ports';
import { openDatabase, pause } from './database.ts';

/** Two processes may open a new file at the same moment. SQLite itself does not wait for the checkpoint of another one. */
export function keepId(db: DatabaseSync, path: string, busyMs: number): void {
  const log = statSync(`${path}-wal`, { throwIfNoEntry: false });
  if (log === undefined || log.size === 0 || !lacksId(path)) return;
  const until = performance.now() + busyMs;
  while (!isCheckpointed(db) && lacksId(path)) {
    if (performance.now() >= until)
      throw new SluiceError(
        'journal-busy',
        `\`${path}\` is new, and another process keeps it from being completed`,
        'Try again.',
      );
    pause();
  }
  keepName(path);
}

function isCheckpointed(db: DatabaseSync): boolean {
  const { busy } = db.prepare('PRAGMA wal_checkpoint(FULL)').get() as { readonly busy: number };
  return busy === 0;
}

/**
 * Reads the file without its log. A file that is only half written, for example because the disk became full while its log was
 * moved into it, cannot be read: nobody makes a store without an id from a copy of it, and it needs no room now.
 */
function lacksId(path: string): boolean {
  const url = pathToFileURL(resolve(path));
  url.searchParams.set('immutable', '1');
  const alone = openDatabase(url, { readOnly: true });
  try {
    return alone.prepare('SELECT id FROM store').get() === undefined;
  } catch (error) {
    return (error as { readonly errcode?: number }).errcode !== CORRUPT;
  } finally {
    alone.close();
  }
}
const CORRUPT = 11;

/** A new name in a folder is not on the disk until the folder is. */
function keepName(path: string): void {
  try {
    const folder = openSync(dirname(path), 'r');
    try {
      fsyncSync(folder);
    } finally {
      closeSync(folder);
    }
  } catch {
    // Not every system can sync a folder.
  }
}
