/**
 * Hints of what other processes have stored. A commit of any process writes to the write-ahead log, and the operating system tells of
 * it. SQLite then says whether another connection has written, and the new rows say what. Where files cannot be watched there are no
 * hints.
 */
import { watch } from 'node:fs';
import type { FSWatcher } from 'node:fs';
import type { RunId } from '@sluice-internal/kernel/ir';
import type { Hint, Store } from '@sluice-internal/engine/ports';
import type { Connection, Statements } from './connection.ts';

/** Many commits at once are one hint. */
const GATHER_MS = 2;

export class Hints {
  readonly #connection: Connection;
  readonly #log: string;
  readonly #statements: Statements<typeof SQL>;
  readonly #listeners = new Set<(hint: Hint) => void>();
  #watcher: FSWatcher | null = null;
  #timer: NodeJS.Timeout | null = null;
  #version = -1;
  #lastAppend = 0;
  #lastMail = 0;

  constructor(connection: Connection, path: string) {
    this.#connection = connection;
    this.#log = `${path}-wal`;
    this.#statements = connection.prepareAll(SQL);
  }

  subscribe: NonNullable<Store['subscribe']> = (wake) => {
    this.#listeners.add(wake);
    if (this.#watcher === null) this.#watch();
    return () => {
      this.#listeners.delete(wake);
      if (this.#listeners.size === 0) this.close();
    };
  };

  close(): void {
    this.#watcher?.close();
    this.#watcher = null;
    if (this.#timer !== null) clearTimeout(this.#timer);
    this.#timer = null;
  }

  #watch(): void {
    try {
      const { append, mail } = this.#ends();
      [this.#version, this.#lastAppend, this.#lastMail] = [this.#connection.newVersion(), append, mail];
      this.#watcher = watch(this.#log, { persistent: false }, () => this.#gather());
      this.#watcher.on('error', () => this.close());
    } catch {
      this.close();
    }
  }

  #gather(): void {
    this.#timer ??= setTimeout(() => {
      this.#timer = null;
      this.#look();
    }, GATHER_MS).unref();
  }

  #look(): void {
    try {
      const version = this.#connection.newVersion();
      if (version === this.#version) return;
      this.#version = version;
      const hint = this.#newRows();
      if (hint.mail || hint.runs.length > 0) for (const wake of this.#listeners) wake(hint);
    } catch {
      // The file is locked or closed. The engine looks by itself.
    }
  }

  #newRows(): Hint {
    const { append, mail } = this.#ends();
    const rows = this.#connection.read(() => this.#statements.runs.all(this.#lastAppend)) as unknown as [RunId][];
    const hint = { runs: rows.map(([run]) => run), mail: mail > this.#lastMail };
    [this.#lastAppend, this.#lastMail] = [append, mail];
    return hint;
  }

  #ends(): { readonly append: number; readonly mail: number } {
    const row = this.#connection.read(() => this.#statements.ends.get()) as unknown as [number | null, number | null];
    return { append: row[0] ?? 0, mail: row[1] ?? 0 };
  }
}

const SQL = {
  runs: 'SELECT DISTINCT runs.run FROM log JOIN runs ON runs.id = log.run WHERE log.id > ?',
  // Letters are deleted, but their numbers are not used again.
  ends: "SELECT (SELECT max(id) FROM log), (SELECT seq FROM sqlite_sequence WHERE name = 'mail')",
} as const;
