/**
 * Stores appends inside a transaction of the caller. The worker's lease is checked once for all of them. An append that
 * changes nothing else costs one row. A stale append stores nothing.
 */
import type { RunId } from '@sluice-internal/kernel/ir';
import { mayAppend, ownerAfter } from '@sluice-internal/engine/ports';
import type { Append, RunDetails, WorkerId } from '@sluice-internal/engine/ports';
import type { Connection, KnownRun, Statements } from './connection.ts';
import { factsRow, sealedFacts } from './facts-row.ts';
import type { Heads } from './heads.ts';
import { hashDetails, hashListing, isIntact, isWorking, readRow, SELECT_LISTED } from './listing.ts';
import type { ListedRow, Listing, QuestionColumns, ReadRow, RunEnd } from './listing.ts';

import { placeOfAppend, placeOfBlob, placeOfGraph, placeOfMessage, placeOfSnapshot } from './places.ts';

export type Stored = 'committed' | 'stale';

export class Appends {
  readonly #connection: Connection;
  readonly #heads: Heads;
  readonly #statements: Statements<typeof SQL>;
  readonly #writes: Statements<typeof WRITES>;

  constructor(connection: Connection, heads: Heads) {
    this.#connection = connection;
    this.#heads = heads;
    this.#statements = connection.prepareAll(SQL);
    this.#writes = connection.prepareWrites(WRITES);
  }

  store(worker: WorkerId, appends: readonly Append[]): Stored[] {
    const owner = this.#connection.leases.get(worker) ?? this.#findLease(worker);
    const stored = appends.map((append) => (owner === null ? 'stale' : this.#storeOne(owner, append)));
    // After the last append: the file may be deleted while many are stored.
    if (appends.some(({ entry }) => entry !== null && !isWorking(entry.status))) this.#connection.checkFile();
    return stored;
  }

  #storeOne(worker: number, append: Append): Stored {
    const { after, count, at, body, hash, entry, blobs, snapshot, checkpoint } = append;
    const run = after === 0 ? this.#create(worker, append) : this.#find(worker, append);
    if (run === undefined) return 'stale';
    const writes = this.#writes;
    const { codec } = this.#connection;
    const { store } = this.#heads;
    writes.insertLog.get(run.id, after, count, at, codec.seal(body, placeOfAppend(store, append.run, after)), hash);
    if (after > 0) this.#advance(run, worker, append);
    if (append.details !== undefined) this.#writeDetails(run, append.details);
    for (const blob of blobs)
      if (writes.findBlob.get(run.id, blob.hash) === undefined)
        writes.insertBlob.get(run.id, blob.hash, codec.seal(blob.body, placeOfBlob(store, append.run, blob.hash)));
    if (snapshot !== null) {
      const sealed = codec.seal(snapshot.body, placeOfSnapshot(store, append.run, snapshot.seq));
      writes.putSnapshot.get(run.id, snapshot.seq, snapshot.hash, sealed);
    }
    if (checkpoint !== undefined) {
      const { seq, head, at: signedAt, key, signature } = checkpoint;
      writes.insertCheckpoint.get(run.id, seq, head, signedAt, key, signature);
    }
    // Another connection may claim a run without an owner at any time.
    if (entry !== null && run.owner === null) this.#connection.known.delete(append.run);
    return 'committed';
  }

  #find(worker: number, { run: id, after }: Append): KnownRun | undefined {
    const run = this.#connection.known.get(id) ?? this.#findRun(id);
    if (run === undefined || run.end.events !== after) return undefined;
    return mayAppend({ owner: run.owner, status: run.listing.status }, worker) ? run : undefined;
  }

  #advance(run: KnownRun, worker: number, append: Append): void {
    const { entry, details, at } = append;
    run.end = endOf(append, run.end.signed);
    if (entry === null && details === undefined) return this.#move(run);
    const listing = details === undefined ? run.listing : { ...run.listing, details: detailsHash(run, details) };
    if (entry === null) return this.#list(run, listing);
    const { status, code, due } = entry;
    run.owner = ownerAfter(status, worker);
    this.#writes.updateRun.get(status, code, at, due, run.owner, run.id);
    this.#list(run, { ...listing, status, code, due, updatedAt: at });
  }

  #move({ id, end }: KnownRun): void {
    this.#writes.moveEnd.get(end.events, end.head, end.signed, this.#heads.at(), id);
    this.#heads.moved(id, end);
  }

  #list(run: KnownRun, listing: Listing): void {
    const { id, end } = run;
    if (listing.details !== run.listing.details) this.#writes.setDetails.get(listing.details, id);
    run.listing = listing;
    const hashed = hashListing(this.#heads.store, listing);
    this.#writes.putEnd.get(id, listing.run, end.events, end.head, end.signed, hashed, this.#heads.at());
    this.#heads.listed(run, end, hashed);
  }

  #writeDetails(run: KnownRun, { facts, questions }: RunDetails): void {
    const { codec } = this.#connection;
    this.#writes.putFacts.get(
      run.id,
      ...sealedFacts(codec, placeOfMessage(this.#heads.store, run.listing.run), factsRow(facts)),
    );
    if (run.asks) this.#writes.deleteQuestions.get(run.id);
    for (const row of questionRows(run, questions)) this.#writes.insertQuestion.get(run.id, ...row);
    run.asks = questions.length > 0;
  }

  /** Replaces the details of a run. False if they were the same, or if another part of the run was changed from outside. */
  describe(id: RunId, details: RunDetails): boolean {
    const row = this.#statements.findRun.get(id) as unknown as ListedRow | undefined;
    const read = row === undefined ? null : readRow(row, this.#connection.codec, this.#heads.store);
    if (read === null || !isIntact(this.#heads.store, read)) return false;
    const run = knownOf(read, read.end);
    const hashed = detailsHash(run, details);
    if (hashed === read.shown && hashed === run.listing.details) return false;
    this.#writeDetails(run, details);
    this.#list(run, { ...run.listing, details: hashed });
    this.#connection.known.delete(id);
    return true;
  }

  #create(worker: number, append: Append): KnownRun | undefined {
    const { run: id, at, flow, entry } = append;
    const { known } = this.#connection;
    if (entry?.first === undefined || known.has(id)) return undefined;
    if (flow === null) throw new TypeError(`the first append of run ${id} has no flow`);
    // A trigger checks this too, but triggers can be dropped.
    if (this.#writes.findTombstone.get(id) !== undefined) return undefined;
    const { status, code, due, first } = entry;
    if (first.thread !== null && this.#isBusy(first)) return undefined;
    const whose = { run: id, graph: flow.hash, ...first };
    const details = append.details === undefined ? '' : detailsHash({ listing: whose }, append.details);
    const listing = { ...whose, details, status, code, due, updatedAt: at };
    const owner = ownerAfter(status, worker);
    const rowid = this.#insertRun(listing, this.#graphOf(flow.hash, flow.text), owner);
    if (rowid === null) return undefined;
    const run: KnownRun = { id: rowid, owner, listing, end: endOf(append, 0), asks: false };
    this.#list(run, listing);
    known.set(id, run);
    return run;
  }

  /** True if an open run of the tenant has the thread. */
  #isBusy({ tenant, thread }: Pick<Listing, 'tenant' | 'thread'>): boolean {
    return this.#statements.findThread.get(thread, tenant) !== undefined;
  }

  /** Null when the id is taken. */
  #insertRun(listing: Listing, graph: number, owner: number | null): number | null {
    const { run, flow, notation, status, code, startedAt, updatedAt, due, tenant, user, thread, parent, details } =
      listing;
    // prettier-ignore
    const { changes, lastInsertRowid } = this.#statements.insertRun.run(
      run, graph, flow, notation, status, code, startedAt, updatedAt, due, owner, tenant, user, thread, parent, details,
    );
    return changes === 0 ? null : Number(lastInsertRowid);
  }

  #findLease(worker: WorkerId): number | null {
    const row = this.#statements.findLease.get(worker) as [number] | undefined;
    if (row === undefined) return null;
    this.#connection.leases.set(worker, row[0]);
    return row[0];
  }

  /** A row that was changed from outside is not extended, because the new entry would cover the change. */
  #findRun(id: RunId): KnownRun | undefined {
    const row = this.#statements.findRun.get(id) as unknown as ListedRow | undefined;
    if (row === undefined) return undefined;
    const read = readRow(row, this.#connection.codec, this.#heads.store);
    if (!isIntact(this.#heads.store, read) || !this.#heads.isNamed(read.id, read.end)) return undefined;
    const run = knownOf(read, read.end);
    if (run.owner !== null) this.#connection.known.set(id, run);
    return run;
  }

  #graphOf(hash: string, text: string): number {
    const { findFlow, insertFlow } = this.#statements;
    const { codec } = this.#connection;
    const cached = this.#connection.graphs.get(hash);
    if (cached !== undefined) return cached;
    const found = findFlow.get(hash) as [number] | undefined;
    const id =
      found === undefined
        ? Number(insertFlow.run(hash, codec.seal(text, placeOfGraph(this.#heads.store, hash))).lastInsertRowid)
        : found[0];
    this.#connection.graphs.set(hash, id);
    return id;
  }
}

function knownOf({ id, owner, listing }: ReadRow, { events, head, signed }: RunEnd): KnownRun {
  return { id, owner, listing, end: { events, head, signed }, asks: true };
}

function questionRows(
  { listing: { tenant } }: { readonly listing: Pick<Listing, 'tenant'> },
  questions: RunDetails['questions'],
): readonly QuestionColumns[] {
  return questions.map(({ id, node, askedAt, expiresAt }, position) => [
    position,
    id,
    node,
    askedAt,
    expiresAt,
    tenant,
  ]);
}

function detailsHash(run: { readonly listing: Pick<Listing, 'tenant'> }, { facts, questions }: RunDetails): string {
  return hashDetails(factsRow(facts), questionRows(run, questions));
}

/** The end of the chain after an append. */
function endOf({ after, count, hash, checkpoint }: Append, signed: number): RunEnd {
  return { events: after + count, head: hash, signed: signed + (checkpoint === undefined ? 0 : 1) };
}

const SQL = {
  findLease: 'SELECT id FROM workers WHERE worker = ? AND fenced = 0',
  findRun: `${SELECT_LISTED} WHERE runs.run = ?`,
  findFlow: 'SELECT id FROM flows WHERE hash = ?',
  insertFlow: 'INSERT INTO flows (hash, text) VALUES (?, ?)',
  insertRun: `INSERT INTO runs (run, graph, flow, notation, status, code, started_at, updated_at, due, owner, tenant, user, thread,
     parent, details) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?) ON CONFLICT (run) DO NOTHING`,
  findThread: `SELECT 1 FROM runs WHERE thread = ? AND tenant IS ? AND status IN ('pending', 'running', 'suspended')`,
} as const;

const WRITES = {
  findTombstone: 'SELECT 1 FROM tombstones WHERE run = ?',
  updateRun: 'UPDATE runs SET status = ?, code = ?, updated_at = ?, due = ?, owner = ? WHERE id = ?',
  setDetails: 'UPDATE runs SET details = ? WHERE id = ?',
  moveEnd: 'UPDATE ends SET events = ?, head = ?, signed = ?, at = ? WHERE run = ?',
  putEnd: `INSERT INTO ends VALUES (?, ?, ?, ?, ?, ?, ?) ON CONFLICT (run) DO UPDATE SET events = excluded.events,
     head = excluded.head, signed = excluded.signed, listing = excluded.listing, at = excluded.at`,
  putFacts: `INSERT INTO run_facts VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?) ON CONFLICT (run) DO UPDATE SET seq = excluded.seq,
     steps = excluded.steps, input_tokens = excluded.input_tokens, output_tokens = excluded.output_tokens,
     cost_micros = excluded.cost_micros, questions = excluded.questions, node = excluded.node, error = excluded.error,
     message = excluded.message`,
  deleteQuestions: 'DELETE FROM questions WHERE run = ?',
  insertQuestion: 'INSERT INTO questions VALUES (?, ?, ?, ?, ?, ?, ?)',
  insertLog: 'INSERT INTO log (run, after, count, at, body, hash) VALUES (?, ?, ?, ?, ?, ?)',
  findBlob: 'SELECT 1 FROM blobs WHERE run = ? AND hash = ?',
  insertBlob: 'INSERT INTO blobs (run, hash, body) VALUES (?, ?, ?)',
  insertCheckpoint: 'INSERT INTO checkpoints VALUES (?, ?, ?, ?, ?, ?)',
  putSnapshot: `INSERT INTO snapshots (run, seq, hash, body) VALUES (?, ?, ?, ?) ON CONFLICT (run)
     DO UPDATE SET seq = excluded.seq, hash = excluded.hash, body = excluded.body WHERE excluded.seq > seq`,
} as const;
