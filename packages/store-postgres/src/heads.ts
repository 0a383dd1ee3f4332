/**
 * A row of the chains of heads, and what all rows together say. Each process has chains of its own, so no row has an order among those
 * of other chains: what a row says of a run counts if no other says more events of it.
 */
import { hash } from 'node:crypto';
import { parseJson } from '@sluice-internal/kernel/expr';
import type { RunId } from '@sluice-internal/kernel/ir';

export interface HeadsBody {
  /** The hash of the row before in the same chain; '' for the first. */
  readonly prev: string;
  /** Runs whose listing changed: id, name, events, head, checkpoints, hash of the listing. */
  readonly runs?: readonly (readonly [number, RunId, number, string, number, string])[];
  /** Runs that only went on: id, events, head, checkpoints. */
  readonly moves?: readonly (readonly [number, number, string, number])[];
  /** Mail that was posted: id and hash. */
  readonly posted?: readonly (readonly [number, string])[];
  /** Mail that is done. */
  readonly done?: readonly number[];
  /** Links of acts of operators. */
  readonly acts?: readonly string[];
  /** Runs that were removed: id, and the link of the tombstone. */
  readonly gone?: readonly (readonly [number, string])[];
  /** Shared values: key, hash, and the number of values that the key had. */
  readonly shared?: readonly (readonly [string, string, number])[];
  /** In a row that stands for deleted rows: the last row of each chain, as chain, number and hash. */
  readonly cut?: readonly (readonly [number, number, string])[];
}

export interface HeadRow {
  readonly chain: number;
  readonly number: number;
  readonly body: string;
  readonly hash: string;
}

export function hashHead(store: string, chain: number, number: number, body: string): string {
  return hash('sha256', `${store}\n${chain} ${number}\n${body}`, 'base64url');
}

interface FoldedRun {
  name: RunId;
  events: number;
  head: string;
  signed: number;
  /** Those of the row with the most events that has a listing, and the number of these events. */
  listing: string;
  listed: number;
  /** Rows that say so, as `chain.number`. */
  places: Set<string>;
}

/** What the chains record last. `takeRow` is called with the row that has a cut first, and then with each chain in order. */
export class Folded {
  readonly runs: Map<number, FoldedRun> = new Map();
  readonly gone: Map<number, string> = new Map();
  readonly posted: Map<number, readonly [hash: string, place: string]> = new Map();
  readonly done: Set<number> = new Set();
  readonly acts: Set<string> = new Set();
  readonly shared: Map<string, readonly [hash: string, changes: number]> = new Map();
  readonly last: Map<number, readonly [number: number, hash: string]> = new Map();
  readonly #store: string;
  #isCut = false;

  constructor(store: string) {
    this.#store = store;
  }

  /** False if the row or its chain was changed. */
  takeRow({ chain, number, body, hash: hashed }: HeadRow): boolean {
    if (hashHead(this.#store, chain, number, body) !== hashed) return false;
    const read = parseJson(body) as unknown as HeadsBody;
    if (read.cut !== undefined) {
      // Only the first row of all can stand for deleted ones.
      if (this.#isCut || this.last.size > 0) return false;
      this.#isCut = true;
      for (const [each, at, end] of read.cut) this.last.set(each, [at, end]);
    }
    const [before, prev] = this.last.get(chain) ?? [0, ''];
    if (read.prev !== prev || number !== before + 1) return false;
    this.last.set(chain, [number, hashed]);
    this.#takeRuns(read, `${chain}.${number}`);
    this.#takeOthers(read, `${chain}.${number}`);
    return true;
  }

  #takeRuns({ runs = [], moves = [] }: HeadsBody, place: string): void {
    for (const [id, name, events, head, signed, listing] of runs) {
      const run = this.#move(id, events, head, signed, place);
      run.name = name;
      if (run.listed > events) continue;
      [run.listing, run.listed] = [listing, events];
    }
    for (const [id, events, head, signed] of moves) this.#move(id, events, head, signed, place);
  }

  #move(id: number, events: number, head: string, signed: number, place: string): FoldedRun {
    const run = this.runs.get(id) ?? { name: '', events: -1, head, signed, listing: '', listed: -1, places: new Set() };
    this.runs.set(id, run);
    if (events > run.events) {
      [run.events, run.head, run.signed] = [events, head, signed];
      run.places = new Set([place]);
    } else if (events === run.events && head === run.head) run.places.add(place);
    return run;
  }

  #takeOthers(body: HeadsBody, place: string): void {
    for (const [id, hashed] of body.posted ?? []) this.posted.set(id, [hashed, place]);
    for (const id of body.done ?? []) this.done.add(id);
    for (const link of body.acts ?? []) this.acts.add(link);
    for (const [id, link] of body.gone ?? []) this.gone.set(id, link);
    for (const [key, hashed, changes] of body.shared ?? [])
      if (changes > (this.shared.get(key)?.[1] ?? 0)) this.shared.set(key, [hashed, changes]);
  }

  /** The records of one row that stands for all of them, without its beginning. */
  records(): string {
    const runs = [...this.runs].map(([id, run]) => [id, run.name, run.events, run.head, run.signed, run.listing]);
    const posted = [...this.posted].filter(([id]) => !this.done.has(id)).map(([id, [hashed]]) => [id, hashed]);
    const shared = [...this.shared].map(([key, [hashed, changes]]) => [key, hashed, changes]);
    const cut = [...this.last].map(([chain, [number, hashed]]) => [chain, number, hashed]);
    const all = { runs, posted, acts: [...this.acts], gone: [...this.gone], shared, cut };
    return Object.entries(all)
      .map(([kind, rows]) => `,${JSON.stringify(kind)}:${JSON.stringify(rows)}`)
      .join('');
  }
}
