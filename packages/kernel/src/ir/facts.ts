/** Facts: the data that enters a run from outside. Time exists only as `at`, randomness only as the run's seed. */
import type { Amounts } from './dimensions.ts';
import type { FailureClass, TerminalCode } from './codes.ts';
import type { Json } from '../expr/json.ts';
import type { Proof, ReviewNote } from './people.ts';

export type RunId = string;
/** '0' is the root; '0:2.1' is the second branch of the fork that the root made as its third act. */
export type ThreadId = string;
/** `thread#n`: the n-th act of that thread. Retries keep the key; undo acts are `thread#u<n>`. */
export type EffectKey = string;
export type Instant = number;

/** The variants of a table, by `type`. Their fields cannot be changed. */
export type TypesOf<Table> = {
  [Type in keyof Table]: { readonly type: Type } & Readonly<Table[Type]>;
}[keyof Table];

export interface Failure {
  readonly class: FailureClass;
  readonly type: string;
  readonly message: string;
  /** The server asks for this delay before the next attempt. */
  readonly retryAfterMs?: number;
  /** The protection that refused the call, so the call was not made. It is not tried again on the same target. */
  readonly unsent?: 'breaker' | 'retry_budget';
  /** Set if the request did not reach the provider: the number of repeats if the node declares no retry for it. */
  readonly transportRetries?: number;
  /** Set if the call may have a cost that is not known. The reserved amounts then count as spent. */
  readonly unmeasured?: true;
  /** Set if the call took effect and only its result was refused. The call is undone, and not repeated. */
  readonly ran?: true;
  /** Set by a performer if nothing was sent. It is not recorded. */
  readonly notSent?: true;
  /** Of a call that has no answer. Absent: it was sent. */
  readonly sent?: 'no' | 'unknown';
  /** The reply that broke off. The next attempt continues it. */
  readonly partial?: Json;
  /** The most attempts that may continue it. Default: the number of the agent. */
  readonly continuations?: number;
}
/** A failure as flows see it in the slot `error`. */
export interface ErrorRecord extends Failure {
  readonly node: string;
  readonly code: TerminalCode;
}
export type Settled = (
  | { readonly ok: true; readonly value: Json }
  | { readonly ok: false; readonly error: Failure }
) & {
  readonly used?: Amounts;
  /** Set if a protection gave this result and no call was made. */
  readonly unsent?: true;
};

export type BreakerStatus = 'closed' | 'open' | 'half_open';
/** The condition that opened a breaker. `operator`: a person opened it. */
export type BreakerCause =
  | 'provider_errors'
  | 'schema_failures'
  | 'invariant_violations'
  | 'provider_rate'
  | 'soft_rate'
  | 'identical_calls'
  | 'probe_failed'
  | 'operator';

/** The decision of a shared protection about a call. The journal keeps it, so a replay needs no store. */
export type ProtectionNote = TypesOf<{
  'breaker.changed': {
    breaker: string;
    from: BreakerStatus;
    to: BreakerStatus;
    cause: BreakerCause | 'cooldown' | 'probe_succeeded';
    trips: number;
    /** The time from which a call may probe. Null: only an operator closes the breaker. */
    until: Instant | null;
    /** False if the trip is recorded only, because the document declares no fallback for it. */
    enforced: boolean;
  };
  'breaker.denied': {
    breaker: string;
    cause: BreakerCause;
    until: Instant | null;
    fallback: 'model' | 'answer' | 'escalate' | null;
    /** The person who opened it by hand. */
    by?: string;
  };
  'retry.denied': { tokens: number; share: number; burst: number };
}>;

/**
 * The user and tenant of a run, recorded once. Policies are evaluated for them.
 * @example
 * const origin: Origin = { tenant: 'acme', user: 'anna' };
 */
export interface Origin {
  readonly by?: string;
  readonly tenant?: string;
  readonly user?: string;
  /** The conversation that the run belongs to. It has at most one open run. */
  readonly thread?: string;
  /** The run stops at this instant. Waiting for people does not move it. */
  readonly deadline?: Instant;
  readonly pins?: Pins;
  /** Of a forked run: the run and the event that it branches off. */
  readonly parent?: Parent;
  /** The run started with a script, so scripted answers count. */
  readonly scripted?: true;
}

/** An event of another run, with its hash in the chain of that run. */
export interface Parent {
  readonly run: RunId;
  readonly seq: number;
  readonly hash: string;
}

/** A new value of a slot, set by an operator. */
export interface SlotEdit {
  readonly slot: string;
  readonly path: readonly string[];
  readonly value: Json;
}

/** New instructions and models that an operator gives to the agents of a fork. */
export interface AgentEdits {
  readonly [agent: string]: { readonly instructions?: string; readonly model?: string };
}

/** The folder and the code of a run. A later process must use the same. */
export interface Pins {
  /** Of a forked run: the run whose tokens of personal data it shares. */
  readonly tokensOf?: RunId;
  /** The id of the store in which the run started. */
  readonly store?: string;
  /** The folder where relative paths of the document start. Absolute. */
  readonly documentDir?: string;
  /** The folder that the tools of the run work in. Absolute. */
  readonly workDir?: string;
  /** Instead of `workDir`: the folder that has one folder for each run. Absolute. */
  readonly workRoot?: string;
  /** Content hashes of the code that the document loads, by absolute path. */
  readonly modules?: { readonly [file: string]: string };
  /** Tools that functions of the program implement. Another process needs the same functions. */
  readonly functions?: readonly string[];
  /** The module that exports the definition with these functions. Absolute. */
  readonly definition?: string;
  /** The ids of the attachments that came with the input. */
  readonly attachments?: readonly string[];
  /** The script that the run started with. Absolute. Printed commands repeat it. */
  readonly script?: string;
}

/** What the host knows about a call: it left the engine, it did not, or an earlier process may have sent it. */
export type Sent = 'yes' | 'no' | 'unknown';

/** What a run has a maximum of, whatever its document says. */
export type RunLimit = 'events' | 'bytes';

export type Fact = TypesOf<{
  start: { run: RunId; flow: string; input: Json; seed: number; origin: Origin };
  settle: { key: EffectKey; attempt: number; result: Settled; notes?: readonly ProtectionNote[] };
  /** The host has aborted a dropped call. */
  dropped: { key: EffectKey; sent: Sent };
  /** A process continues a run whose open calls an earlier process may have made. */
  resume: unknown;
  answer: { id: string; answer: Answer };
  /** Ends the wait under `key`, or the oldest wait for a signal of this name or of this node. */
  signal: { name: string; data: Json; by: string; key?: EffectKey };
  note: { note: ReviewNote };
  tick: unknown;
  /** An operator accepts that the code of the run has changed. */
  repin: { by: string; modules: { readonly [file: string]: string } };
  /** An operator lets a copy of a run continue from one of its events. */
  fork: { by: string; edits: readonly SlotEdit[]; agents?: AgentEdits; moved?: true };
  /** Another run continues this one under another version of the flow. */
  move: { by: string; to: RunId };
  cancel: { by: string; why: string };
  /** A remark of a person to the agents of the run, or to one of them. */
  guide: { by: string; text: string; agent: string | null };
  /** The run has most of what a run may have, or all of it, and then it ends. */
  limit: { limit: RunLimit; used: number; max: number; ends: boolean };
  /** The state of the run broke an invariant, and the run ends. */
  break: { why: string };
  /** An operator adds to budgets of a run that ended because one was used up. Amounts are in the units of documents. */
  grant: { by: string; grants: readonly { readonly dimension: string; readonly amount: number }[] };
}>;

/**
 * The answer of a person to a question.
 * @example
 * const answer: Answer = { choice: 'approve', by: 'anna', text: 'The parcel is lost.' };
 */
export interface Answer {
  readonly choice: string;
  readonly by: string;
  readonly text?: string;
  readonly edit?: Json;
  /** When given, the answer holds only for the payload with this hash. */
  readonly payload?: string;
  /** The verified proof of identity. */
  readonly proof?: Proof;
  /** The reason why the identity could not be verified. */
  readonly unproven?: string;
}
