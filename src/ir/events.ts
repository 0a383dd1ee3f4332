/**
 * Facts in, events on the journal, commands out. Time exists only as `at`, randomness only as the run's seed.
 * An event carries what changed and references to what earlier events hold: never a history, a state or a prompt again.
 */
import type { Dimension } from './dimensions.ts';
import type { EndState, TerminalCode } from './codes.ts';
import type { EffectKind, GatherMode, MeterId, NodeId, Write } from './nodes.ts';
import type { Json } from '../expr/json.ts';
import type { Pace, RecentCall, Repeated, Stuck, Suspicion } from './commands.ts';
import type { Vote } from './people.ts';
import type { Question, QuestionEvent } from './questions.ts';
import type {
  EffectKey,
  ErrorRecord,
  Instant,
  Origin,
  ProtectionNote,
  RunChanged,
  RunHalted,
  RunId,
  Settled,
  ThreadId,
} from './facts.ts';

export type {
  AgentEdits,
  RunId,
  ThreadId,
  EffectKey,
  Instant,
  Failure,
  ErrorRecord,
  Settled,
  Origin,
  Parent,
  Pins,
  ProtectionNote,
  SlotEdit,
  Fact,
  Answer,
} from './facts.ts';

/** A value that an event records by reference: where in the thread's slots (or in the observation `it`) it stands. */
export type Recorded =
  | { readonly ref: readonly string[] }
  | { readonly value: Json }
  | { readonly object: { readonly [field: string]: Recorded } };
export interface WriteRecord {
  readonly slot: string;
  readonly path?: readonly string[];
  readonly mode: Write['mode'];
  readonly from: Recorded;
}
export interface Hold {
  readonly meter: MeterId;
  readonly dimension: Dimension;
  readonly amount: number;
  /** Of a velocity meter: how long the amount counts. */
  readonly perMs?: number;
}
export interface Outcome {
  readonly state: EndState;
  readonly code: TerminalCode;
  readonly output: Json;
  readonly error: ErrorRecord | null;
}

/** How a thread ends, or is about to once it has undone its work. */
export interface Ending {
  /** The graph node that ended it; absent when it has been undoing since. */
  readonly node?: NodeId;
  readonly state: EndState;
  readonly code: TerminalCode;
  readonly output: Recorded;
  readonly charge?: readonly MeterId[];
}

export type EventBody =
  | RunChanged
  | {
      readonly type: 'run.started';
      readonly run: RunId;
      readonly flow: string;
      readonly entry: NodeId;
      readonly input: Json;
      readonly seed: number;
      readonly origin: Origin;
      readonly deadline: Instant | null;
    }
  | {
      readonly type: 'slots.written';
      readonly thread: ThreadId;
      readonly node: NodeId;
      readonly writes: readonly WriteRecord[];
      readonly to: NodeId;
      readonly charge?: readonly MeterId[];
    }
  | {
      readonly type: 'route.picked';
      readonly thread: ThreadId;
      readonly node: NodeId;
      readonly index: number;
      readonly to: NodeId;
      readonly charge?: readonly MeterId[];
    }
  | {
      readonly type: 'value.missing';
      readonly thread: ThreadId;
      readonly node: NodeId;
      readonly paths: readonly (readonly string[])[];
    }
  | {
      /** A guard compared a text that spells a number as a number. */
      readonly type: 'guard.coerced';
      readonly thread: ThreadId;
      readonly node: NodeId;
      readonly index: number;
      readonly notes: readonly string[];
    }
  | {
      readonly type: 'guard.failed';
      readonly thread: ThreadId;
      readonly node: NodeId;
      readonly index: number;
      readonly message: string;
    }
  | {
      readonly type: 'expression.failed';
      readonly thread: ThreadId;
      readonly node: NodeId;
      readonly error: ErrorRecord;
      readonly to: NodeId;
      readonly charge?: readonly MeterId[];
    }
  | {
      readonly type: 'effect.requested';
      readonly thread: ThreadId;
      readonly key: EffectKey;
      readonly node: NodeId;
      readonly kind: EffectKind;
      readonly name: string;
      readonly input: string;
      readonly deadline: Instant | null;
      readonly holds?: readonly Hold[];
      readonly charge?: readonly MeterId[];
      readonly watched?: readonly MeterId[];
      /** The `turns` meters that compare its reply. */
      readonly turns?: readonly MeterId[];
      /** The fingerprint of the normalised input, which `repeats` meters compare. */
      readonly print?: string;
      /** The fingerprint of the input without the order of words; only of a text of several words. */
      readonly words?: string;
      readonly notBefore?: Instant;
      readonly paced?: readonly Pace[];
      readonly timed?: readonly MeterId[];
      readonly question?: Question;
      /** Of a wait: the instant at which it is over, or the name of the signal that ends it. */
      readonly until?: Instant;
      readonly signal?: string;
      readonly undo?: Undo;
    }
  | (ProtectionNote & { readonly key: EffectKey })
  | { readonly type: 'effect.settled'; readonly key: EffectKey; readonly attempt: number; readonly result: Settled }
  | QuestionEvent
  | { readonly type: 'effect.judged'; readonly key: EffectKey; readonly verdict: 'accepted' }
  | {
      readonly type: 'effect.judged';
      readonly key: EffectKey;
      readonly verdict: 'retry';
      readonly error: ErrorRecord;
      /** The fallback target of the next attempt. */
      readonly target?: string;
      /** The request is repeated because it did not get through. It counts as a retry, and not as another call. */
      readonly transport?: true;
      /** The reply did not fit. The next attempt gets it back with the reason. */
      readonly repair?: true;
      /** The reply reached its limit. The next attempt continues it, as a part of the same call. */
      readonly continues?: true;
      readonly notBefore: Instant;
      readonly deadline: Instant | null;
      readonly holds?: readonly Hold[];
      readonly paced?: readonly Pace[];
    }
  | {
      readonly type: 'effect.judged';
      readonly key: EffectKey;
      readonly verdict: 'failed';
      readonly error: ErrorRecord;
      readonly to: NodeId | null;
    }
  | { readonly type: 'effect.dropped'; readonly key: EffectKey; readonly why: 'join' | 'halt' }
  | {
      readonly type: 'meter.tripped';
      readonly thread: ThreadId;
      readonly node: NodeId;
      readonly meter: MeterId;
      readonly why: 'limit' | 'foreseen';
      readonly left: number;
      readonly needs: number;
      readonly to: NodeId;
      readonly noted?: true;
      /** Of a `turns` meter: the rule, and the agents of the cycle. */
      readonly stuck?: Stuck;
      /** Of a velocity meter: the amount of the latest stretch of time, and the most that is allowed. */
      readonly velocity?: { readonly spent: number; readonly max: number; readonly perMs: number };
      /** Of a `repeats` meter. */
      readonly repeated?: Repeated;
    }
  | Suspicion
  | {
      readonly type: 'meter.raised';
      readonly key: EffectKey;
      readonly raises: readonly { readonly meter: MeterId; readonly by: number }[];
      /** The new deadline of the run, if its time was raised. */
      readonly deadline?: Instant;
    }
  | {
      readonly type: 'thread.forked';
      readonly thread: ThreadId;
      readonly key: EffectKey;
      readonly node: NodeId;
      readonly branches: Branches;
      readonly started: number;
      readonly deadline: Instant | null;
      readonly exceptPeople?: true;
      readonly into: string;
      readonly gather: readonly { readonly slot: string; readonly mode: GatherMode }[];
      readonly charge?: readonly MeterId[];
    }
  | { readonly type: 'thread.started'; readonly thread: ThreadId; readonly index: number }
  | ({ readonly type: 'thread.ended'; readonly thread: ThreadId } & Ending)
  | {
      readonly type: 'fork.joined';
      readonly thread: ThreadId;
      readonly met: boolean;
      readonly why: 'met' | 'short' | 'late';
      readonly error?: ErrorRecord;
      readonly to: NodeId;
    }
  | ({ readonly type: 'undo.started'; readonly thread: ThreadId } & Ending)
  /** These effects are undone before the thread repeats its work. A thread of its own undoes them. */
  | {
      readonly type: 'rollback.started';
      readonly thread: ThreadId;
      readonly node: NodeId;
      readonly undoes: readonly EffectKey[];
    }
  | {
      readonly type: 'undo.requested';
      readonly thread: ThreadId;
      readonly key: EffectKey;
      readonly undoes: EffectKey;
      readonly tool: string;
      readonly deadline: Instant;
    }
  | RunHalted
  | { readonly type: 'clock.read' }
  | ({ readonly type: 'run.ended' } & Ending);
/** @example const isEnd = (event: Event) => event.type === 'run.ended'; */
export type Event = EventBody & { readonly seq: number; readonly at: Instant };
export type EventType = Event['type'];
export type EventOf<Type extends EventType> = Extract<Event, { readonly type: Type }>;
export type Branches =
  | { readonly heads: readonly { readonly name: string; readonly to: NodeId }[] }
  | { readonly each: Recorded; readonly count: number; readonly as: string; readonly to: NodeId };

/** A registered compensation: fixed before the effect that it undoes is requested. */
export interface Undo {
  readonly tool: string;
  readonly args: Json;
  readonly timeoutMs: number;
}
export interface UndoEntry extends Undo {
  readonly key: EffectKey;
  readonly node: NodeId;
  readonly order: number;
  ran: 'pending' | 'yes' | 'maybe';
  result: Json;
}

export type Slots = { readonly [name: string]: Json };
export interface ForkState {
  readonly key: EffectKey;
  readonly node: NodeId;
  readonly branches: Branches;
  readonly total: number;
  deadline: Instant | null;
  exceptPeople?: true;
  waitsSince?: Instant;
  readonly into: string;
  readonly gather: readonly { readonly slot: string; readonly mode: GatherMode }[];
  readonly items: readonly Json[] | null;
  started: number;
  done: number;
  ok: number;
  /** By branch index; a hole is a branch that has not ended. */
  outcomes: (BranchOutcome | null)[];
}
interface BranchOutcome extends Outcome {
  readonly handed: Slots;
}
export type Doing =
  | { readonly is: 'ready' }
  | { readonly is: 'waiting'; readonly on: EffectKey }
  | { readonly is: 'forked'; readonly fork: ForkState }
  | { readonly is: 'unwinding'; readonly outcome: Outcome; readonly on: EffectKey | null };
export interface Thread {
  readonly id: ThreadId;
  readonly parent: ThreadId | null;
  readonly index: number;
  at: NodeId;
  acts: number;
  slots: Slots;
  doing: Doing;
  undo: UndoEntry[];
}
export interface Pending {
  readonly key: EffectKey;
  readonly thread: ThreadId;
  readonly node: NodeId;
  readonly kind: EffectKind;
  readonly name: string;
  /** How many calls of the same name this run had requested before: a script's position follows from it. */
  ordinal: number;
  attempt: number;
  /** Attempts that only repeated a request which did not get through. */
  transported?: number;
  /** Attempts that asked the model to repair its reply. */
  repaired?: number;
  /** The reply that the current attempt repairs, and the reason why it did not fit. */
  repair?: { readonly reply: Json; readonly problem: string };
  /** True if the latest attempt did not count as a call of its own. */
  uncounted?: boolean;
  /** Attempts that continued a reply, and the reply that the current attempt continues. */
  continued?: number;
  partial?: Json;
  /** The fallback target that is used now. */
  target?: string;
  notBefore: Instant;
  deadline: Instant | null;
  holds: readonly Hold[];
  /** The time meters that it runs on. */
  timed?: readonly MeterId[];
  watched?: readonly MeterId[];
  turns?: readonly MeterId[];
  readonly question: Question | null;
  /** Of a question: the answers so far that count towards its quorum. */
  votes?: readonly Vote[];
  /** Of a question: when the second level may answer too. Absent once it may. */
  escalateAt?: Instant;
  /** Of a question: the second level may answer. */
  escalated?: true;
  /** Of a wait: the instant at which it is over, or the name of the signal that ends it. */
  until?: Instant;
  signal?: string;
  readonly undoes: EffectKey | null;
  observed: Settled | null;
  accepted: boolean;
}
export interface RunState {
  readonly run: RunId;
  readonly flow: string;
  readonly seed: number;
  origin: Origin;
  readonly input: Json;
  readonly startedAt: Instant;
  deadline: Instant | null;
  /** True if the deadline has passed and the run continues only if a person grants more time. */
  late?: boolean;
  waitsSince?: Instant;
  waitedMs?: number;
  seq: number;
  now: Instant;
  threads: Map<ThreadId, Thread>;
  /** Threads that may be able to move, in the order in which they are tried. */
  queue: Set<ThreadId>;
  pending: Map<EffectKey, Pending>;
  spent: { [meter: MeterId]: number };
  held: { [meter: MeterId]: number };
  /** Amounts that people granted beyond the limits of the flow. */
  raised?: { [meter: MeterId]: number };
  /** Start times of calls, by the rate limit that counts them. */
  paced?: { [meter: MeterId]: readonly Instant[] };
  /** Meters of agents' time: open calls, since when, and the time used before. */
  clocks?: { [meter: MeterId]: { readonly active: number; readonly since: Instant; readonly used: number } };
  /** Recent amounts of velocity meters. */
  rolling?: { [meter: MeterId]: readonly { readonly at: Instant; readonly amount: number }[] };
  usage: { [dimension in Dimension]?: number };
  calls: { [name: string]: number };
  /** The latest calls that each `repeats` meter compares. */
  recent: { [meter: MeterId]: readonly RecentCall[] };
  /** A lower bound of the next expiry. */
  wake: Instant | null;
  undoFailed: boolean;
  outcome: Outcome | null;
}
export type { Question } from './questions.ts';
export type { Refusal } from './refusal.ts';
export type { Command, Outbox, Pace, RecentCall, Stuck } from './commands.ts';
