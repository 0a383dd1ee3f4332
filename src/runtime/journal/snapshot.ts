/**
 * Snapshots store the state of a run, so that loading it does not fold all events. They are a cache and may be deleted. One
 * is written only when the events since the last are at least twice its size, so that snapshots grow linearly too (L9).
 */
import { hash } from 'node:crypto';
import type { RunState } from '../../ir/events.ts';
import type { Snapshot } from '../ports.ts';

/** A state with the amount of events since its last snapshot. */
export interface Folding {
  readonly state: RunState | null;
  readonly seq: number;
  readonly head: string;
  eventsSince: number;
  bytesSince: number;
  /** The next snapshot is considered after this many events. */
  nextSnapshotAt: number;
  /** The hash of a snapshot that no event covers yet. The next append carries it. */
  snapshotHash: string | null;
}

export function freezeState(state: RunState): string {
  return JSON.stringify({
    ...state,
    threads: [...state.threads],
    pending: [...state.pending],
    queue: [...state.queue],
  });
}

export function thawState(body: string): RunState {
  const stored = JSON.parse(body) as Omit<RunState, 'threads' | 'pending' | 'queue'> & {
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

export function hashSnapshot(body: string): string {
  return hash('sha256', body, 'base64url');
}

const WIDE = 32;

/** A snapshot if one is worth writing now. */
export function takeSnapshot(fold: Folding, every: number): Snapshot | null {
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
  const body = freezeState(state);
  if (body.length * 2 > fold.bytesSince) {
    // Too large for what it saves: try again after twice as many events.
    fold.nextSnapshotAt = fold.eventsSince * 2;
    return null;
  }
  fold.eventsSince = 0;
  fold.bytesSince = 0;
  fold.nextSnapshotAt = 0;
  fold.snapshotHash = hashSnapshot(body);
  return { seq: fold.seq, hash: fold.head, body };
}
