/**
 * The listing of a run as its seal covers it, and the numbers that add up to the sums of `seals.ts`. While a run works, its end
 * moves with every append. That end has a narrow row of its own in `ends`, so that an append does not rewrite the listing.
 */
import { hash } from 'node:crypto';
import type { DatabaseSync } from 'node:sqlite';
import { parseJson } from '@sluice-internal/kernel/expr';
import type { RunId, RunStatus } from '@sluice-internal/kernel/ir';
import type { FactsRow } from './facts-row.ts';

/** All columns of a run but its owner, which changes with every claim. */
export interface SealedRun extends RunEnd {
  readonly run: RunId;
  /** The hash of its graph. */
  readonly graph: string | null;
  readonly flow: string;
  readonly notation: string;
  readonly status: RunStatus;
  readonly code: string | null;
  readonly startedAt: number;
  readonly updatedAt: number;
  readonly due: number | null;
  readonly tenant: string | null;
  readonly user: string | null;
  readonly thread: string | null;
  readonly parent: string | null;
  /** A hash of its rows in `run_facts` and `questions`. */
  readonly details: string;
}

/** The end of a run, kept apart from the log. */
export interface RunEnd {
  readonly events: number;
  /** The hash of the last append. */
  readonly head: string;
  /** The number of its signed checkpoints. */
  readonly signed: number;
}

export function sealOf(store: string, sealed: SealedRun): string {
  const text = JSON.stringify([
    store,
    sealed.run,
    sealed.graph,
    sealed.flow,
    sealed.notation,
    sealed.status,
    sealed.code,
    sealed.startedAt,
    sealed.updatedAt,
    sealed.due,
    sealed.tenant,
    sealed.user,
    sealed.thread,
    sealed.parent,
    sealed.details,
    sealed.events,
    sealed.head,
    sealed.signed,
  ]);
  return hash('sha256', text, 'base64url');
}

/** A number of 256 bits. Sums of them are taken modulo 2^256. */
export type Weight = bigint;

export function weightOf(kind: Kind, text: string): Weight {
  return hexNumber(hash('sha256', `${kind}\n${text}`));
}

/** The text must be a hexadecimal number. */
function hexNumber(text: string): Weight {
  return BigInt(`0x${text}`);
}
type Kind = 'text' | 'ends' | 'signed' | 'tombstone' | 'mail' | 'shared' | 'bucket' | 'store';

/** A hash is a weight already, and is not hashed again. Another text, which comes from outside, is. */
export function weightOfHash(text: string): Weight {
  return HASH.test(text) ? hexNumber(Buffer.from(text, 'base64url').toString('hex')) : weightOf('text', text);
}
const HASH = /^[\w-]{43}$/;

/** Of a row in `ends`, which changes with every append. The head covers the run and all its events. */
function weightOfEnd(run: RunId, { events, head, signed }: RunEnd): Weight {
  return weightOfHash(head) + BigInt(events) + weightOfSigned(run, signed);
}

function weightOfSigned(run: RunId, signed: number): Weight {
  return signed === 0 ? 0n : weightOf('signed', `${run}\n${signed}`);
}

/**
 * The change of the sum of the ends in one transaction. The hashes are added as words of 32 bits: a bigint for every append
 * takes more time than its hash.
 */
export class EndsChange {
  readonly #words = new Float64Array(8);
  #others: Weight = 0n;
  /** The hashes in the words. Up to 2^20 of them add up exactly. */
  #count = 0;

  /** `before` is null if the run had no row in `ends`, `after` if it has none now. */
  add(run: RunId, before: RunEnd | null, after: RunEnd | null): void {
    if (before !== null) this.#addEnd(before, -1);
    if (after !== null) this.#addEnd(after, 1);
    const [signed, signedNow] = [before?.signed ?? 0, after?.signed ?? 0];
    if (signed !== signedNow) this.#others += weightOfSigned(run, signedNow) - weightOfSigned(run, signed);
  }

  /** The sum with the change. The change starts over. */
  addTo(sum: string): string {
    BYTES.write(sum, 'hex');
    for (let at = 28, carry = 0; at >= 0; at -= 4) {
      const total = (this.#words[at / 4] as number) + WORDS.getUint32(at) + carry;
      carry = Math.floor(total / 2 ** 32);
      WORDS.setUint32(at, total - carry * 2 ** 32);
    }
    const others = this.#others;
    this.reset();
    const text = BYTES.toString('hex');
    return others === 0n ? text : textOf(modulo(hexNumber(text) + others));
  }

  reset(): void {
    this.#words.fill(0);
    this.#others = 0n;
    this.#count = 0;
  }

  #addEnd({ head, events }: RunEnd, sign: 1 | -1): void {
    if (this.#count === 2 ** 20) this.#others = hexNumber(this.addTo(textOf(0n)));
    this.#count += 1;
    const words = this.#words;
    words[7] = (words[7] as number) + sign * events;
    if (!HASH.test(head)) {
      this.#others += BigInt(sign) * weightOf('text', head);
      return;
    }
    BYTES.write(head, 'base64url');
    for (let at = 0; at < 8; at++) words[at] = (words[at] as number) + sign * WORDS.getUint32(4 * at);
  }
}
const BYTES = Buffer.alloc(32);
const WORDS = new DataView(BYTES.buffer, BYTES.byteOffset, 32);

export function weightOfTombstone([id, link]: readonly [number, string]): Weight {
  return weightOf('tombstone', `${id}\n${link}`);
}

export function weightOfShared(key: string, hashed: string): Weight {
  return weightOf('shared', JSON.stringify([key, hashed]));
}

export function weightOfBucket([bucket, sum]: readonly [number, string]): Weight {
  return weightOf('bucket', `${bucket}\n${sum}`);
}

export interface StoreRow {
  readonly id: string;
  readonly tombstones: string;
  readonly acts: string;
}

export function weightOfStore({ id, tombstones, acts }: StoreRow): Weight {
  return weightOf('store', JSON.stringify([id, tombstones, acts]));
}

export function sumOf(weights: readonly Weight[]): Weight {
  return modulo(weights.reduce((sum, weight) => sum + weight, 0n));
}

export function modulo(sum: Weight): Weight {
  return BigInt.asUintN(256, sum);
}

export function textOf(sum: Weight): string {
  return sum.toString(16).padStart(64, '0');
}

/** 0 if the text is not a number. */
export function numberIn(text: string | undefined): Weight {
  return text !== undefined && /^[0-9a-f]{1,64}$/.test(text) ? hexNumber(text) : 0n;
}

/** The row of `ends` that has the sum over the others. No run has this number. */
export const ENDS_SUM = 0;

/** The sum of an empty list depends on the store, so that it cannot be written without a computation. */
export function sumOfEnds(store: string, weights: readonly Weight[]): string {
  return textOf(sumOf([weightOf('ends', store), ...weights]));
}

/** The rows of `ends`, with the names of their runs. A sum whose other fields were changed counts as deleted. */
export const SELECT_ENDS = `
  SELECT ends.run, runs.run, ends.events, ends.head, ends.signed FROM ends LEFT JOIN runs ON runs.id = ends.run
  WHERE ends.run <> ${ENDS_SUM} OR (ends.events = 0 AND ends.signed = 0)`;

export type EndRow = readonly [id: number, run: RunId | null, events: number, head: string, signed: number];

/** Null if the row has no run. */
export function weightOfRow([, run, events, head, signed]: EndRow): Weight | null {
  return run === null ? null : weightOfEnd(run, { events, head, signed });
}

export const SHARED_BUCKET = 256;
export const MAIL_BUCKET = 257;

/** The bucket of a run, from the end of its id, which differs between runs. `BUCKET` is the same in SQL. */
export function bucketOf(run: RunId): number {
  const last = run.charCodeAt(run.length - 1);
  return (31 * last + (run.length > 1 ? run.charCodeAt(run.length - 2) : 0)) & 255;
}

export const BUCKET = '(31 * unicode(substr(run, -1)) + coalesce(unicode(substr(run, -2, 1)), 0)) & 255';

export const SELECT_SEALED = `
  SELECT runs.id, runs.owner, runs.seal, runs.run, flows.hash, runs.flow, runs.notation, runs.status, runs.code,
    runs.started_at, runs.updated_at, runs.due, runs.tenant, runs.user, runs.thread, runs.parent, runs.details, runs.events, runs.head, runs.signed,
    (SELECT after + count FROM log WHERE run = runs.id ORDER BY after DESC LIMIT 1),
    (SELECT hash FROM log WHERE run = runs.id ORDER BY after DESC LIMIT 1),
    ends.events, ends.head, ends.signed,
    (SELECT json_array(seq, steps, input_tokens, output_tokens, cost_micros, questions, node, error, message)
      FROM run_facts WHERE run = runs.id),
    (SELECT json_group_array(json_array(position, question, node, asked_at, expires_at, tenant))
      FROM (SELECT * FROM questions WHERE questions.run = runs.id ORDER BY position))
  FROM runs LEFT JOIN flows ON flows.id = runs.graph LEFT JOIN ends ON ends.run = runs.id`;

export type SealedRow = readonly [
  id: number,
  owner: number | null,
  seal: string,
  run: RunId,
  graph: string | null,
  flow: string,
  notation: string,
  status: RunStatus,
  code: string | null,
  startedAt: number,
  updatedAt: number,
  due: number | null,
  tenant: string | null,
  user: string | null,
  thread: string | null,
  parent: string | null,
  details: string,
  events: number,
  head: string,
  signed: number,
  storedEvents: number | null,
  storedHead: string | null,
  endEvents: number | null,
  endHead: string | null,
  endSigned: number | null,
  facts: string | null,
  questions: string,
];

/** The columns of `questions`, without the run, in their order. */
export type QuestionColumns = readonly [
  position: number,
  question: string,
  node: string,
  askedAt: number,
  expiresAt: number | null,
  tenant: string | null,
];

function parseRows(text: string): readonly QuestionColumns[] {
  return parseJson(text) as unknown as readonly QuestionColumns[];
}

/** Of the rows of a run in `run_facts` and `questions`. Empty if it has none. */
export function hashDetails(facts: FactsRow | null, questions: readonly QuestionColumns[]): string {
  const isEmpty = facts === null && questions.length === 0;
  return isEmpty ? '' : hash('sha256', JSON.stringify([facts, questions]), 'base64url');
}

export interface ReadRow {
  readonly id: number;
  readonly owner: number | null;
  readonly seal: string;
  readonly sealed: SealedRun;
  /** The hash of its details as they are stored. */
  readonly shown: string;
  /** The end of the run: that in `ends` if there is one, else that of the listing. */
  readonly end: RunEnd;
  /** True if it has a row in `ends`. */
  readonly hasEnd: boolean;
  /** The end of the log. */
  readonly stored: { readonly events: number; readonly head: string };
}

export function readRow(row: SealedRow): ReadRow {
  const [id, owner, seal, run, graph, flow, notation, status, code, startedAt, updatedAt, due, ...rest] = row;
  const [tenant, user, thread, parent, details, events, head, signed, storedEvents, storedHead, ...ending] = rest;
  const [endEvents, endHead, endSigned, facts, questions] = ending;
  const about = { run, graph, flow, notation, status, code, startedAt, updatedAt, due };
  const shown = hashDetails(facts === null ? null : (parseJson(facts) as unknown as FactsRow), parseRows(questions));
  const sealed = { ...about, tenant, user, thread, parent, details, events, head, signed };
  const hasEnd = endHead !== null;
  const end = hasEnd ? { events: endEvents ?? 0, head: endHead, signed: endSigned ?? 0 } : sealed;
  return { id, owner, seal, sealed, shown, end, hasEnd, stored: { events: storedEvents ?? 0, head: storedHead ?? '' } };
}

/** True if the row was not changed from outside, and the log ends with the event that the row names. Its details may have changed. */
export function isIntact(store: string, row: ReadRow): boolean {
  const { end, stored } = row;
  return isSealed(store, row) && stored.events === end.events && stored.head === end.head;
}

/** True when the listing has its seal, and its details have their hash. */
export function isListingIntact(store: string, row: ReadRow): boolean {
  return isSealed(store, row) && row.shown === row.sealed.details;
}

/** Only a run that works has an end of its own. */
function isSealed(store: string, { seal, sealed, hasEnd }: ReadRow): boolean {
  return sealOf(store, sealed) === seal && (!hasEnd || isWorking(sealed.status));
}

export function isWorking(status: RunStatus): boolean {
  return status === 'pending' || status === 'running';
}

/** Seals a database without rows. Inside the transaction that creates its tables. */
export function sealEmpty(db: DatabaseSync): void {
  const store = db.prepare('SELECT id, tombstones, acts FROM store').get() as unknown as StoreRow;
  db.prepare('UPDATE store SET seal = ?').run(textOf(weightOfStore(store)));
  db.prepare('INSERT INTO ends VALUES (?, 0, ?, 0)').run(ENDS_SUM, sumOfEnds(store.id, []));
}
