/**
 * Chains of heads, which show a change from outside. Each process that writes has a chain of its own. Every commit adds one row: the
 * runs that it started, continued, suspended or ended, each with its last event and head; mail, acts of operators, tombstones and
 * shared values. The hash of a row covers the row before it in the chain. So a change, a deletion or an addition elsewhere in the
 * database differs from the last row that names it, and a change of the chain breaks the chain.
 *
 * Before a run is continued, it is compared with its own last entry. The audit folds all chains (`fold-heads.ts`).
 */
import type { RunId } from '@sluice-internal/kernel/ir';
import { hashShared, linkAct } from '@sluice-internal/engine/journal';
import type { Connection, KnownRun, Statements } from './connection.ts';
import { hashHead } from './heads-row.ts';
import type { Folded, HeadsBody } from './heads-row.ts';
import { brokenRow, readRow, SELECT_LISTED } from './listing.ts';
import type { ListedRow, PlacedEnd, RunEnd } from './listing.ts';

type Kind = Exclude<keyof HeadsBody, 'prev'>;
const KINDS: readonly Kind[] = ['runs', 'moves', 'posted', 'done', 'acts', 'gone', 'shared', 'cut'];

export class Heads {
  /** The id of the store. */
  readonly store: string;
  readonly #connection: Connection;
  readonly #statements: Statements<typeof SQL>;
  readonly #writes: Statements<typeof WRITES>;
  /** What this transaction records, as JSON, by kind. */
  readonly #records = new Map<Kind, string[]>();
  /** The chain of this process; null before its first commit. */
  #chain: number | null = null;
  #last = '';
  /** Rows whose hash holds, by id, until another connection writes. */
  readonly #verified = new Map<number, string>();
  #areRecordsIntact = false;
  #version = -1;

  constructor(connection: Connection, store: string) {
    this.store = store;
    this.#connection = connection;
    this.#statements = connection.prepareAll(SQL);
    this.#writes = connection.prepareWrites(WRITES);
    connection.beforeCommit = () => this.#write();
    connection.afterFailure = () => this.#forget();
  }

  /** The place of what this transaction records. */
  at(): number {
    this.#connection.nextHead ??= (this.#statements.next.get() as unknown as [number])[0];
    return this.#connection.nextHead;
  }

  listed({ id, listing: { run } }: KnownRun, { events, head, signed }: RunEnd, listing: string): void {
    this.#record('runs', JSON.stringify([id, run, events, head, signed, listing]));
  }

  moved(id: number, { events, head, signed }: RunEnd): void {
    this.#record('moves', moveText(id, { events, head, signed }));
  }

  posted(id: number, hashed: string): void {
    this.#record('posted', JSON.stringify([id, hashed]));
  }

  done(id: number): void {
    this.#record('done', String(id));
  }

  act(link: string): void {
    this.#statements.acts.run(link);
    this.#record('acts', JSON.stringify(link));
  }

  gone(id: number, link: string): void {
    this.#statements.tombstones.run(link);
    this.#record('gone', JSON.stringify([id, link]));
  }

  shared(key: string, hashed: string, isNew: boolean): void {
    if (isNew) this.#statements.addValue.run();
    this.#record('shared', JSON.stringify([key, hashed]));
  }

  /** True if the row at this place records the letter. */
  isPosted(id: number, hashed: string, at: number): boolean {
    return this.#bodyAt(at)?.includes(JSON.stringify([id, hashed])) === true;
  }

  /** True if the row at this place records a letter with this number. */
  wasPosted(id: number, at: number): boolean {
    return this.#bodyAt(at)?.includes(`[${id},"`) === true;
  }

  /** True if the last entry of the run is the one that its end names. */
  isNamed(id: number, end: PlacedEnd): boolean {
    const body = this.#bodyAt(end.at);
    if (body === null) return false;
    const { name, events, head, signed, listing } = end;
    return body.includes(JSON.stringify([id, name, events, head, signed, listing])) || body.includes(moveText(id, end));
  }

  /** Null if nothing changed the run from outside, nor the rows that it depends on. In a transaction of the caller. */
  brokenRun(run: RunId): string | null {
    this.#forgetOthers();
    const broken = this.#brokenRecords();
    if (broken !== null) return broken;
    const row = this.#statements.row.get(run) as unknown as ListedRow | undefined;
    return row === undefined ? this.#brokenAbsence(run) : this.#brokenListed(row);
  }

  #brokenListed(listed: ListedRow): string | null {
    const row = readRow(listed, this.#connection.codec, this.store);
    const broken = brokenRow(this.store, row);
    if (broken !== null || row.end === null) return broken;
    const [checkpoints] = this.#statements.checkpoints.get(row.id) as unknown as [number];
    const { signed } = row.end;
    if (checkpoints !== signed) return `it has ${checkpoints} signed checkpoints, but ${signed} were stored`;
    return this.isNamed(row.id, row.end) ? null : 'its last entry in the chains of heads was changed or deleted';
  }

  /** A run without a row has never been here, or was removed. */
  #brokenAbsence(run: RunId): string | null {
    const end = this.#statements.endOf.get(run) as unknown as [number, number, string] | undefined;
    if (end === undefined) return null;
    const tombstone = this.#statements.tombstone.get(run) as unknown as [number, number, string] | undefined;
    const isSame = tombstone?.every((value, index) => value === end[index]) === true;
    return isSame ? null : 'its rows, or its tombstone, were changed or deleted';
  }

  /** Acts of operators and shared values, on which every run depends. */
  #brokenRecords(): string | null {
    if (this.#areRecordsIntact) return null;
    const [last, values] = this.#statements.store.get() as unknown as [string, number];
    const broken = this.#brokenActs(last) ?? this.#brokenShared(values);
    this.#areRecordsIntact = broken === null;
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

  #brokenShared(values: number): string | null {
    const rows = this.#statements.shared.all() as unknown as [string, string, string][];
    const areOwn = rows.every(([key, value, hashed]) => hashShared(this.store, key, value) === hashed);
    return areOwn && rows.length === values ? null : 'a shared value was changed, added or deleted';
  }

  /** Null if the row is absent, or does not have its hash. */
  #bodyAt(at: number): string | null {
    this.#forgetOthers();
    const known = this.#verified.get(at);
    if (known !== undefined) return known;
    const row = this.#statements.head.get(at) as unknown as [number, string, string] | undefined;
    if (row === undefined || hashHead(this.store, at, row[0], row[1]) !== row[2]) return null;
    if (this.#verified.size >= VERIFIED_MAX) this.#verified.clear();
    this.#verified.set(at, row[1]);
    return row[1];
  }

  #forgetOthers(): void {
    const version = this.#connection.version();
    if (version === this.#version) return;
    this.#version = version;
    this.#areRecordsIntact = false;
    this.#verified.clear();
  }

  /** Puts one row in the place of all others. The caller has verified them in this transaction. */
  compact({ runs, gone, mail, acts, shared, last }: Folded): void {
    const at = this.at();
    const add = (kind: Kind, rows: readonly unknown[]): void =>
      rows.forEach((row) => this.#record(kind, JSON.stringify(row)));
    const ends = [...runs].map(([id, run]) => [id, run.name, run.events, run.head, run.signed, run.listing]);
    add('runs', ends);
    add(
      'posted',
      [...mail].map(([id, [hashed]]) => [id, hashed]),
    );
    add('acts', acts);
    add('gone', [...gone]);
    add('shared', [...shared]);
    add(
      'cut',
      [...last].map(([chain, [id, hashed]]) => [chain, id, hashed]),
    );
    this.#statements.moveEnds.run(at);
    this.#statements.moveMail.run(at);
    this.#write();
    this.#statements.cut.run(at);
    this.#verified.clear();
  }

  #record(kind: Kind, text: string): void {
    const records = this.#records.get(kind);
    if (records === undefined) this.#records.set(kind, [text]);
    else records.push(text);
  }

  #write(): void {
    if (this.#records.size === 0) return;
    const id = this.at();
    this.#chain ??= id;
    let body = `{"prev":"${this.#last}"`;
    for (const kind of KINDS) {
      const records = this.#records.get(kind);
      if (records !== undefined) body += `,"${kind}":[${records.join(',')}]`;
    }
    body += '}';
    this.#last = hashHead(this.store, id, this.#chain, body);
    this.#writes.insert.get(id, this.#chain, body, this.#last);
    this.#connection.nextHead = id + 1;
    this.#records.clear();
  }

  /** A commit that failed may have been the first of the chain: the next one begins another. */
  #forget(): void {
    this.#records.clear();
    this.#chain = null;
    this.#last = '';
    this.#areRecordsIntact = false;
    this.#verified.clear();
  }
}

function moveText(id: number, { events, head, signed }: RunEnd): string {
  return `[${id},${events},${JSON.stringify(head)},${signed}]`;
}

/** In rows; one may name a thousand runs. */
const VERIFIED_MAX = 16;

const SQL = {
  next: 'SELECT coalesce(max(id), 0) + 1 FROM heads',
  head: 'SELECT chain, body, hash FROM heads WHERE id = ?',
  store: 'SELECT acts, shared FROM store',
  tombstones: 'UPDATE store SET tombstones = ?',
  acts: 'UPDATE store SET acts = ?',
  moveEnds: 'UPDATE ends SET at = ?',
  moveMail: 'UPDATE mail SET posted = ?',
  cut: 'DELETE FROM heads WHERE id < ?',
  addValue: 'UPDATE store SET shared = shared + 1',
  actRows: 'SELECT at, who, what, key, why, link FROM acts ORDER BY number',
  shared: 'SELECT key, value, hash FROM shared',
  row: `${SELECT_LISTED} WHERE runs.run = ?`,
  endOf: 'SELECT run, events, head FROM ends WHERE name = ?',
  tombstone: 'SELECT id, events, hash FROM tombstones WHERE run = ?',
  checkpoints: 'SELECT count(*) FROM checkpoints WHERE run = ?',
} as const;

const WRITES = {
  insert: 'INSERT INTO heads (id, chain, body, hash) VALUES (?, ?, ?, ?)',
} as const;
