/**
 * Seals: hashes and sums over the rows of a store, which show a change from outside. Each run has a hash over its listing and the end of
 * its chain. The hashes of runs and tombstones add up in 256 buckets, chosen by the id of the run; messages and shared values
 * have a bucket each. The buckets and the row of the store add up to one number. The ends of runs that work have a sum of their own
 * in the same table, because they change with every commit. A row that was changed, deleted or added from outside breaks a sum. A
 * commit adjusts the sums by the difference, so its cost does not depend on the number of runs.
 *
 * Sums are adjusted with the old row as it is read. A sum that is broken therefore stays broken.
 */
import type { RunId } from '@sluice-internal/kernel/ir';
import { hashShared, linkAct } from '@sluice-internal/engine/journal';
import { hashMail } from '@sluice-internal/engine/ports';
import type { Connection, KnownRun, Statements } from './connection.ts';
import { changedSchema, SELECT_PARTS } from './foreign-schema.ts';
import {
  BUCKET,
  bucketOf,
  ENDS_SUM,
  EndsChange,
  isListingIntact,
  isWorking,
  MAIL_BUCKET,
  modulo,
  numberIn,
  readRow,
  SELECT_ENDS,
  SELECT_SEALED,
  SHARED_BUCKET,
  sumOf,
  sumOfEnds,
  textOf,
  weightOf,
  weightOfBucket,
  weightOfHash,
  weightOfRow,
  weightOfShared,
  weightOfStore,
  weightOfTombstone,
} from './sealed-run.ts';
import type { EndRow, ReadRow, RunEnd, SealedRow, StoreRow, Weight } from './sealed-run.ts';

export class Seals {
  /** The id of the store. */
  readonly store: string;
  readonly #connection: Connection;
  readonly #statements: Statements<typeof SQL>;
  readonly #writes: Statements<typeof WRITES>;
  /** Differences of the sums in this transaction, by bucket. */
  readonly #changes = new Map<number, Weight>();
  #storeChange: Weight = 0n;
  readonly #ends = new EndsChange();
  #hasEndsChange = false;
  /** Buckets whose sums hold, until another connection writes. */
  readonly #intact = new Set<number>();
  #version = -1;
  /** Runs of the worker whose run was checked last, as they were when all ends added up. By row id. */
  readonly #covered = new Map<number, string>();

  constructor(connection: Connection, store: string) {
    this.store = store;
    this.#connection = connection;
    this.#statements = connection.prepareAll(SQL);
    this.#writes = connection.prepareWrites(WRITES);
    connection.beforeCommit = () => this.#writeSums();
    connection.afterFailure = () => this.#forget();
  }

  change(run: RunId, difference: Weight): void {
    this.#add(bucketOf(run), difference);
  }

  /** `before` is null if the run had no row in `ends`, `after` if it has none now. */
  changeEnd({ id, sealed: { run } }: KnownRun, before: RunEnd | null, after: RunEnd | null): void {
    this.#covered.delete(id);
    this.#ends.add(run, before, after);
    this.#hasEndsChange = true;
  }

  changeMail(difference: Weight): void {
    this.#add(MAIL_BUCKET, difference);
  }

  changeShared(key: string, before: string | null, after: string): void {
    this.#add(SHARED_BUCKET, weightOfShared(key, after) - (before === null ? 0n : weightOfShared(key, before)));
  }

  /** Sets the last link of a chain that the row of the store keeps. */
  setLink(chain: 'tombstones' | 'acts', link: string): void {
    const before = this.#storeRow();
    this.#statements[chain].run(link);
    this.#storeChange += weightOfStore({ ...before, [chain]: link }) - weightOfStore(before);
  }

  /** Messages that do not add up: the added one if there is exactly one, else all. */
  suspectMail(): ReadonlySet<number> {
    const { ids, weights, excess } = this.#mailWeights();
    if (excess === 0n) return NO_IDS;
    const added = ids[weights.lastIndexOf(excess)];
    return new Set(added === undefined ? ids : [added]);
  }

  #mailWeights(): { readonly ids: readonly number[]; readonly weights: readonly Weight[]; readonly excess: Weight } {
    const rows = this.#statements.mail.all() as unknown as [number, string][];
    const weights = rows.map(([, hashed]) => weightOf('mail', hashed));
    return { ids: rows.map(([id]) => id), weights, excess: modulo(sumOf(weights) - this.#sumIn(MAIL_BUCKET)) };
  }

  /** The sum starts over when the last suspect message is deleted. */
  resetMail(): void {
    if (this.#statements.mail.all().length > 0) return;
    this.#changes.delete(MAIL_BUCKET);
    this.#add(MAIL_BUCKET, -this.#sumIn(MAIL_BUCKET));
  }

  /** Null if nothing changed the run from outside, nor the rows that it depends on. In a transaction of the caller. */
  brokenRun(run: RunId): string | null {
    const version = this.#connection.version();
    if (version !== this.#version) this.#intact.clear();
    this.#version = version;
    return this.#brokenSums() ?? this.#brokenBucket(bucketOf(run)) ?? this.#brokenRow(run);
  }

  /** The same for the store as a whole. */
  brokenStore(): string | null {
    this.#intact.clear();
    const found = this.#brokenSums();
    if (found !== null) return found;
    const { listed, sums } = this.#statements;
    const buckets = [...listed.all(), ...sums.all()] as unknown as [number | null][];
    for (const bucket of new Set(buckets.map(([each]) => each ?? -1))) {
      const broken = bucket === SHARED_BUCKET || bucket === MAIL_BUCKET ? null : this.#brokenBucket(bucket);
      if (broken !== null) return broken;
    }
    if (!this.#isMailIntact()) return 'a message between processes was changed, added or deleted';
    const brokenEnds = this.#brokenEnds();
    if (brokenEnds !== null) return brokenEnds;
    for (const row of this.#statements.rows.iterate()) {
      const broken = this.#brokenListing(row as unknown as SealedRow);
      if (broken !== null) return `run \`${(row as unknown as SealedRow)[3]}\`: ${broken}`;
    }
    return changedSchema(this.#statements.parts);
  }

  #brokenSums(): string | null {
    if (this.#intact.has(SHARED_BUCKET)) return null;
    const row = this.#storeRow();
    const sums = this.#statements.sums.all() as unknown as [number, string][];
    if (textOf(sumOf([weightOfStore(row), ...sums.map(weightOfBucket)])) !== row.seal)
      return 'the seals of the database were changed';
    const broken = this.#brokenActs(row.acts) ?? this.#brokenShared();
    if (broken === null) this.#intact.add(SHARED_BUCKET);
    return broken;
  }

  #brokenActs(last: string): string | null {
    const acts = this.#statements.actRows.all() as unknown as [number, string, string, string, string, string][];
    let previous = '';
    for (const [at, by, what, key, why, stored] of acts) {
      previous = linkAct(previous, { at, by, what, key, why });
      if (previous !== stored) return 'an act of an operator was changed, added or deleted';
    }
    return previous === last ? null : 'an act of an operator was added or deleted at the end';
  }

  #brokenShared(): string | null {
    const rows = this.#statements.shared.all() as unknown as [string, string, string][];
    const areOwn = rows.every(([key, value, hashed]) => hashShared(this.store, key, value) === hashed);
    const sum = sumOf(rows.map(([key, , hashed]) => weightOfShared(key, hashed)));
    return areOwn && sum === this.#sumIn(SHARED_BUCKET) ? null : 'a shared value was changed, added or deleted';
  }

  #brokenBucket(bucket: number): string | null {
    if (this.#intact.has(bucket)) return null;
    const runs = this.#statements.runsIn.all(bucket) as unknown as [string][];
    const tombstones = this.#statements.tombstonesIn.all(bucket) as unknown as [number, string][];
    const weights = [...runs.map(([seal]) => weightOfHash(seal)), ...tombstones.map(weightOfTombstone)];
    if (sumOf(weights) !== this.#sumIn(bucket))
      return 'the list of runs does not add up: a run or the tombstone of one was changed, added or deleted';
    this.#intact.add(bucket);
    return null;
  }

  #brokenEnds(): string | null {
    if (this.#intact.has(ENDS)) return null;
    const rows = this.#statements.ends.all() as unknown as EndRow[];
    const sum = rows.find(([id]) => id === ENDS_SUM)?.[3];
    const weights = rows.filter(([id]) => id !== ENDS_SUM).map(weightOfRow);
    const known = weights.filter((weight) => weight !== null);
    if (known.length < weights.length || sum !== sumOfEnds(this.store, known))
      return 'the ends of running runs do not add up: one was changed, added or deleted';
    this.#intact.add(ENDS);
    return null;
  }

  #isMailIntact(): boolean {
    const rows = this.#statements.letters.all() as unknown as [RunId | null, string, string][];
    const areOwn = rows.every(([run, fact, hashed]) => run !== null && hashMail(this.store, run, fact) === hashed);
    return areOwn && this.#mailWeights().excess === 0n;
  }

  #brokenRow(run: RunId): string | null {
    const row = this.#statements.row.get(run) as unknown as SealedRow | undefined;
    return row === undefined ? null : this.#brokenListing(row);
  }

  #brokenListing(row: SealedRow): string | null {
    const read = readRow(row);
    const { id, sealed, end, stored } = read;
    if (!isListingIntact(this.store, read)) return 'its entry in the list of runs was changed';
    if (stored.events < end.events)
      return `its journal ends with event ${stored.events}, but ${end.events} events were stored`;
    if (stored.events !== end.events || stored.head !== end.head)
      return `event ${stored.events} is not the last one that was stored`;
    const [checkpoints] = this.#statements.checkpoints.get(id) as unknown as [number];
    if (checkpoints !== end.signed) return `it has ${checkpoints} signed checkpoints, but ${end.signed} were stored`;
    return isWorking(sealed.status) ? this.#brokenEnd(read) : null;
  }

  /**
   * A worker claims runs in batches, and no other process extends them after that. One pass over the ends therefore holds for every
   * run of the batch that has not changed since, also if other processes write in between.
   */
  #brokenEnd({ id, owner, seal, end }: ReadRow): string | null {
    const isCovered = owner !== null && this.#covered.get(id) === stateOf(owner, seal, end);
    this.#covered.delete(id);
    if (isCovered) return null;
    const isNew = !this.#intact.has(ENDS);
    const broken = this.#brokenEnds();
    if (broken === null && isNew && owner !== null) this.#coverRunsOf(owner, id);
    return broken;
  }

  #coverRunsOf(owner: number, except: number): void {
    this.#covered.clear();
    const rows = this.#statements.owned.all(owner, except) as unknown as [number, string, string, number][];
    for (const [id, seal, head, signed] of rows) this.#covered.set(id, stateOf(owner, seal, { head, signed }));
  }

  #add(bucket: number, difference: Weight): void {
    this.#changes.set(bucket, (this.#changes.get(bucket) ?? 0n) + difference);
  }

  #writeSums(): void {
    if (this.#hasEndsChange) this.#writeEndsSum();
    if (this.#changes.size === 0 && this.#storeChange === 0n) return;
    const connection = this.#connection;
    let total = this.#storeChange;
    for (const [bucket, difference] of this.#changes) {
      const before = connection.sums.get(bucket) ?? this.#readSum(bucket);
      const sum = modulo(before.sum + difference);
      const text = textOf(sum);
      this.#writes.setSum.get(bucket, text);
      const weight = weightOfBucket([bucket, text]);
      connection.sums.set(bucket, { sum, weight });
      total += weight - before.weight;
    }
    this.#changes.clear();
    this.#storeChange = 0n;
    connection.storeSeal = modulo((connection.storeSeal ?? numberIn(this.#storeRow().seal)) + total);
    this.#writes.setSeal.get(textOf(connection.storeSeal));
  }

  #readSum(bucket: number): { readonly sum: Weight; readonly weight: Weight } {
    const found = this.#statements.sum.get(bucket) as unknown as [string] | undefined;
    if (found === undefined) return { sum: 0n, weight: 0n };
    return { sum: numberIn(found[0]), weight: weightOfBucket([bucket, found[0]]) };
  }

  #writeEndsSum(): void {
    const connection = this.#connection;
    connection.endsSum ??= textOf(numberIn((this.#statements.endsSum.get() as unknown as [string] | undefined)?.[0]));
    connection.endsSum = this.#ends.addTo(connection.endsSum);
    this.#hasEndsChange = false;
    // A row that was deleted is not written again.
    this.#writes.setEndsSum.get(connection.endsSum);
  }

  #sumIn(bucket: number): Weight {
    return numberIn((this.#statements.sum.get(bucket) as unknown as [string] | undefined)?.[0]);
  }

  #storeRow(): StoreRow & { readonly seal: string } {
    const [id, tombstones, acts, seal] = this.#statements.store.get() as unknown as [string, string, string, string];
    return { id, tombstones, acts, seal };
  }

  #forget(): void {
    this.#changes.clear();
    this.#storeChange = 0n;
    this.#ends.reset();
    this.#hasEndsChange = false;
    this.#intact.clear();
    this.#covered.clear();
  }
}

function stateOf(owner: number, seal: string, { head, signed }: Pick<RunEnd, 'head' | 'signed'>): string {
  return `${owner} ${seal} ${head} ${signed}`;
}

const NO_IDS: ReadonlySet<number> = new Set();
/** Marks the ends in `#intact`. No bucket has this number. */
const ENDS = -2;

const SQL = {
  store: 'SELECT id, tombstones, acts, seal FROM store',
  tombstones: 'UPDATE store SET tombstones = ?',
  acts: 'UPDATE store SET acts = ?',
  ends: SELECT_ENDS,
  owned: `SELECT runs.id, runs.seal, coalesce(ends.head, runs.head), coalesce(ends.signed, runs.signed) FROM runs LEFT JOIN ends ON ends.run = runs.id
     WHERE runs.owner = ? AND runs.id <> ?`,
  endsSum: `SELECT head FROM ends WHERE run = ${ENDS_SUM}`,
  sum: 'SELECT sum FROM seals WHERE bucket = ?',
  sums: 'SELECT bucket, sum FROM seals',
  mail: 'SELECT id, hash FROM mail ORDER BY id',
  letters: 'SELECT runs.run, mail.fact, mail.hash FROM mail LEFT JOIN runs ON runs.id = mail.run',
  shared: 'SELECT key, value, hash FROM shared',
  actRows: 'SELECT at, who, what, key, why, link FROM acts ORDER BY number',
  listed: `SELECT DISTINCT ${BUCKET} FROM runs UNION SELECT DISTINCT ${BUCKET} FROM tombstones`,
  runsIn: `SELECT seal FROM runs WHERE ${BUCKET} = ?`,
  tombstonesIn: `SELECT id, link FROM tombstones WHERE ${BUCKET} = ?`,
  rows: SELECT_SEALED,
  parts: SELECT_PARTS,
  row: `${SELECT_SEALED} WHERE runs.run = ?`,
  checkpoints: 'SELECT count(*) FROM checkpoints WHERE run = ?',
} as const;

const WRITES = {
  setSeal: 'UPDATE store SET seal = ?',
  setEndsSum: `UPDATE ends SET head = ? WHERE run = ${ENDS_SUM}`,
  setSum: 'INSERT INTO seals VALUES (?, ?) ON CONFLICT (bucket) DO UPDATE SET sum = excluded.sum',
} as const;
