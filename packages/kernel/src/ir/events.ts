/**
 * Facts enter a run, events are stored in its journal, commands leave it. Time exists only as `at`, randomness only as the seed.
 * An event holds the change, and refers to earlier events for the rest. It never repeats a history, a state or a prompt.
 */
import type { Dimension } from './dimensions.ts';
import type { EndState, TerminalCode } from './codes.ts';
import type { Judged } from './controls.ts';
import type { EffectKind, GatherMode, MeterId, NodeId, Write } from './nodes.ts';
import type { Json } from '../expr/json.ts';
import type { Pace, RecentCall, Repeated, Stuck } from './commands.ts';
import type { Vote } from './people.ts';
import type { Question, QuestionEvent } from './questions.ts';
import type {
  AgentEdits,
  EffectKey,
  ErrorRecord,
  Instant,
  Origin,
  ProtectionNote,
  RunId,
  RunLimit,
  Sent,
  Settled,
  SlotEdit,
  ThreadId,
  TypesOf,
} from './facts.ts';

export type {
  RunId,
  ThreadId,
  EffectKey,
  Instant,
  Failure,
  ErrorRecord,
  Settled,
  SlotEdit,
  RunLimit,
  Sent,
  Fact,
  Answer,
} from './facts.ts';

/** A value that an event records by reference: its path in the slots of the thread, or in the observation `it`. */
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

/** The end of a thread, or the end that follows once the thread has undone its work. */
export interface Ending {
  /** The node that ended it; absent if the thread undid its work before the end. */
  readonly node?: NodeId;
  readonly state: EndState;
  readonly code: TerminalCode;
  readonly output: Recorded;
  readonly charge?: readonly MeterId[];
}

/** The thread that moves, and its node. */
interface Place {
  thread: ThreadId;
  node: NodeId;
}
/** The meters that a visit charges. */
interface Charged {
  charge?: readonly MeterId[];
}

interface EventFields {
  'run.started': {
    run: RunId;
    flow: string;
    entry: NodeId;
    input: Json;
    seed: number;
    origin: Origin;
    deadline: Instant | null;
  };
  'slots.written': Place & Charged & { writes: readonly WriteRecord[]; to: NodeId };
  'route.picked': Place & Charged & { index: number; to: NodeId };
  'value.missing': Place & { paths: readonly (readonly string[])[] };
  /** A guard compared a text that spells a number as a number. */
  'guard.coerced': Place & { index: number; notes: readonly string[] };
  'guard.failed': Place & { index: number; message: string };
  'expression.failed': Place & Charged & { error: ErrorRecord; to: NodeId };
  'effect.requested': Place &
    Charged & {
      key: EffectKey;
      kind: EffectKind;
      name: string;
      input: string;
      deadline: Instant | null;
      holds?: readonly Hold[];
      watched?: readonly MeterId[];
      /** The `turns` meters that compare its reply. */
      turns?: readonly MeterId[];
      /** The fingerprint of the normalised input, which `repeats` meters compare. */
      print?: string;
      /** The fingerprint of the input without the order of words; only of a text of several words. */
      words?: string;
      notBefore?: Instant;
      paced?: readonly Pace[];
      timed?: readonly MeterId[];
      question?: Question;
      /** Of a wait: the instant at which it is over, or the name of the signal that ends it. */
      until?: Instant;
      signal?: string;
      /** The end of all its attempts. */
      ends?: Instant;
      undo?: Undo;
      /** Of a call whose effect must not happen twice by mistake: what an equal call would have too. */
      mark?: string;
      /** Of a lookup: the call that it looks up. */
      verifies?: EffectKey;
      /** This call finds out if that one happened, before it is undone. With the same key, it is that call again. */
      settles?: EffectKey;
      /** Set if the controls of the call request it: the position of the first that does. */
      control?: number;
      /** Of a control: the walk had begun before. */
      again?: true;
    };
  /**
   * Controls have judged a call. Either the walk goes on, or the call is not made: the agent reads the refusal, or it is a failure.
   */
  'call.judged': Place &
    Charged & {
      /** The check or the question that gave the verdict. */
      of?: EffectKey;
      controls: readonly Judged[];
      /** Arguments that a control or a person changed, and the answer. */
      writes?: readonly WriteRecord[];
      again?: true;
    } & ({ walk: Walk } | { to: NodeId; refusal: Refused } | { to: NodeId; error: ErrorRecord } | { to?: undefined });
  'effect.settled': { key: EffectKey; attempt: number; result: Settled };
  /** A reply that is almost JSON was read without a call: its text with the object in strict JSON, or the arguments of its calls. */
  'reply.repaired': { key: EffectKey; how: readonly string[]; text?: string; args?: readonly [number, Json][] };
  'effect.judged': { key: EffectKey } & (
    | { verdict: 'accepted' }
    | {
        verdict: 'retry';
        error: ErrorRecord;
        /** The fallback target of the next attempt. */
        target?: string;
        /** The request is repeated because it did not get through. It counts as a retry, and not as another call. */
        transport?: true;
        /** The reply did not fit. The next attempt gets it back with the reason. */
        repair?: true;
        /** The reply reached its limit. The next attempt continues it, as a part of the same call. */
        continues?: true;
        notBefore: Instant;
        deadline: Instant | null;
        holds?: readonly Hold[];
        paced?: readonly Pace[];
      }
    | { verdict: 'failed'; error: ErrorRecord; to: NodeId | null }
  );
  /** The host is asked to abort the call. `late`: its time is over. */
  'effect.dropped': { key: EffectKey; why: 'join' | 'halt' | 'late' };
  /** The answer of the host. Only now it is decided if the call is undone. */
  'drop.answered': { key: EffectKey; sent: Sent };
  'meter.tripped': Place & {
    meter: MeterId;
    why: 'limit' | 'foreseen';
    left: number;
    needs: number;
    to: NodeId;
    noted?: true;
    /** Of a `turns` meter: the rule, and the agents of the cycle. */
    stuck?: Stuck;
    /** Of a velocity meter: the amount of the last `perMs`, and its limit. */
    velocity?: { readonly spent: number; readonly max: number; readonly perMs: number };
    /** Of a `repeats` meter. */
    repeated?: Repeated;
    /** Of a budget: the failure of the thread. It is the thread's `error`, unless the slot `tripped` tells the reason. */
    error?: ErrorRecord;
    /** The question whose approval is not used: the call no longer fits. */
    unused?: string;
  };
  /** Agents repeat themselves without a new fact. The run goes on. */
  'deadlock.suspected': Place & { meter: MeterId; stuck: Stuck };
  /**
   * A call failed again with the same arguments and the same error, or its tool failed too often in a row. The error tells the agent,
   * and the run goes on. `any`: the failures are those of the tool with any arguments.
   */
  'failure.repeated': Place & { meter: MeterId; tool: string; failures: number; any?: true };
  /** `deadline` is the new deadline of the run, if its time was raised. */
  'meter.raised': {
    key: EffectKey;
    raises: readonly { readonly meter: MeterId; readonly by: number }[];
    deadline?: Instant;
  };
  /** An operator adds to a budget of a run that ended because it was used up. The first one reopens the run at that call. */
  'budget.granted': {
    by: string;
    /** The key of the budget in documents, and the amount in its unit. */
    dimension: string;
    amount: number;
    raises: readonly { readonly meter: MeterId; readonly by: number }[];
    /** The new deadline of the run, if its time was raised. */
    deadline?: Instant;
  };
  'thread.forked': Place &
    Charged & {
      key: EffectKey;
      branches: Branches;
      started: number;
      deadline: Instant | null;
      exceptPeople?: true;
      into: string;
      gather: readonly { readonly slot: string; readonly mode: GatherMode }[];
    };
  'thread.started': { thread: ThreadId; index: number };
  'thread.ended': { thread: ThreadId } & Ending;
  'fork.joined': {
    thread: ThreadId;
    met: boolean;
    why: 'met' | 'short' | 'late';
    error?: ErrorRecord;
    /** The failure of every branch that was not started, because a budget stopped an earlier one. */
    unstarted?: ErrorRecord;
    to: NodeId;
  };
  'undo.started': { thread: ThreadId } & Ending;
  /** These effects are undone in a separate thread before the thread repeats its work. */
  'rollback.started': Place & { undoes: readonly EffectKey[] };
  'undo.requested': Charged & {
    thread: ThreadId;
    key: EffectKey;
    undoes: EffectKey;
    tool: string;
    deadline: Instant;
  };
  /** The budget of undo calls has no room, so the call stays. */
  'undo.denied': Place & { undoes: EffectKey; tool: string; meter: MeterId };
  /**
   * Another process continues the run after a crash. `idleMs`: nobody worked on the run for so long. These calls were in flight, and are
   * made again with their full time.
   */
  'run.resumed': { idleMs: number; calls: readonly { readonly key: EffectKey; readonly deadline: Instant | null }[] };
  /** A person has said something to the agents of the run, or to one of them. */
  'guidance.given': { by: string; text: string; agent: string | null };
  /** A thread takes a remark up: the words are before the next request of this agent. `of`: the event that gave it. */
  'guidance.heard': Place & { of: number; agent: string; writes: readonly WriteRecord[] };
  'run.repinned': { by: string; modules: { readonly [file: string]: string } };
  /** The earlier events are those of the parent. */
  'run.forked': {
    by: string;
    edits: readonly SlotEdit[];
    /** New instructions and models, by agent. The flow of the run has them too. */
    agents?: AgentEdits;
    /** The time since the last event of the parent. It does not count as time of the run. */
    idleMs: number;
    /** The run continues its parent under another version of the flow. The parent has ended, and its effects belong to this run. */
    moved?: true;
  };
  /**
   * The run stops: its time is used up, a person cancels it, or it moves to another version of its flow. `movedTo` is the run that
   * continues this one; then nothing is undone here.
   */
  'run.halted': { state: EndState; code: TerminalCode; by: string; why: string; movedTo?: RunId };
  /** The run has most of what a run may have. `ends`: it has all of it, so it stops. */
  'limit.met': { limit: RunLimit; used: number; max: number; ends?: true };
  /** The state of the run broke an invariant. The run ends without another decision, and undoes nothing. */
  'run.broken': { error: ErrorRecord };
  'clock.read': unknown;
  'run.ended': Ending;
}

export type EventBody = TypesOf<EventFields> | (ProtectionNote & { readonly key: EffectKey }) | QuestionEvent;
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
  /** `maybe`: it was sent and has no answer. `unknown`: it is not known if it was sent, so this is found out first. */
  ran: 'pending' | 'yes' | 'maybe' | 'unknown';
  result: Json;
  /** Of a call whose outcome may have to be found out: the slots that its input is made from, and its attempts. */
  slots?: Slots;
  attempts?: number;
  /** No tool could find out, so a person decides. */
  asked?: true;
}

/** A refusal as the agent's flow reads it, in the slot `_refusal`. */
export interface Refused {
  readonly control: string;
  readonly step: string;
  readonly tag: string;
  readonly reason: string;
}

/** How far the controls of a call have been walked. */
export interface Walk {
  /** The next control. After the last one the call is requested. */
  readonly at: number;
  /** A person is asked now: by the control itself, or about its refusal. */
  readonly asks?: 'itself' | 'refusal';
  /**
   * The reason of the refusal that a person is asked about, and all that the check returned. `instead`: the place of the consequence
   * that replaced that of the control.
   */
  readonly refused?: { readonly reason: string; readonly verdict: Json; readonly instead?: number };
  /** The first check of the call: a check that is performed again knows that it is the same call. */
  readonly call?: EffectKey;
  /** A check wants to be performed at this time. */
  readonly until?: Instant;
  readonly waits?: number;
  /** When the first wait began. */
  readonly since?: Instant;
  readonly doubt?: string;
  /** Earlier equal calls that the person who is asked was told about. */
  readonly repeats?: readonly EffectKey[];
  /** The number of times that a person changed the arguments. */
  readonly edits?: number;
  /** The question whose answer let the call pass. */
  readonly approved?: string;
  /** Only volatile controls judge: a person has just answered. */
  readonly again?: true;
}

export interface Deed {
  readonly tool: string;
  readonly mark: string;
  readonly at: Instant;
  readonly ran?: 'yes' | 'maybe';
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
  /** `control`: it waits for a check of its call, or for a question about it. */
  | { readonly is: 'waiting'; readonly on: EffectKey; readonly control?: true }
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
  /** The meters of the visit whose call the end of the run cut off. */
  cut?: readonly MeterId[];
  /** Set while the controls of the call at this node are walked. */
  walk?: Walk;
}
/** A thread as it was when a budget or the time of the run stopped it. */
export interface StoppedThread extends Thread {
  /** The meter without room; absent where a branch or the time of the run was the reason. */
  readonly meter?: MeterId;
  /** An effect of the thread was undone since, so it cannot go on. */
  readonly undone?: true;
  /** It is known that the call that the end cut off did not happen. */
  readonly unsent?: true;
}
export interface Pending {
  readonly key: EffectKey;
  readonly thread: ThreadId;
  readonly node: NodeId;
  readonly kind: EffectKind;
  readonly name: string;
  /** The number of earlier calls of the same name in this run. A script uses it as its position. */
  ordinal: number;
  attempt: number;
  /** Attempts that only repeated a request that did not reach the provider. */
  transported?: number;
  /** Attempts that asked the model to repair its reply. */
  repaired?: number;
  /** The reply that the current attempt repairs, and the reason why it did not fit. */
  repair?: { readonly reply: Json; readonly problem: string };
  /** True if the latest attempt did not count as a separate call. */
  uncounted?: boolean;
  /** Attempts that continued a reply, and the reply that the current attempt continues. */
  continued?: number;
  partial?: Json;
  /** The fallback target that is used now. */
  target?: string;
  notBefore: Instant;
  deadline: Instant | null;
  /** The end of all its attempts. */
  ends?: Instant;
  holds: readonly Hold[];
  /** The time meters that measure it. */
  timed?: readonly MeterId[];
  watched?: readonly MeterId[];
  turns?: readonly MeterId[];
  /** The meters that its visit charged. */
  visits?: readonly MeterId[];
  /** Set if the controls of the node request it. */
  control?: number;
  readonly question: Question | null;
  /** Of a question: the answers so far that count towards its quorum. */
  votes?: readonly Vote[];
  /** Of a question: the nonces of logins that were used for it, also for an answer that was refused. */
  nonces?: readonly string[];
  /** Of a question: when the second level may answer too. Absent once it may. */
  escalateAt?: Instant;
  /** Of a question: the second level may answer. */
  escalated?: true;
  /** Of a wait: the instant at which it is over, or the name of the signal that ends it. */
  until?: Instant;
  signal?: string;
  readonly undoes: EffectKey | null;
  /** Of a lookup: the call that it looks up. */
  verifies?: EffectKey;
  /** The call whose outcome it finds out. */
  readonly settles?: EffectKey;
  /** The host was asked to abort it and has not answered. */
  dropped?: 'join' | 'halt' | 'late';
  /** How often it was made again after a crash. */
  resumed?: number;
  observed: Settled | null;
  accepted: boolean;
}
/** Something that a person has said to the agents of a run. `agent` is null if any of them may hear it. */
export interface Remark {
  readonly seq: number;
  readonly by: string;
  readonly text: string;
  readonly agent: string | null;
  readonly heard?: true;
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
  reserved: { [meter: MeterId]: number };
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
  /** What people have said to the agents. */
  remarks?: readonly Remark[];
  /** The limits that the run was told about. */
  met?: { readonly [limit in RunLimit]?: 'near' | 'all' };
  /** Calls whose effect must not happen twice by mistake, and that happened, may have happened or are in flight. */
  deeds?: { readonly [key: EffectKey]: Deed };
  /** A fixed answer took the place of a reply, so the run is a partial success at best. */
  stoodIn?: true;
  /** The threads that a budget stopped, by id: where the run goes on if more is granted. */
  stopped?: { readonly [thread: ThreadId]: StoppedThread };
  outcome: Outcome | null;
}
export type { Question, Refusal } from './questions.ts';
export type { Command, Outbox, Pace, RecentCall, Stuck } from './commands.ts';
