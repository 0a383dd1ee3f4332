/**
 * Opens the file: makes it and its folder where they are missing, readable by their owner alone, since a journal may hold
 * what people said in confidence. Every commit is on the disk when it returns (WAL, synchronous FULL).
 */
import { closeSync, mkdirSync, openSync } from 'node:fs';
import { dirname } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { faultOf, isBusy } from './faults.ts';
import { examine, migrate } from './migrations.ts';
import { SluiceError } from '../../runtime/errors.ts';

export function connect(path: string, busyMs: number): DatabaseSync {
  let db: DatabaseSync | undefined;
  try {
    makeRoom(path);
    db = new DatabaseSync(path, { timeout: busyMs, enableForeignKeyConstraints: true });
    prepare(db, path, busyMs);
    return db;
  } catch (error) {
    db?.close();
    throw faultOf(error, path);
  }
}

function makeRoom(path: string): void {
  try {
    // One level only: a longer path that is missing is more likely a slip of the pen.
    mkdirSync(dirname(path), { mode: 0o700 });
  } catch (error) {
    if ((error as { code?: string }).code !== 'EEXIST') throw error;
  }
  // SQLite gives its side files the mode of this one.
  closeSync(openSync(path, 'a', 0o600));
}

function prepare(db: DatabaseSync, path: string, busyMs: number): void {
  // Before anything is changed: the file may be of a newer release, or of another program.
  patiently(busyMs, () => examine(db, path));
  // A step touches a page of the log and one of its index, whatever their size: smaller ones are written faster. New files only.
  db.exec('PRAGMA page_size = 2048');
  const mode = patiently(busyMs, () => db.prepare('PRAGMA journal_mode = WAL').get()?.['journal_mode']);
  if (mode !== 'wal')
    throw new SluiceError(
      'journal-unavailable',
      `\`${path}\` lies on a disk that does not support a write-ahead log`,
      'use a local disk',
    );
  // Pages that many runs share are rewritten with every batch; a longer log lets one checkpoint do for many of them.
  db.exec('PRAGMA synchronous = FULL; PRAGMA wal_autocheckpoint = 8000');
  patiently(busyMs, () => migrate(db, path));
}

/** Switching to WAL does not wait for others as everything else does, so that two processes that start together collide. */
function patiently<T>(busyMs: number, work: () => T): T {
  for (let waitedMs = 0; ; waitedMs += PAUSE_MS) {
    try {
      return work();
    } catch (error) {
      if (!isBusy(error) || waitedMs >= busyMs) throw error;
      Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, PAUSE_MS);
    }
  }
}
const PAUSE_MS = 10;
