/**
 * One connection with a cache of rows. The cache is valid until another connection writes, which changes `data_version`. It is
 * read inside each transaction. Any failure clears the cache.
 */
import { statSync } from 'node:fs';
import type { Stats } from 'node:fs';
import type { DatabaseSync, StatementSync } from 'node:sqlite';
import type { RunId } from '@sluice-internal/kernel/ir';
import { SluiceError } from '@sluice-internal/engine/ports';
import type { Codec } from '@sluice-internal/engine/ports';
import { withLargeNumbers } from './database.ts';
import { faultOf } from './faults.ts';
import type { Listing, RunEnd } from './listing.ts';

export interface KnownRun {
  readonly id: number;
  owner: number | null;
  listing: Listing;
  end: RunEnd;
  /** True if it may have rows in `questions`. */
  asks: boolean;
}

/** The least time between two checks of the file. */
const CHECK_FILE_MS = 10;

/** In commits: about half a megabyte of write-ahead log. SQLite itself checkpoints larger batches, by size. */
const CHECKPOINT_EVERY = 128;

export class Connection {
  readonly known: Map<RunId, KnownRun> = new Map();
  /** Row ids of graphs, by hash. */
  readonly graphs: Map<string, number> = new Map();
  /** Row ids of workers that are not fenced, by name. */
  readonly leases: Map<string, number> = new Map();
  /** How texts are stored. */
  readonly codec: Codec;
  /** The number of the next row in `heads`; null if it was not read yet. */
  nextHead: number | null = null;
  /** Called inside each transaction that writes, after its work. */
  beforeCommit: () => void = () => undefined;
  afterFailure: () => void = () => undefined;
  readonly #db: DatabaseSync;
  readonly #path: string;
  readonly #statements: Statements<typeof SQL>;
  /** The database, its log and the index of the log, as they were when the database was opened. */
  readonly #files: ReadonlyMap<string, Identity | null>;
  #reads: Read[] = [];
  #fileCheckedAt = -Infinity;
  #commits = 0;
  /** In this transaction; null if it was not read yet. */
  #version: number | null = null;
  #seenVersion = -1;

  constructor(db: DatabaseSync, path: string, codec: Codec) {
    this.codec = codec;
    this.#db = db;
    this.#path = path;
    this.#statements = this.prepareWrites(SQL);
    const besides = ['-wal', '-shm'].map((suffix) => `${path}${suffix}`).filter((file) => identityOf(file) !== null);
    this.#files = new Map([path, ...besides].map((file) => [file, identityOf(file)]));
  }

  /** The rows of the statement are arrays. */
  prepare = (sql: string): StatementSync => withLargeNumbers(this.#prepare(sql));

  prepareAll<Texts extends { readonly [name: string]: string }>(texts: Texts): Statements<Texts> {
    return prepareWith(this.prepare, texts);
  }

  /**
   * For statements that read no numbers of tables. Their `get` runs them like `run`, but creates no object with the number of
   * changes, which takes longer than some of the statements.
   */
  prepareWrites<Texts extends { readonly [name: string]: string }>(texts: Texts): Statements<Texts> {
    return prepareWith((sql) => this.#prepare(sql), texts);
  }

  #prepare(sql: string): StatementSync {
    const statement = this.#db.prepare(sql);
    statement.setReturnArrays(true);
    return statement;
  }

  /** Runs the work in one transaction, durable on return. */
  write<T>(work: () => T): T {
    if (performance.now() - this.#fileCheckedAt >= CHECK_FILE_MS) this.checkFile();
    const result = this.#within('beginWrite', () => {
      this.#clearCacheIfChanged();
      const done = work();
      this.beforeCommit();
      return done;
    });
    this.#checkpointAtTimes();
    return result;
  }

  /** Runs the work in one read transaction. */
  read<T>(work: () => T): T {
    return this.#within('beginRead', work);
  }

  /** Reads requested in the same turn of the event loop share one transaction. If it fails, each gets a transaction of its own. */
  readTogether<T>(work: () => T): Promise<T> {
    return new Promise((resolve, reject) => {
      if (this.#reads.length === 0) queueMicrotask(() => this.#readAll());
      this.#reads.push({ work: () => resolve(work()), reject });
    });
  }

  #readAll(): void {
    const reads = this.#reads;
    this.#reads = [];
    this.#readAtOnce(reads);
  }

  #readAtOnce(reads: readonly Read[]): void {
    try {
      this.read(() => reads.forEach(({ work }) => work()));
    } catch (error) {
      if (reads.length > 1) for (const read of reads) this.#readAtOnce([read]);
      else for (const { reject } of reads) reject(error);
    }
  }

  /**
   * A number that changes when another connection has written. It is read once in a transaction, which does not see later
   * changes.
   */
  version(): number {
    this.#version ??= (this.#statements.dataVersion.get() as unknown as [number])[0];
    return this.#version;
  }

  /** The same, read now. Outside of a transaction. */
  newVersion(): number {
    return (this.#statements.dataVersion.get() as unknown as [number])[0];
  }

  vacuum(): void {
    try {
      this.#db.exec('VACUUM; PRAGMA wal_checkpoint(TRUNCATE)');
    } catch (error) {
      throw faultOf(error, this.#path);
    }
  }

  close(): void {
    if (!this.#db.isOpen) return;
    try {
      this.#db.exec('PRAGMA wal_checkpoint(TRUNCATE)');
    } catch {
      // The data stays in the write-ahead log, and the next open reads it from there.
    }
    this.#db.close();
  }

  /**
   * A deleted or replaced file stays open, and its events are lost. The process stops instead of adding to them. The files are
   * looked at before a run ends or waits, so that no process reports a result that is lost, and else every few milliseconds.
   * A process that opens the database without the log of this one would damage it. Closing saves what this log has.
   */
  checkFile(): void {
    if (!this.#db.isOpen) return;
    this.#fileCheckedAt = performance.now();
    for (const [file, opened] of this.#files) {
      const found = identityOf(file);
      if (found?.ino === opened?.ino && found?.dev === opened?.dev) continue;
      this.#clearCache();
      throw new SluiceError(
        'journal-replaced',
        `\`${file}\` was ${found === null ? 'deleted' : 'replaced'} while this process had it open`,
        file === this.#path
          ? 'stop this process, restore the file, and run `sluice resume`'
          : 'stop all processes that use the database, and run `sluice resume`',
      );
    }
  }

  #within<T>(begin: 'beginRead' | 'beginWrite', work: () => T): T {
    try {
      this.#version = null;
      this.#statements[begin].get();
      const result = work();
      this.#statements.commit.get();
      return result;
    } catch (error) {
      this.#clearCache();
      this.afterFailure();
      if (this.#db.isOpen && this.#db.isTransaction) this.#db.exec('ROLLBACK');
      throw faultOf(error, this.#path);
    }
  }

  #clearCacheIfChanged(): void {
    const version = this.version();
    if (version !== this.#seenVersion) this.#clearCache();
    this.#seenVersion = version;
  }

  #clearCache(): void {
    this.known.clear();
    this.graphs.clear();
    this.leases.clear();
    this.nextHead = null;
  }

  /** After a checkpoint the write-ahead log starts over. Overwriting is cheaper to sync than growing the file. */
  #checkpointAtTimes(): void {
    this.#commits += 1;
    if (this.#commits % CHECKPOINT_EVERY !== 0) return;
    try {
      this.#statements.checkpoint.get();
    } catch {
      // The commit holds. The log stays longer until the next checkpoint.
    }
  }
}

interface Read {
  readonly work: () => void;
  readonly reject: (error: unknown) => void;
}

type Identity = Pick<Stats, 'dev' | 'ino'>;

function identityOf(path: string): Identity | null {
  try {
    return statSync(path, { throwIfNoEntry: false }) ?? null;
  } catch {
    return null;
  }
}

/** Prepares each statement when it is first used: a short command needs few of them. */
function prepareWith<Texts extends { readonly [name: string]: string }>(
  prepare: (sql: string) => StatementSync,
  texts: Texts,
): Statements<Texts> {
  const statements = {};
  for (const [name, sql] of Object.entries(texts)) {
    const get = (): StatementSync => {
      const value = prepare(sql);
      Object.defineProperty(statements, name, { value });
      return value;
    };
    Object.defineProperty(statements, name, { get, configurable: true });
  }
  return statements as Statements<Texts>;
}

export type Statements<Texts> = { readonly [Name in keyof Texts]: StatementSync };

const SQL = {
  beginWrite: 'BEGIN IMMEDIATE',
  beginRead: 'BEGIN',
  commit: 'COMMIT',
  dataVersion: 'PRAGMA data_version',
  checkpoint: 'PRAGMA wal_checkpoint(PASSIVE)',
} as const;
