/**
 * Hints of what other processes have stored, by LISTEN on a connection of its own. They are sent when there is new mail and when runs are
 * released, at most some times a second and never in a commit: a transaction with a notice waits for all others of the server. A lost
 * connection is made again.
 */
import type { ClientBase } from 'pg';
import { hash } from 'node:crypto';
import type { Hint, Store } from '@sluice-internal/engine/ports';
import type { RunId } from '@sluice-internal/kernel/ir';
import type { Database } from './database.ts';

const GATHER_MS = 20;
const AGAIN_MIN_MS = 200;
const AGAIN_MAX_MS = 15_000;
/** A notice has at most 8000 bytes. */
const NAMED_MAX = 100;
const PAYLOAD_MAX = 7_000;

type Listener = ClientBase & { end(): Promise<void> };

export class Hints {
  readonly #database: Database;
  readonly #listeners = new Set<(hint: Hint) => void>();
  /** Own notices come back. */
  readonly #self = hash('sha256', `${process.pid} ${performance.timeOrigin} ${Math.random()}`, 'base64url').slice(0, 8);
  #client: Listener | null = null;
  #timer: NodeJS.Timeout | null = null;
  #pause = AGAIN_MIN_MS;
  #isClosed = false;
  #runs = new Set<RunId>();
  #isMail = false;
  #sending: NodeJS.Timeout | null = null;

  constructor(database: Database) {
    this.#database = database;
  }

  subscribe: NonNullable<Store['subscribe']> = (wake) => {
    this.#listeners.add(wake);
    if (this.#listeners.size === 1) void this.#listen();
    return () => {
      this.#listeners.delete(wake);
      if (this.#listeners.size === 0) this.#stop();
    };
  };

  /** Tells other processes. `mail`: workers look for mail and for runs that they can claim. */
  send(runs: readonly RunId[], mail: boolean): void {
    if (this.#isClosed) return;
    for (const run of runs) this.#runs.add(run);
    this.#isMail ||= mail;
    this.#sending ??= setTimeout(() => void this.#send(), mail ? 0 : GATHER_MS).unref();
  }

  async close(): Promise<void> {
    if (this.#sending !== null) await this.#send();
    this.#isClosed = true;
    this.#listeners.clear();
    this.#stop();
  }

  async #send(): Promise<void> {
    if (this.#sending !== null) clearTimeout(this.#sending);
    this.#sending = null;
    const named = JSON.stringify([...this.#runs].slice(0, NAMED_MAX));
    const payload = `${this.#self} ${this.#isMail ? 'm' : '-'} ${Buffer.byteLength(named) > PAYLOAD_MAX ? '[]' : named}`;
    this.#runs = new Set();
    this.#isMail = false;
    await this.#database.query('SELECT pg_notify($1, $2)', [this.#channel(), payload]).catch(() => undefined);
  }

  #channel(): string {
    return `sluice_${this.#database.id.slice(0, 32)}`;
  }

  async #listen(): Promise<void> {
    this.#timer = null;
    if (this.#isClosed || this.#listeners.size === 0) return;
    try {
      const client = await this.#database.listener();
      client.on('notification', ({ payload = '' }) => this.#take(payload));
      client.on('end', () => this.#again(client));
      client.on('error', () => this.#again(client));
      this.#client = client;
      await client.query(`LISTEN ${this.#channel()}`);
      this.#pause = AGAIN_MIN_MS;
      // Something may have been stored while nothing listened.
      this.#wake({ runs: [], mail: true });
      if (this.#isClosed || this.#listeners.size === 0) this.#stop();
    } catch {
      this.#again(this.#client);
    }
  }

  #again(client: Listener | null): void {
    if (client !== this.#client) return;
    this.#client = null;
    client?.end().catch(() => undefined);
    if (this.#isClosed || this.#listeners.size === 0 || this.#timer !== null) return;
    this.#timer = setTimeout(() => void this.#listen(), this.#pause).unref();
    this.#pause = Math.min(2 * this.#pause, AGAIN_MAX_MS);
  }

  #take(payload: string): void {
    const [from, mail, ...rest] = payload.split(' ');
    if (from === this.#self) return;
    try {
      const runs: unknown = JSON.parse(rest.join(' '));
      this.#wake({ runs: Array.isArray(runs) ? runs.map(String) : [], mail: mail === 'm' });
    } catch {
      // Not a notice of ours.
    }
  }

  #wake(hint: Hint): void {
    for (const wake of this.#listeners) wake(hint);
  }

  #stop(): void {
    if (this.#timer !== null) clearTimeout(this.#timer);
    this.#timer = null;
    const client = this.#client;
    this.#client = null;
    client?.end().catch(() => undefined);
  }
}
