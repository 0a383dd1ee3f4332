/**
 * Stores appends inside a transaction of the caller. The worker's lease is checked once for all of them. An append that
 * changes nothing else costs one row. A stale append stores nothing.
 */
import type { RunStatus } from '../../ir/codes.ts';
import type { RunId } from '../../ir/events.ts';
import type { Append, RunEntryChange, WorkerId } from '../../runtime/ports.ts';
import { mayAppend, ownerAfter } from '../leases.ts';
import type { Connection, KnownRun, Statements } from './connection.ts';

export type Stored = 'committed' | 'stale';

export class Appends {
  readonly #connection: Connection;
  readonly #statements: Statements<typeof SQL>;

  constructor(connection: Connection) {
    this.#connection = connection;
    this.#statements = connection.prepareAll(SQL);
  }

  store(worker: WorkerId, appends: readonly Append[]): Stored[] {
    const owner = this.#connection.leases.get(worker) ?? this.#findLease(worker);
    return appends.map((append) => (owner === null ? 'stale' : this.#storeOne(owner, append)));
  }

  #storeOne(worker: number, append: Append): Stored {
    const { after, count, at, body, hash, entry, blobs, snapshot, checkpoint } = append;
    const run = after === 0 ? this.#create(worker, append) : this.#advance(worker, append);
    if (run === undefined) return 'stale';
    const { insertLog, findBlob, insertBlob, putSnapshot, insertCheckpoint } = this.#statements;
    insertLog.run(run.id, after, count, at, body, hash);
    run.head = after + count;
    for (const blob of blobs)
      if (findBlob.get(run.id, blob.hash) === undefined) insertBlob.run(run.id, blob.hash, blob.body);
    if (snapshot !== null) putSnapshot.run(run.id, snapshot.seq, snapshot.hash, snapshot.body);
    if (checkpoint !== undefined) {
      const { seq, head, at: signedAt, key, signature } = checkpoint;
      insertCheckpoint.run(run.id, seq, head, signedAt, key, signature);
    }
    if (entry === null) return 'committed';
    run.status = entry.status;
    run.owner = ownerAfter(entry.status, worker);
    // Another connection may claim a run without an owner at any time.
    if (run.owner === null) this.#connection.known.delete(append.run);
    return 'committed';
  }

  #advance(worker: number, { run: id, after, at, entry }: Append): KnownRun | undefined {
    const run = this.#connection.known.get(id) ?? this.#findRun(id);
    if (run === undefined || !mayAppend(run, worker) || run.head !== after) return undefined;
    if (entry !== null) {
      const { status, code, due } = entry;
      this.#statements.updateRun.run(status, code, at, due, ownerAfter(status, worker), run.id);
    }
    return run;
  }

  #create(worker: number, { run: id, at, flow, entry }: Append): KnownRun | undefined {
    const { known } = this.#connection;
    if (entry?.first === undefined || known.has(id)) return undefined;
    if (flow === null) throw new TypeError(`the first append of run ${id} has no flow`);
    const graph = this.#connection.graphs.get(flow.hash) ?? this.#storeGraph(flow.hash, flow.text);
    const rowid = this.#insertRun(id, graph, at, entry, entry.first, ownerAfter(entry.status, worker));
    if (rowid === null) return undefined;
    const run: KnownRun = { id: rowid, head: 0, owner: worker, status: entry.status };
    known.set(id, run);
    return run;
  }

  /** Null when the id is taken. */
  #insertRun(
    run: RunId,
    graph: number,
    at: number,
    { status, code, due }: RunEntryChange,
    { flow, notation, startedAt, tenant, user, parent }: NonNullable<RunEntryChange['first']>,
    owner: number | null,
  ): number | null {
    const { insertRun } = this.#statements;
    const { changes, lastInsertRowid } = insertRun.run(
      run,
      graph,
      flow,
      notation,
      status,
      code,
      startedAt,
      at,
      due,
      owner,
      tenant,
      user,
      parent,
    );
    return changes === 0 ? null : Number(lastInsertRowid);
  }

  #findLease(worker: WorkerId): number | null {
    const row = this.#statements.findLease.get(worker) as [number] | undefined;
    if (row === undefined) return null;
    this.#connection.leases.set(worker, row[0]);
    return row[0];
  }

  #findRun(id: RunId): KnownRun | undefined {
    const row = this.#statements.findRun.get(id) as [number, number | null, number | null, RunStatus] | undefined;
    if (row === undefined) return undefined;
    const run = { id: row[0], owner: row[1], head: row[2] ?? 0, status: row[3] };
    if (run.owner !== null) this.#connection.known.set(id, run);
    return run;
  }

  #storeGraph(hash: string, text: string): number {
    const { findFlow, insertFlow } = this.#statements;
    const found = findFlow.get(hash) as [number] | undefined;
    const id = found === undefined ? Number(insertFlow.run(hash, text).lastInsertRowid) : found[0];
    this.#connection.graphs.set(hash, id);
    return id;
  }
}

const SQL = {
  findLease: 'SELECT id FROM workers WHERE worker = ? AND fenced = 0',
  findRun: `SELECT id, owner, (SELECT after + count FROM log WHERE run = runs.id ORDER BY after DESC LIMIT 1), status
     FROM runs WHERE run = ?`,
  findFlow: 'SELECT id FROM flows WHERE hash = ?',
  insertFlow: 'INSERT INTO flows (hash, text) VALUES (?, ?)',
  insertRun: `INSERT INTO runs (run, graph, flow, notation, status, code, started_at, updated_at, due, owner, tenant, user, parent)
     VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?) ON CONFLICT (run) DO NOTHING`,
  updateRun: 'UPDATE runs SET status = ?, code = ?, updated_at = ?, due = ?, owner = ? WHERE id = ?',
  insertLog: 'INSERT INTO log (run, after, count, at, body, hash) VALUES (?, ?, ?, ?, ?, ?)',
  findBlob: 'SELECT 1 FROM blobs WHERE run = ? AND hash = ?',
  insertBlob: 'INSERT INTO blobs (run, hash, body) VALUES (?, ?, ?)',
  insertCheckpoint: 'INSERT INTO checkpoints VALUES (?, ?, ?, ?, ?, ?)',
  putSnapshot: `INSERT INTO snapshots (run, seq, hash, body) VALUES (?, ?, ?, ?) ON CONFLICT (run)
     DO UPDATE SET seq = excluded.seq, hash = excluded.hash, body = excluded.body WHERE excluded.seq > seq`,
} as const;
