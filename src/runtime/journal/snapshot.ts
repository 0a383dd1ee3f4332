/**
 * Snapshots: a fold written down so that nobody has to fold from the start. Only a cache; deleting one changes nothing.
 * One is written only when what it saves is a good deal more than what it costs, so that they too grow linearly (L9).
 */
import type { RunState } from '../../ir/events.ts';
import type { Snapshot } from '../ports.ts';

/** A fold as it goes on, with how much has happened since the last snapshot of it. */
export interface Folding {
  readonly state: RunState | null;
  readonly seq: number;
  readonly head: string;
  eventsSince: number;
  bytesSince: number;
  /** Not before this many events is it worth looking again. */
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

const WIDE = 32;

/** The snapshot that is worth writing now, if any. */
export function takeSnapshot(held: Folding, every: number): Snapshot | null {
  const { state } = held;
  if (
    every === 0 ||
    held.eventsSince < Math.max(every, held.nextSnapshotAt) ||
    state === null ||
    state.outcome !== null
  )
    return null;
  if (state.threads.size > WIDE) {
    // In the middle of a wide fork there is much to write down that will be gone in a moment.
    held.nextSnapshotAt = held.eventsSince + every;
    return null;
  }
  const body = freezeState(state);
  if (body.length * 2 > held.bytesSince) {
    // Too big for what it saves: look again when twice as much has happened.
    held.nextSnapshotAt = held.eventsSince * 2;
    return null;
  }
  held.eventsSince = 0;
  held.bytesSince = 0;
  held.nextSnapshotAt = 0;
  return { seq: held.seq, hash: held.head, body };
}
