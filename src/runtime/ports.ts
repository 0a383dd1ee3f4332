/**
 * What the runtime needs of the outside. A journal has two verbs. Who works on a run, and what others want to tell it, is
 * a separate matter with a port of its own (docs/decisions/0002-ports.md).
 */
import type { RunStatus, TerminalCode } from '../ir/codes.ts';
import type { CompiledFlow } from '../ir/nodes.ts';
import type { Answer, Command, Fact, Instant, Question, RunId, Settled } from '../ir/events.ts';

/** One transition of one run, ready to be stored as it is: the hash covers exactly these bytes. */
export interface Append {
  readonly run: RunId;
  /** The last event that is already stored; the fence. 0 for a new run. */
  readonly after: number;
  /** How many events the body holds. */
  readonly count: number;
  readonly at: Instant;
  readonly body: string;
  readonly hash: string;
  /** Big values that the body names by hash, and that this run has not stored before. */
  readonly blobs: readonly Blob[];
  /** What has changed in the run's entry in the roster; null when nothing has. */
  readonly entry: RunEntryChange | null;
  /** With the first append only: the graph that the run is pinned to. */
  readonly flow: { readonly hash: string; readonly text: string } | null;
  /** A fold that may be dropped at any time. */
  readonly snapshot: Snapshot | null;
}
export interface Blob {
  readonly hash: string;
  readonly body: string;
}
export interface Snapshot {
  readonly seq: number;
  readonly hash: string;
  readonly body: string;
}
export interface RunEntryChange {
  readonly status: RunStatus;
  readonly code: TerminalCode | null;
  /** When the run has to be looked at although nobody tells it anything; null for never. */
  readonly due: Instant | null;
  /** With the first append only. */
  readonly first?: { readonly flow: string; readonly notation: string; readonly startedAt: Instant };
}
export interface StoredAppend {
  readonly after: number;
  readonly count: number;
  readonly at: Instant;
  readonly body: string;
  readonly hash: string;
}
export interface StoredRun {
  readonly flow: string;
  /** The latest snapshot that was asked for and is there. */
  readonly snapshot: Snapshot | null;
  /** In order; those after the snapshot, or all of them. */
  readonly appends: readonly StoredAppend[];
  readonly blobs: readonly Blob[];
}

export interface Journal {
  load(run: RunId, options?: { readonly snapshot?: boolean }): Promise<StoredRun | null>;
  /**
   * All of them in one durable step. `stale` for each whose fence or lease does not hold: nothing of it is stored. An
   * append that suspends or ends a run also lets go of it; one that wakes a suspended run takes it.
   */
  commit(worker: WorkerId, appends: readonly Append[]): Promise<readonly ('committed' | 'stale')[]>;
}

export type WorkerId = string;
export interface RunEntry {
  readonly run: RunId;
  readonly flow: string;
  readonly hash: string;
  readonly notation: string;
  readonly status: RunStatus;
  readonly code: TerminalCode | null;
  readonly startedAt: Instant;
  readonly updatedAt: Instant;
  readonly due: Instant | null;
  readonly owner: WorkerId | null;
}
/** Facts that somebody who does not own the run wants it to know: an answer, a cancellation. */
export type Mail = {
  readonly id: number;
  readonly run: RunId;
  readonly fact: Extract<Fact, { type: 'answer' | 'cancel' }>;
};

/** Who works on which run. A worker holds one lease for all its runs; a run changes hands only when it is free or expired. */
export interface Roster {
  /** Joins or renews. False when the lease was lost: the worker must stop before it acts. */
  renew(worker: WorkerId, now: Instant, until: Instant): Promise<boolean>;
  /** Takes the named run, or, without a name, runs that need work; only those that nobody alive owns. */
  claim(
    worker: WorkerId,
    now: Instant,
    what: { readonly run: RunId } | { readonly limit: number },
  ): Promise<readonly RunId[]>;
  release(worker: WorkerId, runs: readonly RunId[]): Promise<void>;
  resign(worker: WorkerId): Promise<void>;
  post(run: RunId, fact: Mail['fact']): Promise<void>;
  /** Unread mail for runs that this worker owns. */
  mail(worker: WorkerId): Promise<readonly Mail[]>;
  /** Mail is struck out only after what it said is on the journal, or was refused. */
  deleteMail(ids: readonly number[]): Promise<void>;
  list(filter?: { readonly status?: readonly RunStatus[]; readonly limit?: number }): Promise<readonly RunEntry[]>;
  find(run: RunId): Promise<RunEntry | null>;
  /** Forgets the oldest ended runs of a notation, by start, until `keep` of it are left; never one that lives. Returns whom. */
  retain(notation: string, keep: number): Promise<readonly RunId[]>;
}

export interface Store {
  readonly journal: Journal;
  readonly roster: Roster;
  close(): Promise<void>;
}

/** Time as the runtime sees it; a script's clock is virtual, so that waits pass at once. */
export interface Clock {
  /** Whether waits pass at once. */
  readonly virtual: boolean;
  now(): Instant;
  /** Calls back at the instant or after it; returns how to cancel. */
  at(instant: Instant, wake: () => void): () => void;
  sleep(ms: number, signal?: AbortSignal): Promise<void>;
  /** Brackets work that takes real time: a virtual clock stands still meanwhile. */
  busy?(): () => void;
}

/** A command with all that its performer may need. */
export interface Call {
  readonly command: Command;
  readonly flow: CompiledFlow;
  /** SHA-256 over run, step, visit and inputs: the same for every attempt, never shared between runs. */
  readonly idempotencyKey: string;
  readonly signal: AbortSignal;
  readonly clock: Clock;
  /** Takes the text of a reply as it comes, for whoever listens to the run; undefined where nobody does. Nothing keeps it. */
  readonly hear?: ((text: string) => void) | undefined;
}
export interface Performer {
  perform(call: Call): Promise<Settled>;
  /** Somebody who may answer at once, as a script does; null leaves the question to people. */
  answer?(question: Asked): Answer | null;
}
export interface Asked {
  readonly question: Question;
  readonly node: string;
  readonly name: string;
  readonly ordinal: number;
}
