/**
 * The connections of a store. It connects when it is first used. A statement that may be lost on the way has a time limit: its outcome
 * is then unknown, and the caller compares. No statement needs the session of another one, so a pool of connections between this
 * process and the server may give each transaction another session.
 */
import type { Client, ClientBase, Pool, PoolClient, QueryConfig, QueryResultRow } from 'pg';
import { SluiceError } from '@sluice-internal/engine/ports';
import { requireOptional } from '@sluice-internal/platform/packages';
import { sslOf } from './address.ts';
import type { PostgresAddress } from './address.ts';
import { faultOf, isUndone } from './faults.ts';
import { inSchema } from './in-schema.ts';
import { migrate } from './migrate.ts';

/** Longer than a commit takes on a busy server, and about as long as a lease. */
const ANSWER_MS = 10_000;
/** For reads of whole tables, removals, and what waits for a lock. */
export const SLOW_MS = 600_000;
const CONNECT_MS = 5_000;
const CONNECTIONS_MAX = 8;
const TRIES_MAX = 5;

type Pg = { readonly Pool: typeof Pool; readonly Client: typeof Client };
export type Values = readonly unknown[];
/** Runs a statement. Names that begin with `@` lie in the schema of the store. */
export type Query = <Row extends QueryResultRow>(
  sql: string,
  values?: Values,
  waitMs?: number,
) => Promise<readonly Row[]>;

export class Database {
  readonly address: PostgresAddress;
  readonly #pg: Pg;
  readonly #readOnly: boolean;
  readonly #onNotice: (message: string) => void;
  #pool: Pool | null = null;
  #opening: Promise<void> | null = null;
  #isOpen = false;
  #isClosed = false;
  #id = '';

  constructor(address: PostgresAddress, readOnly: boolean, onNotice: (message: string) => void) {
    this.address = address;
    this.#readOnly = readOnly;
    this.#onNotice = onNotice;
    this.#pg = requireOptional('pg', 'a store in Postgres') as Pg;
  }

  /** The id of the store. It is known when the store was first reached. */
  get id(): string {
    if (this.#id !== '') return this.#id;
    throw new SluiceError(
      'journal-unavailable',
      `\`${this.address.shown}\` was not reached yet`,
      'Wait for `ready()` of the store.',
    );
  }

  /** Connects, and makes or checks the tables. After an error the next call tries again. */
  async ready(): Promise<void> {
    if (this.#isOpen) return;
    if (this.#isClosed) throw this.#closed();
    await (this.#opening ??= this.#open().finally(() => (this.#opening = null)));
  }

  query: Query = async <Row extends QueryResultRow>(sql: string, values: Values = [], waitMs = ANSWER_MS) => {
    if (!this.#isOpen) await this.ready();
    for (let tries = 1; ; tries += 1)
      try {
        return await this.#query<Row>(sql, values, waitMs);
      } catch (error) {
        if (!isUndone(error) || tries >= TRIES_MAX) throw this.#fault(error);
      }
  };

  /** Several statements in one transaction. It is made again if the server has undone it for the sake of another one. */
  async transaction<T>(work: (query: Query) => Promise<T>, waitMs = ANSWER_MS): Promise<T> {
    await this.ready();
    for (let tries = 1; ; tries += 1)
      try {
        return await this.#transaction(work, waitMs);
      } catch (error) {
        if (!isUndone(error) || tries >= TRIES_MAX) throw this.#fault(error);
      }
  }

  /** A connection of its own, for the notices of the server. It keeps no process alive. */
  async listener(): Promise<ClientBase & { end(): Promise<void> }> {
    await this.ready();
    const client = new this.#pg.Client({ ...this.#config(), query_timeout: ANSWER_MS, keepAlive: true });
    client.on('error', () => undefined);
    await client.connect();
    (client as unknown as { connection: { stream: { unref(): void } } }).connection.stream.unref();
    return client;
  }

  sql(text: string): string {
    let own = this.#texts.get(text);
    if (own === undefined) this.#texts.set(text, (own = inSchema(text, this.address.schema)));
    return own;
  }
  readonly #texts = new Map<string, string>();

  async close(): Promise<void> {
    if (this.#isClosed) return;
    this.#isClosed = true;
    await this.#opening?.catch(() => undefined);
    this.#isOpen = false;
    await this.#pool?.end();
  }

  async #open(): Promise<void> {
    const pool = (this.#pool ??= this.#newPool());
    try {
      const client = await pool.connect();
      try {
        this.#id = await migrate(client, this.address, { readOnly: this.#readOnly, onNotice: this.#onNotice });
        client.release();
      } catch (error) {
        client.release(true);
        throw error;
      }
      if (this.#isClosed) throw this.#closed();
      this.#isOpen = true;
    } catch (error) {
      throw this.#fault(error);
    }
  }

  #newPool(): Pool {
    const pool = new this.#pg.Pool({ ...this.#config(), max: CONNECTIONS_MAX, allowExitOnIdle: true });
    // Without a listener, the loss of an idle connection would end the process.
    pool.on('error', () => undefined);
    pool.on('connect', (client) => client.on('error', () => undefined));
    return pool;
  }

  #config(): object {
    const { host, port, user, password, database } = this.address;
    return {
      ...{ host, port, user, password, database },
      ssl: sslOf(this.address),
      application_name: 'sluice',
      connectionTimeoutMillis: CONNECT_MS,
      keepAlive: true,
      types: { getTypeParser: parserOf },
    };
  }

  async #query<Row extends QueryResultRow>(sql: string, values: Values, waitMs: number): Promise<readonly Row[]> {
    if (this.#isClosed || this.#pool === null) throw this.#closed();
    const text = this.sql(sql);
    const given: QueryConfig = { text, values: values as unknown[], ...{ query_timeout: waitMs } };
    return (await this.#pool.query<Row>(given)).rows;
  }

  async #transaction<T>(work: (query: Query) => Promise<T>, waitMs: number): Promise<T> {
    if (this.#isClosed || this.#pool === null) throw this.#closed();
    const client: PoolClient = await this.#pool.connect();
    const query: Query = async <Row extends QueryResultRow>(sql: string, values: Values = []) => {
      const given: QueryConfig = { text: this.sql(sql), values: values as unknown[], ...{ query_timeout: waitMs } };
      return (await client.query<Row>(given)).rows;
    };
    try {
      await query('BEGIN');
      const result = await work(query);
      await query('COMMIT');
      client.release();
      return result;
    } catch (error) {
      await query('ROLLBACK').then(
        () => client.release(),
        () => client.release(true),
      );
      throw error;
    }
  }

  #closed(): SluiceError {
    return new SluiceError('engine-closed', `the store \`${this.address.shown}\` is closed`);
  }

  #fault(error: unknown): unknown {
    return this.#isClosed && !(error instanceof SluiceError) ? this.#closed() : faultOf(error, this.address);
  }
}

/** Numbers of 64 bits come as text otherwise. All of ours are below 2^53. */
function parserOf(type: number): (text: string) => unknown {
  if (type === INT8 || type === INT4) return Number;
  if (type === JSON_TYPE || type === JSONB_TYPE) return (text) => JSON.parse(text) as unknown;
  if (type === BYTEA) return (text) => Buffer.from(text.slice(2), 'hex');
  if (type === BOOLEAN) return (text) => text === 't';
  return (text) => text;
}
const INT8 = 20;
const INT4 = 23;
const BOOLEAN = 16;
const BYTEA = 17;
const JSON_TYPE = 114;
const JSONB_TYPE = 3802;
