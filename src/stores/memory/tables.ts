/** What the store in memory holds. Runs stand in the order in which they were started, as a Map keeps it. */
import type { RunId } from '../../ir/events.ts';
import type { Blob, Mail, RunEntry, Snapshot, StoredAppend, WorkerId } from '../../runtime/ports.ts';

export interface Tables {
  readonly runs: Map<RunId, MemoryRun>;
  readonly flows: Map<string, string>;
  readonly workers: Map<WorkerId, Lease>;
  readonly mail: Map<number, Mail>;
  /** The id of the latest letter; ids are never used again. */
  mailed: number;
}

export interface MemoryRun {
  entry: RunEntry;
  head: number;
  readonly appends: StoredAppend[];
  readonly blobs: Map<string, Blob>;
  snapshot: Snapshot | null;
}

export interface Lease {
  until: number;
  fenced: boolean;
}

export function hasEnded({ status }: Pick<RunEntry, 'status'>): boolean {
  return status === 'completed' || status === 'failed' || status === 'cancelled';
}
