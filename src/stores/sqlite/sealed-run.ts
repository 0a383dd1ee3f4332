/** The listing of a run as its seal covers it, and the numbers that add up to the sums of `seals.ts`. */
import { hash } from 'node:crypto';
import type { DatabaseSync } from 'node:sqlite';
import type { RunStatus } from '../../ir/codes.ts';
import type { RunId } from '../../ir/events.ts';

/** All columns of a run but its owner, which changes with every claim. */
export interface SealedRun {
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
  readonly parent: string | null;
  /** The number of its events and the hash of the last append, kept apart from the log. */
  readonly events: number;
  readonly head: string;
  /** The number of its signed checkpoints. */
  readonly signed: number;
}

export function sealOf(store: string, sealed: SealedRun): string {
  const { run, graph, flow, notation, status, code, startedAt, updatedAt, due } = sealed;
  const { tenant, user, parent, events, head, signed } = sealed;
  const fields = [store, run, graph, flow, notation, status, code, startedAt, updatedAt, due];
  return hash('sha256', JSON.stringify([...fields, tenant, user, parent, events, head, signed]), 'base64url');
}

/** A number of 256 bits. Sums of them are taken modulo 2^256. */
export type Weight = bigint;

export function weightOf(kind: 'run' | 'tombstone' | 'mail' | 'shared' | 'bucket' | 'store', text: string): Weight {
  return BigInt(`0x${hash('sha256', `${kind}\n${text}`)}`);
}

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
  return sum.toString(16);
}

/** 0 if the text is not a number. */
export function numberIn(text: string | undefined): Weight {
  return text !== undefined && /^[0-9a-f]{1,64}$/.test(text) ? BigInt(`0x${text}`) : 0n;
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
    runs.started_at, runs.updated_at, runs.due, runs.tenant, runs.user, runs.parent, runs.events, runs.head, runs.signed,
    (SELECT after + count FROM log WHERE run = runs.id ORDER BY after DESC LIMIT 1),
    (SELECT hash FROM log WHERE run = runs.id ORDER BY after DESC LIMIT 1)
  FROM runs LEFT JOIN flows ON flows.id = runs.graph`;

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
  parent: string | null,
  events: number,
  head: string,
  signed: number,
  storedEvents: number | null,
  storedHead: string | null,
];

export interface ReadRow {
  readonly id: number;
  readonly owner: number | null;
  readonly seal: string;
  readonly sealed: SealedRun;
  /** The end of the log. */
  readonly stored: { readonly events: number; readonly head: string };
}

export function readRow(row: SealedRow): ReadRow {
  const [id, owner, seal, run, graph, flow, notation, status, code, startedAt, updatedAt, due, ...rest] = row;
  const [tenant, user, parent, events, head, signed, storedEvents, storedHead] = rest;
  const whose = { tenant, user, parent };
  const sealed = {
    run,
    graph,
    flow,
    notation,
    status,
    code,
    startedAt,
    updatedAt,
    due,
    ...whose,
    events,
    head,
    signed,
  };
  return { id, owner, seal, sealed, stored: { events: storedEvents ?? 0, head: storedHead ?? '' } };
}

/** True when the row is what the store wrote, and the log ends where the row says. */
export function isIntact(store: string, { seal, sealed, stored }: ReadRow): boolean {
  return sealOf(store, sealed) === seal && stored.events === sealed.events && stored.head === sealed.head;
}

/** Seals a database that has no seals yet. Inside the transaction that migrates it. */
export function sealAll(db: DatabaseSync): void {
  const store = db.prepare('SELECT id, tombstones, acts FROM store').get() as unknown as StoreRow;
  const sums = new Map<number, Weight>();
  const add = (bucket: number, weight: Weight): unknown => sums.set(bucket, (sums.get(bucket) ?? 0n) + weight);
  const setSeal = db.prepare('UPDATE runs SET seal = ? WHERE id = ?');
  const rows = db.prepare(SELECT_SEALED);
  rows.setReturnArrays(true);
  for (const row of rows.all() as unknown as SealedRow[]) {
    const { id, sealed } = readRow(row);
    const seal = sealOf(store.id, sealed);
    setSeal.run(seal, id);
    add(bucketOf(sealed.run), weightOf('run', seal));
  }
  for (const { id, run, link } of db.prepare('SELECT id, run, link FROM tombstones').all())
    add(bucketOf(String(run)), weightOfTombstone([Number(id), String(link)]));
  for (const { key, hash: hashed } of db.prepare('SELECT key, hash FROM shared').all())
    add(SHARED_BUCKET, weightOfShared(String(key), String(hashed)));
  for (const { hash: hashed } of db.prepare('SELECT hash FROM mail').all())
    add(MAIL_BUCKET, weightOf('mail', String(hashed)));
  const sealed = [...sums].map(([bucket, sum]) => [bucket, textOf(modulo(sum))] as const);
  const insert = db.prepare('INSERT INTO seals VALUES (?, ?)');
  for (const [bucket, sum] of sealed) insert.run(bucket, sum);
  const total = sumOf([weightOfStore(store), ...sealed.map(weightOfBucket)]);
  db.prepare('UPDATE store SET seal = ?').run(textOf(total));
}
