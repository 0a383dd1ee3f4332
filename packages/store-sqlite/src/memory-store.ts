/**
 * Long-term memory in a file of its own beside the journal, so that entries can be erased alone. Every query has the owner in
 * its condition; an entry of another owner is a violation.
 */
import { existsSync } from 'node:fs';
import type { DatabaseSync } from 'node:sqlite';
import {
  MemoryViolation,
  guardedMemory,
  isOperator,
  isVisible,
  mayAccess,
  memoryBody,
  memoryEntry,
  ownerKey,
  resealed,
  similarity,
  textOf,
  wordsOf,
} from '@sluice-internal/engine/ports';
import type {
  Codec,
  MemoryCaller,
  MemoryEntry,
  MemoryQuery,
  MemoryStore,
  OnViolation,
  Place,
} from '@sluice-internal/engine/ports';
import { IN_MEMORY, atOnce, codecFor, fileBeside, openErasable } from './database.ts';
import type { Rekeyed } from './database.ts';
import { faultOf } from './faults.ts';

const SCHEMA = `
CREATE TABLE IF NOT EXISTS entries (
  number INTEGER PRIMARY KEY,
  id TEXT NOT NULL UNIQUE,
  owner TEXT NOT NULL,
  tenant TEXT,
  run TEXT NOT NULL,
  state TEXT NOT NULL CHECK (state IN ('active', 'quarantined')),
  at INTEGER NOT NULL,
  expires_at INTEGER NOT NULL,
  body TEXT NOT NULL,
  vector TEXT
) STRICT;
CREATE INDEX IF NOT EXISTS entries_by_owner ON entries (owner, state, at);
CREATE INDEX IF NOT EXISTS entries_by_run ON entries (run);
`;
/** The full-text index overwrites what is deleted, as the table does. */
const INDEX_SCHEMA = `
CREATE VIRTUAL TABLE IF NOT EXISTS words USING fts5 (text, tokenize = 'unicode61 remove_diacritics 2');
INSERT INTO words (words, rank) VALUES ('secure-delete', 1);
`;

/** The file of the memory that belongs to a journal. */
export function memoryFileOf(journal: string): string {
  return fileBeside(journal, 'memory');
}

export interface MemoryStoreOptions {
  readonly onViolation?: OnViolation | undefined;
  /** How texts are stored. Default: sealed with the keys in SLUICE_JOURNAL_KEY. */
  readonly codec?: Codec;
}

/** Opens the file when it is needed. Only a write makes a new file. */
export function memoryBeside(journal: string, options: MemoryStoreOptions = {}): Rekeyed<Closable> {
  const path = memoryFileOf(journal);
  let store: ReturnType<typeof openMemoryStore> | null = null;
  const opened = (): ReturnType<typeof openMemoryStore> => (store ??= openMemoryStore(path, options));
  const existing = (): ReturnType<typeof openMemoryStore> | null => store ?? (existsSync(path) ? opened() : null);
  const guardedStore = guardedMemory({
    add: async (caller, entry, vector) => opened().add(caller, entry, vector),
    get: async (caller, id, now) => (await existing()?.get(caller, id, now)) ?? null,
    find: async (caller, query) => (await existing()?.find(caller, query)) ?? [],
    quarantined: async (caller, limit) => (await existing()?.quarantined(caller, limit)) ?? [],
    release: async (caller, id, at) => (await existing()?.release(caller, id, at)) ?? null,
    forget: async (caller, id) => (await existing()?.forget(caller, id)) ?? false,
    eraseRuns: async (runs) => (await existing()?.eraseRuns(runs)) ?? 0,
    eraseExpired: async (now) => (await existing()?.eraseExpired(now)) ?? 0,
    close: async () => store?.close(),
  });
  return { ...guardedStore, rekey: () => existing()?.rekey() ?? 0 };
}

type Closable = MemoryStore & { close(): Promise<void> };

/**
 * Keeps entries until the process ends.
 * @example
 * const own = createEngine({ toolOptions: { memory: createMemoryStore() } });
 */
export function createMemoryStore(options: MemoryStoreOptions = {}): MemoryStore {
  return memoryBeside(IN_MEMORY, options);
}

/**
 * Opens a memory store in a SQLite file. Several processes may open it.
 * @example
 * const own = createEngine({ toolOptions: { memory: openMemoryStore('./agents.memory') } });
 */
export function openMemoryStore(path: string, options: MemoryStoreOptions = {}): Rekeyed<Closable> {
  const file = new MemoryFile(path, options);
  const store = guardedMemory({
    add: async (caller, entry, vector) => file.add(caller, entry, vector),
    get: async (caller, id, now) => {
      const entry = file.accessed(caller, 'read', id);
      return entry !== null && isVisible(caller, entry, now) ? entry : null;
    },
    find: async (caller, query) => file.find(caller, query),
    quarantined: async (caller, limit) => file.quarantined(caller, limit),
    release: async (caller, id, at) => file.release(caller.operator, file.accessed(caller, 'release', id), at),
    forget: async (caller, id) => file.accessed(caller, 'forget', id) !== null && file.erase('id = ?', [id]) > 0,
    eraseRuns: async (runs) => runs.reduce((count, run) => count + file.erase('run = ?', [run]), 0),
    eraseExpired: async (now) => file.erase('expires_at <= ?', [now]),
    close: async () => file.close(),
  });
  return { ...store, rekey: () => file.rekey() };
}

type Row = { readonly [column: string]: unknown };
type Value = string | number | null;

class MemoryFile {
  readonly #db: DatabaseSync;
  readonly #path: string;
  readonly #codec: Codec;
  readonly #onViolation: OnViolation | undefined;
  /** Some early releases of Node 22 have no full-text search. */
  readonly #hasIndex: boolean;

  constructor(path: string, { onViolation, codec = codecFor(path) }: MemoryStoreOptions) {
    this.#path = path;
    this.#codec = codec;
    this.#onViolation = onViolation;
    try {
      this.#db = openErasable(path, SCHEMA);
      this.#hasIndex = this.#has("pragma_module_list WHERE name = 'fts5'");
      if (this.#hasIndex && !this.#has("sqlite_schema WHERE name = 'words'")) this.#db.exec(INDEX_SCHEMA);
    } catch (error) {
      throw faultOf(error, path);
    }
  }

  add(caller: MemoryCaller, entry: MemoryEntry, vector: readonly number[] | undefined): MemoryEntry {
    if (!mayAccess(caller, entry.owner)) throw this.#violation(caller, 'write', entry.id);
    return this.#atOnce(() => {
      const known = this.accessed(caller, 'write', entry.id);
      if (known !== null) return known;
      const { id, owner, run, state, at, expiresAt } = entry;
      const { lastInsertRowid } = this.#db
        .prepare(
          'INSERT INTO entries (id, owner, tenant, run, state, at, expires_at, body, vector) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)',
        )
        .run(
          ...[id, ownerKey(owner), owner.tenant, run, state, at, expiresAt],
          this.#sealed(id, memoryBody(entry)),
          vector === undefined ? null : this.#sealed(id, JSON.stringify(vector)),
        );
      const text = wordsOf(`${textOf(entry.goal)}\n${textOf(entry.answer)}`).join(' ');
      // The index would have the words in clear.
      if (this.#hasIndex && this.#codec.key === null)
        this.#db.prepare('INSERT INTO words (rowid, text) VALUES (?, ?)').run(lastInsertRowid, text);
      return entry;
    });
  }

  /** Null if there is no entry with this id. Throws if the caller may not use it. */
  accessed(caller: MemoryCaller, operation: string, id: string): MemoryEntry | null {
    const [row] = this.#rows(`SELECT ${COLUMNS} FROM entries WHERE id = ?`, [id]);
    if (row === undefined) return null;
    const entry = this.#entryOf(row);
    if (mayAccess(caller, entry.owner)) return entry;
    throw this.#violation(caller, operation, id);
  }

  /** Entries that fit come first, then the newest. */
  find(caller: MemoryCaller, query: MemoryQuery): readonly MemoryEntry[] {
    const { text = '', vector, limit = Number.MAX_SAFE_INTEGER } = query;
    const { sql, values } = visibleTo(caller, query.now);
    const fitting =
      vector === undefined ? this.#byWords(text, sql, values, limit) : this.#byVector(vector, sql, values);
    const isOffered = (entry: MemoryEntry): boolean => isOperator(caller) || entry.state === 'active';
    return this.#ordered(fitting, query, { sql, values }, limit).filter(isOffered);
  }

  #ordered(
    fitting: readonly MemoryEntry[],
    query: MemoryQuery,
    { sql, values }: Condition,
    limit: number,
  ): readonly MemoryEntry[] {
    if (query.only === true) return fitting.slice(0, limit);
    const latest = this.#rows(`SELECT ${COLUMNS} FROM entries WHERE ${sql} ORDER BY at DESC, number DESC LIMIT ?`, [
      ...values,
      limit,
    ]).map(this.#entryOf);
    const seen = new Set(fitting.map(({ id }) => id));
    return [...fitting, ...latest.filter(({ id }) => !seen.has(id))].slice(0, limit);
  }

  quarantined(caller: MemoryCaller, limit: number): readonly MemoryEntry[] {
    const { sql, values } = ownedBy(caller);
    const which = `${sql} AND state = 'quarantined'`;
    return this.#rows(`SELECT ${COLUMNS} FROM entries WHERE ${which} ORDER BY at DESC, number DESC LIMIT ?`, [
      ...values,
      limit,
    ]).map(this.#entryOf);
  }

  release(by: string, entry: MemoryEntry | null, at: number): MemoryEntry | null {
    if (entry === null || entry.state === 'active') return entry;
    const released: MemoryEntry = { ...entry, state: 'active', released: { by, at } };
    this.#within(() =>
      this.#db
        .prepare("UPDATE entries SET state = 'active', body = ? WHERE id = ?")
        .run(this.#sealed(entry.id, memoryBody(released)), entry.id),
    );
    return released;
  }

  erase(condition: string, values: readonly Value[]): number {
    return this.#atOnce(() => {
      const numbers = `SELECT number FROM entries WHERE ${condition}`;
      if (this.#hasIndex) this.#db.prepare(`DELETE FROM words WHERE rowid IN (${numbers})`).run(...values);
      return Number(this.#db.prepare(`DELETE FROM entries WHERE ${condition}`).run(...values).changes);
    });
  }

  close(): void {
    if (this.#db.isOpen) this.#db.close();
  }

  #byWords(text: string, sql: string, values: readonly Value[], limit: number): readonly MemoryEntry[] {
    const words = wordsOf(text).slice(0, WORDS_MAX);
    if (words.length === 0 || !this.#hasIndex) return [];
    if (this.#codec.key !== null) return this.#byReading(words, sql, values).slice(0, limit);
    const match = words.map((word) => `"${word}"`).join(' OR ');
    return this.#rows(
      `SELECT ${COLUMNS} FROM words JOIN entries ON entries.number = words.rowid
       WHERE words MATCH ? AND ${sql} ORDER BY words.rank, at DESC LIMIT ?`,
      [match, ...values, limit],
    ).map(this.#entryOf);
  }

  /** Sealed entries have no index. Those with the most of the words come first, then the newest. */
  #byReading(words: readonly string[], sql: string, values: readonly Value[]): readonly MemoryEntry[] {
    return this.#rows(`SELECT ${COLUMNS} FROM entries WHERE ${sql} ORDER BY at DESC, number DESC`, values)
      .map((row) => {
        const entry = this.#entryOf(row);
        const own = new Set(wordsOf(`${textOf(entry.goal)}\n${textOf(entry.answer)}`));
        return { entry, score: words.filter((word) => own.has(word)).length };
      })
      .filter(({ score }) => score > 0)
      .toSorted((a, b) => b.score - a.score)
      .map(({ entry }) => entry);
  }

  /** What the values were before is overwritten. */
  rekey(): number {
    return this.#atOnce(() => {
      let count = 0;
      const put = this.#db.prepare('UPDATE entries SET body = ?, vector = ? WHERE id = ?');
      for (const row of this.#db.prepare('SELECT id, body, vector FROM entries').all()) {
        const id = String(row['id']);
        const [body, vector] = [row['body'], row['vector']].map((text) =>
          text === null ? null : resealed(this.#codec, String(text), placeOf(id)),
        );
        if (body === null && vector === null) continue;
        put.run(body ?? String(row['body']), vector ?? (row['vector'] as string | null), id);
        count += 1;
      }
      if (this.#hasIndex && this.#codec.key !== null) this.#db.exec('DELETE FROM words');
      return count;
    });
  }

  #sealed(id: string, text: string): string {
    return this.#codec.seal(text, placeOf(id));
  }

  #opened(row: Row, column: string): string {
    return this.#codec.open(String(row[column]), placeOf(String(row['id'])));
  }

  #entryOf = (row: Row): MemoryEntry => entryOf({ ...row, body: this.#opened(row, 'body') });

  #byVector(vector: readonly number[], sql: string, values: readonly Value[]): readonly MemoryEntry[] {
    return this.#rows(`SELECT ${COLUMNS}, vector FROM entries WHERE ${sql} AND vector IS NOT NULL`, values)
      .map((row) => ({
        entry: this.#entryOf(row),
        score: similarity(vector, JSON.parse(this.#opened(row, 'vector')) as readonly number[]),
      }))
      .filter(({ score }) => score > 0)
      .toSorted((a, b) => b.score - a.score)
      .map(({ entry }) => entry);
  }

  #has(from: string): boolean {
    return this.#db.prepare(`SELECT 1 FROM ${from}`).get() !== undefined;
  }

  #rows(sql: string, values: readonly Value[]): readonly Row[] {
    return this.#within(() => this.#db.prepare(sql).all(...values) as readonly Row[]);
  }

  #atOnce<T>(work: () => T): T {
    return this.#within(() => atOnce(this.#db, work));
  }

  #within<T>(work: () => T): T {
    try {
      return work();
    } catch (error) {
      throw faultOf(error, this.#path);
    }
  }

  #violation(caller: MemoryCaller, operation: string, id: string): MemoryViolation {
    const violation = new MemoryViolation(caller, operation, id);
    this.#onViolation?.(violation);
    return violation;
  }
}

const placeOf = (id: string): Place => ({ store: '', table: 'memory', run: '', seq: id });

const WORDS_MAX = 50;

interface Condition {
  readonly sql: string;
  readonly values: readonly Value[];
}

function ownedBy(caller: MemoryCaller): Condition {
  if (!isOperator(caller)) return { sql: 'owner = ?', values: [ownerKey(caller)] };
  return caller.tenant === undefined ? { sql: 'true', values: [] } : { sql: 'tenant = ?', values: [caller.tenant] };
}

function visibleTo(caller: MemoryCaller, now: number): Condition {
  const { sql, values } = ownedBy(caller);
  if (isOperator(caller)) return { sql, values };
  return { sql: `${sql} AND state = 'active' AND expires_at > ?`, values: [...values, now] };
}

const COLUMNS = 'id, owner, run, state, expires_at, body';

function entryOf(row: Row): MemoryEntry {
  const [id, owner, run] = [row['id'], row['owner'], row['run']].map(String) as [string, string, string];
  const [state, body] = [String(row['state']), String(row['body'])];
  return memoryEntry({ id, owner, run, state, expiresAt: Number(row['expires_at']), body });
}
