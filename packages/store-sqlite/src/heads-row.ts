/** A row of the chains of heads, and what all rows together say. */
import { hash } from 'node:crypto';
import type { RunId } from '@sluice-internal/kernel/ir';

/** What one commit recorded. */
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
  /** Shared values: key and hash. */
  readonly shared?: readonly (readonly [string, string])[];
  /** In a row that stands for all rows before it: the last row of each chain, as chain, id and hash. */
  readonly cut?: readonly (readonly [number, number, string])[];
}

export function hashHead(store: string, id: number, chain: number, body: string): string {
  return hash('sha256', `${store}\n${id} ${chain}\n${body}`, 'base64url');
}

/** What the chains record last. */
export interface Folded {
  readonly runs: Map<number, FoldedRun>;
  readonly gone: Map<number, string>;
  /** Letters that are not done: hash and place. */
  readonly mail: Map<number, readonly [hash: string, at: number]>;
  readonly acts: string[];
  readonly shared: Map<string, string>;
  /** The last row of each chain. */
  readonly last: Map<number, readonly [at: number, hash: string]>;
}
interface FoldedRun {
  readonly name: RunId;
  readonly events: number;
  readonly head: string;
  readonly signed: number;
  readonly listing: string;
  readonly at: number;
}
