/**
 * Opens a database without writing. SQLite reads a write-ahead log only through a shared index file, which it cannot create in
 * a read-only folder. There, a database without a log is opened as immutable, and one with a log is copied and opened.
 */
import {
  chmodSync,
  closeSync,
  copyFileSync,
  existsSync,
  mkdtempSync,
  openSync,
  readSync,
  rmSync,
  statSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import type { DatabaseSync } from 'node:sqlite';
import { openDatabase } from './database.ts';
import { pathToFileURL } from 'node:url';
import { SluiceError } from '@sluice-internal/engine/ports';
import { faultOf } from './faults.ts';
import { isNew } from './schema.ts';

export function connectReadOnly(path: string, busyMs: number): DatabaseSync {
  try {
    const db = openShared(path, busyMs) ?? (hasLog(path) ? openCopy(path, busyMs) : openImmutable(path));
    if (isNew(db, path))
      throw new SluiceError('journal-damaged', `\`${path}\` is empty`, 'Name another file for the journal.');
    return db;
  } catch (error) {
    throw faultOf(error, path);
  }
}

/** Null if SQLite cannot share the log with other processes. */
function openShared(path: string, timeout: number): DatabaseSync | null {
  const db = openDatabase(path, { readOnly: true, timeout });
  try {
    db.prepare('SELECT count(*) FROM sqlite_schema').get();
    return db;
  } catch (error) {
    db.close();
    const code = ((error as { errcode?: number }).errcode ?? 0) & 0xff;
    if (code === CANTOPEN || code === READONLY || code === IOERR) return null;
    throw error;
  }
}
const READONLY = 8;
/** A full disk has no room for the index file. */
const IOERR = 10;
const CANTOPEN = 14;

function openImmutable(path: string): DatabaseSync {
  const url = pathToFileURL(resolve(path));
  url.searchParams.set('immutable', '1');
  return openDatabase(url, { readOnly: true });
}

/** The copy is deleted at once; the open file stays readable until it is closed. */
function openCopy(path: string, timeout: number): DatabaseSync {
  const dir = mkdtempSync(join(tmpdir(), 'sluice-read-'));
  try {
    const copy = join(dir, 'copy.db');
    copyConsistently(path, copy);
    const db = openDatabase(copy, { timeout });
    db.exec('PRAGMA journal_mode = DELETE; PRAGMA query_only = ON');
    return db;
  } finally {
    rmSync(dir, { recursive: true, force: true });
  }
}

/**
 * Another process may write meanwhile. Additions to the log do no harm. A checkpoint writes to the database and starts the log
 * over. Then the two copies do not fit each other, and are made again.
 */
function copyConsistently(path: string, copy: string): void {
  for (let attempt = 1; ; attempt++) {
    const before = checkpointOf(path);
    for (const suffix of ['', '-wal']) {
      rmSync(`${copy}${suffix}`, { force: true });
      copyFileSync(`${path}${suffix}`, `${copy}${suffix}`);
      chmodSync(`${copy}${suffix}`, 0o600);
    }
    if (checkpointOf(path) === before) return;
    if (attempt === COPY_ATTEMPTS)
      throw new SluiceError(
        'journal-busy',
        `\`${path}\` changes faster than it can be copied`,
        'Try again, or give this user write access to its folder.',
      );
  }
}
const COPY_ATTEMPTS = 20;

/** Changes with every checkpoint: the time of the database, and the header of the log, which has its salt. */
function checkpointOf(path: string): string {
  const { mtimeNs } = statSync(path, { bigint: true });
  const log = openSync(`${path}-wal`, 'r');
  try {
    const header = Buffer.alloc(LOG_HEADER);
    readSync(log, header, 0, LOG_HEADER, 0);
    return `${mtimeNs} ${header.toString('hex')}`;
  } finally {
    closeSync(log);
  }
}
const LOG_HEADER = 32;

function hasLog(path: string): boolean {
  return existsSync(`${path}-wal`) && statSync(`${path}-wal`).size > 0;
}
