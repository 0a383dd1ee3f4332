/**
 * Opens databases. Node 22.13 to 22.15 lack a busy timeout, `isTransaction` and rows as arrays; they are added here. Later
 * releases get the class of Node itself. The module is loaded when it is needed, so that an older Node gets a clear error.
 */
import { closeSync, openSync } from 'node:fs';
import type { DatabaseSync, StatementSync } from 'node:sqlite';
import { NO_CODEC, codecOfProcess } from '@sluice-internal/engine/ports';
import type { Codec } from '@sluice-internal/engine/ports';

interface Options {
  readonly timeout?: number;
  readonly readOnly?: boolean;
  readonly enableForeignKeyConstraints?: boolean;
}
type Open = (path: string | URL, options: Options) => DatabaseSync;

export function openDatabase(path: string | URL, options: Options): DatabaseSync {
  open ??= loadOpen();
  return open(path, options);
}
let open: Open | undefined;

/** Before another try to get what another process holds. */
export function pause(): void {
  Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, PAUSE_MS);
}
export const PAUSE_MS = 10;

/** A file of its own for data that can be erased: deleted data is overwritten, and there is no log that keeps it. */
export function openErasable(path: string, schema: string): DatabaseSync {
  if (path !== IN_MEMORY) createPrivate(path);
  const db = openDatabase(path, { timeout: 5000 });
  db.exec(
    'PRAGMA busy_timeout = 5000; PRAGMA journal_mode = DELETE; PRAGMA secure_delete = ON; PRAGMA synchronous = FULL;',
  );
  db.exec(schema);
  return db;
}

/** The file beside a journal with its data of one kind. A journal in memory has its data in memory too. */
export function fileBeside(journal: string, kind: string): string {
  return journal === IN_MEMORY ? journal : `${journal}.${kind}`;
}

export const IN_MEMORY = ':memory:';

/** How a file beside the journal keeps its texts. What is in memory only is not sealed. */
export function codecFor(path: string): Codec {
  return path === IN_MEMORY ? NO_CODEC : codecOfProcess();
}

/** A file whose values can be sealed again. `rekey` returns how many there were. */
export type Rekeyed<Store> = Store & { rekey(): number };

/** Runs the work in one transaction that writes. */
export function atOnce<T>(db: DatabaseSync, work: () => T): T {
  db.exec('BEGIN IMMEDIATE');
  try {
    const result = work();
    db.exec('COMMIT');
    return result;
  } catch (error) {
    if (db.isTransaction) db.exec('ROLLBACK');
    throw error;
  }
}

/** Creates the file, readable by its owner only, unless it exists. SQLite gives the files that it adds the same mode. */
export function createPrivate(path: string): void {
  try {
    closeSync(openSync(path, 'ax', 0o600));
  } catch (error) {
    if ((error as { code?: string }).code !== 'EEXIST') throw error;
  }
}

function loadOpen(): Open {
  const { DatabaseSync: Database, StatementSync: Statement } = process.getBuiltinModule('node:sqlite');
  if ('setReturnArrays' in Statement.prototype) return (path, options) => new Database(path, options);
  class OlderDatabase extends Database {
    override prepare(sql: string): StatementSync {
      return new OlderStatement(super.prepare(sql)) as unknown as StatementSync;
    }
  }
  return (path, { timeout = 0, ...options }) => {
    const database = new OlderDatabase(String(path), options);
    database.exec(`PRAGMA busy_timeout = ${timeout}`);
    return Object.defineProperty(database, 'isTransaction', { get: () => isInTransaction(database) });
  };
}

/**
 * A number above 2^53 makes Node refuse the whole read. The engine writes none, so such a row was changed from outside. It is
 * read with the nearest number that JavaScript has: its run no longer verifies, and the other runs stay readable.
 */
export function withLargeNumbers(statement: StatementSync): StatementSync {
  if (!('setReadBigInts' in statement)) return statement;
  type Read = (...values: Parameters<StatementSync['all']>) => unknown;
  const reading =
    (read: Read): Read =>
    (...values) => {
      try {
        return read.apply(statement, values);
      } catch (error) {
        if ((error as { code?: string }).code !== 'ERR_OUT_OF_RANGE') throw error;
        statement.setReadBigInts(true);
        try {
          return asNumbers(read.apply(statement, values));
        } finally {
          statement.setReadBigInts(false);
        }
      }
    };
  const { get, iterate } = statement;
  const all = reading(statement.all) as (...values: Parameters<Read>) => readonly unknown[];
  function* rows(...values: Parameters<Read>): Generator {
    let count = 0;
    try {
      for (const row of iterate.apply(statement, values)) {
        yield row;
        count += 1;
      }
    } catch (error) {
      if ((error as { code?: string }).code !== 'ERR_OUT_OF_RANGE') throw error;
      yield* all(...values).slice(count);
    }
  }
  return Object.assign(statement, { get: reading(get), all, iterate: rows });
}

function asNumbers(value: unknown): unknown {
  if (typeof value === 'bigint') return Number(value);
  if (Array.isArray(value)) return value.map(asNumbers);
  if (value === null || typeof value !== 'object' || ArrayBuffer.isView(value)) return value;
  return Object.fromEntries(Object.entries(value).map(([key, each]) => [key, asNumbers(each)]));
}

function isInTransaction(database: DatabaseSync): boolean {
  try {
    database.exec('BEGIN');
  } catch {
    return true;
  }
  database.exec('ROLLBACK');
  return false;
}

/** `get` of those releases leaves the statement open, so every read goes to its end. */
class OlderStatement {
  readonly #statement: StatementSync;
  #isArray = false;

  constructor(statement: StatementSync) {
    this.#statement = statement;
  }

  setReturnArrays(isArray: boolean): void {
    this.#isArray = isArray;
  }

  run(...values: Parameters<StatementSync['run']>): unknown {
    return this.#statement.run(...values);
  }

  all(...values: Parameters<StatementSync['all']>): unknown[] {
    const rows = this.#statement.all(...values) as object[];
    return this.#isArray ? rows.map((row) => Object.values(row) as unknown) : rows;
  }

  get(...values: Parameters<StatementSync['all']>): unknown {
    return this.all(...values)[0];
  }

  *iterate(...values: Parameters<StatementSync['all']>): Generator {
    yield* this.all(...values);
  }
}
