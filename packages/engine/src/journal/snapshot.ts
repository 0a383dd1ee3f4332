/**
 * Snapshots store the state of a run, so that loading it does not fold all events. They are a cache and may be deleted. One
 * is written only when the events since the last are at least twice its size, so that snapshots grow linearly too (L9).
 *
 * The text of a snapshot begins with the print of the graph. The append that it is stored with carries the hash of the text, so a
 * run that continues from a snapshot uses nothing that the end of its chain does not cover.
 */
import { hash } from 'node:crypto';
import { parseJson } from '@sluice-internal/kernel/expr';
import type { RunState } from '@sluice-internal/kernel/ir';

/** A state with the amount of events since its last snapshot. */
export interface Folding {
  /** SHA-256 of the stored graph. */
  readonly print: string;
  readonly state: RunState | null;
  eventsSince: number;
  bytesSince: number;
  /** The next snapshot is considered after this many events. */
  nextSnapshotAt: number;
}

export function freezeState(state: RunState): string {
  return JSON.stringify({
    ...state,
    threads: [...state.threads],
    pending: [...state.pending],
    queue: [...state.queue],
  });
}

/** The print of the graph in a snapshot, or null. */
export function printIn(body: string): string | null {
  return /^\{"graph":"([\w-]{43})",/.exec(body)?.[1] ?? null;
}

export function thawState(body: string): RunState {
  const { graph: _, ...stored } = parseJson(body) as unknown as Omit<RunState, 'threads' | 'pending' | 'queue'> & {
    graph?: string;
    threads: [];
    pending: [];
    queue: [];
  };
  return {
    ...stored,
    threads: new Map(stored.threads),
    pending: new Map(stored.pending),
    queue: new Set(stored.queue),
  };
}

/** A state of its own for a caller that changes it. */
export function copyState(state: RunState): RunState {
  return thawState(freezeState(state));
}

export function hashSnapshot(body: string): string {
  return hash('sha256', body, 'base64url');
}

const WIDE = 32;

/** The text of a snapshot if one is worth writing now. */
export function takeSnapshot(fold: Folding, every: number): string | null {
  const { state } = fold;
  if (
    every === 0 ||
    fold.eventsSince < Math.max(every, fold.nextSnapshotAt) ||
    state === null ||
    state.outcome !== null
  )
    return null;
  if (state.threads.size > WIDE) {
    // Inside a wide fork the state is large and short-lived.
    fold.nextSnapshotAt = fold.eventsSince + every;
    return null;
  }
  const body = `{"graph":"${fold.print}",${freezeState(state).slice(1)}`;
  if (body.length * 2 > fold.bytesSince) {
    // The snapshot is too large for its benefit: try again after twice as many events.
    fold.nextSnapshotAt = fold.eventsSince * 2;
    return null;
  }
  fold.eventsSince = 0;
  fold.bytesSince = 0;
  fold.nextSnapshotAt = 0;
  return body;
}
