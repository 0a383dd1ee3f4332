/**
 * A store in one SQLite file, which several processes may open. A new file and its folder are readable by their owner only.
 * A commit is on the disk when it returns (WAL, synchronous FULL).
 */
import { closeSync, mkdirSync, openSync } from 'node:fs';
import { dirname } from 'node:path';
import type { DatabaseSync } from 'node:sqlite';
import { PAUSE_MS, openDatabase, pause } from './database.ts';
import { SluiceError, codecOfProcess, refuseEmpty } from '@sluice-internal/engine/ports';
import type { Codec, Store, StoreClock } from '@sluice-internal/engine/ports';
import { machineClock } from './clock.ts';
import { Connection } from './connection.ts';
import { faultOf, isBusy } from './faults.ts';
import { Hints } from './hints.ts';
import { createJournal } from './journal.ts';
import { createLeases } from './leases.ts';
import { loosePermissions } from './permissions.ts';
import { connectReadOnly } from './read-only.ts';
import { createMail } from './mail.ts';
import { createLists, createTombstones } from './lists.ts';
import { placeOfAppend } from './places.ts';
import { rekey } from './rekey.ts';
import { createRetain } from './retain.ts';
import { createShared } from './shared.ts';
import { Heads } from './heads.ts';
import { createTables, isNew } from './schema.ts';
import { keepId } from './keep-id.ts';

export interface SqliteOptions {
  /** The time to wait while another process writes. Default 5 s. */
  readonly busyMs?: number;
  /** Opens without writing anything. The file and its folder may be read-only. */
  readonly readOnly?: boolean;
  /** Default: the clock of the machine. */
  readonly clock?: StoreClock | undefined;
  /** How texts are stored. Default: sealed with the keys in SLUICE_JOURNAL_KEY. */
  readonly codec?: Codec;
  /** A message for the operator, for example about a file that other users can read. */
  readonly onNotice?: ((message: string) => void) | undefined;
}

/**
 * Opens a store in a SQLite file.
 * @example
 * const own = createEngine({ journal: openSqlite('./runs.db') });
 */
export function openSqlite(path: string, options: SqliteOptions = {}): Store {
  refuseEmpty('openSqlite', options);
  const { busyMs = 5000, readOnly = false, onNotice } = options;
  const db = readOnly ? connectReadOnly(path, busyMs) : connect(path, busyMs);
  for (const problem of loosePermissions(path)) onNotice?.(problem);
  const connection = new Connection(db, path, options.codec ?? codecOfProcess());
  const id = readId(connection, path);
  if (!readOnly) demandKey(connection);
  const heads = new Heads(connection, id);
  const journal = createJournal(connection, heads);
  const hints = new Hints(connection, path);
  return {
    id,
    journal,
    leases: createLeases(connection, journal.flush, options.clock ?? machineClock(connection)),
    mail: createMail(connection, heads),
    index: {
      ...createLists(connection, id),
      ...createTombstones(connection),
      ...createRetain(connection, heads),
      describe: journal.describe,
    },
    shared: createShared(connection, heads),
    subscribe: hints.subscribe,
    reach: 'machine',
    rekey: async () => {
      journal.flush();
      return rekey(connection, id);
    },
    compact: async () => {
      journal.flush();
      journal.compactHeads();
      connection.vacuum();
    },
    close: async () => {
      hints.close();
      journal.flush();
      connection.close();
    },
  };
}

/** A process without the key of the last events could go on in clear. */
function demandKey(connection: Connection): void {
  const row = lastAppend(connection);
  if (row === undefined || connection.codec.has(row[0])) return;
  try {
    connection.codec.open(row[0], placeOfAppend('', row[1], row[2]));
  } finally {
    connection.close();
  }
}

/** Undefined without one, and where the file is damaged: the read that needs these pages says so. */
function lastAppend(connection: Connection): [string, string, number] | undefined {
  try {
    return connection.read(() => connection.prepare(LAST).get()) as unknown as [string, string, number] | undefined;
  } catch {
    return undefined;
  }
}
const LAST = `SELECT substr(log.body, 1, 64), runs.run, log.after FROM log JOIN runs ON runs.id = log.run
  ORDER BY log.id DESC LIMIT 1`;

function readId(connection: Connection, path: string): string {
  const row = connection.read(() => connection.prepare('SELECT id FROM store').get()) as unknown as
    | [string]
    | undefined;
  if (row !== undefined) return row[0];
  connection.close();
  throw new SluiceError('journal-damaged', `\`${path}\` has no id: its row was deleted`, 'Restore it from a backup.');
}

export function connect(path: string, busyMs: number): DatabaseSync {
  let db: DatabaseSync | undefined;
  try {
    createFile(path);
    db = openDatabase(path, { timeout: busyMs, enableForeignKeyConstraints: true });
    prepare(db, path, busyMs);
    return db;
  } catch (error) {
    db?.close();
    throw faultOf(error, path);
  }
}

function createFile(path: string): void {
  try {
    // Create one level only. A longer missing path is more likely a typing error.
    mkdirSync(dirname(path), { mode: 0o700 });
  } catch (error) {
    if ((error as { code?: string }).code !== 'EEXIST') throw error;
  }
  // SQLite gives its -wal and -shm files the mode of this file.
  closeSync(openSync(path, 'a', 0o600));
}

function prepare(db: DatabaseSync, path: string, busyMs: number): void {
  // First of all: the file may be from another release, or from another program.
  retryBusy(busyMs, () => isNew(db, path));
  // A step writes one page of the log and one of its index, so smaller pages are faster. Affects new files only.
  db.exec('PRAGMA page_size = 2048');
  const mode = retryBusy(busyMs, () => db.prepare('PRAGMA journal_mode = WAL').get()?.['journal_mode']);
  if (mode !== 'wal')
    throw new SluiceError(
      'journal-unavailable',
      `\`${path}\` is on a disk that does not support a write-ahead log`,
      'Use a local disk.',
    );
  // Batches rewrite the pages that runs share; a longer log lets one checkpoint serve many batches.
  db.exec('PRAGMA synchronous = FULL; PRAGMA wal_autocheckpoint = 8000');
  retryBusy(busyMs, () => createTables(db, path));
  retryBusy(busyMs, () => keepId(db, path, busyMs));
}

/** The switch to WAL ignores the busy timeout, so two processes that start together need a retry. */
function retryBusy<T>(busyMs: number, work: () => T): T {
  for (let waitedMs = 0; ; waitedMs += PAUSE_MS) {
    try {
      return work();
    } catch (error) {
      if (!isBusy(error) || waitedMs >= busyMs) throw error;
      pause();
    }
  }
}
