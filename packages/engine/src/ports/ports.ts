/**
 * The ports of the runtime: a journal that loads and commits runs, leases that say which worker owns a run, mail for runs that
 * another process owns, an index of all runs, a clock, and a performer of calls (docs/decisions/0002-ports.md).
 */
import type { Json } from '@sluice-internal/kernel/expr';
import type {
  Answer,
  Command,
  CompiledFlow,
  EffectKey,
  Fact,
  Instant,
  NotifyHook,
  Pins,
  Question,
  RunId,
  RunStatus,
  Settled,
  TerminalCode,
} from '@sluice-internal/kernel/ir';
import type { MemoryStore } from './memory.ts';

/** One transition of one run. The hash covers exactly these bytes. */
export interface Append {
  readonly run: RunId;
  /** The number of the last stored event, which fences the append. 0 for a new run. */
  readonly after: number;
  /** The number of events in the body. */
  readonly count: number;
  readonly at: Instant;
  readonly body: string;
  readonly hash: string;
  /** Big values that the body refers to by hash and that this run has not stored before. */
  readonly blobs: readonly Blob[];
  /** The new entry of the run in the index; null if it stays the same. */
  readonly entry: RunEntryChange | null;
  /** The graph of the run. With the first append only. */
  readonly flow: { readonly hash: string; readonly text: string } | null;
  /** A cache that may be deleted at any time. */
  readonly snapshot: Snapshot | null;
  /** What lists show of the run after this append. Absent if it stays the same. */
  readonly details?: RunDetails;
  /** A signature over the end of the chain after this append. */
  readonly checkpoint?: Checkpoint;
}
/** A signed statement: at this instant the chain of a run ended with this hash. */
export interface Checkpoint {
  readonly seq: number;
  readonly head: string;
  readonly at: Instant;
  /** The public key as `ed25519:` and base64. */
  readonly key: string;
  /** Base64. */
  readonly signature: string;
}

export interface Signer {
  /** `ed25519:` and the 32 bytes of the public key in base64url. */
  readonly key: string;
  sign(
    store: string,
    run: RunId,
    at: { readonly seq: number; readonly head: string; readonly at: Instant },
  ): Checkpoint;
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
  /** The next deadline of the run; null if it has none. */
  readonly due: Instant | null;
  /** With the first append only. */
  readonly first?: RunStart;
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
  /** The latest snapshot, if one was asked for and exists. */
  readonly snapshot: Snapshot | null;
  /** In order: those after the snapshot, or all. */
  readonly appends: readonly StoredAppend[];
  readonly blobs: readonly Blob[];
}

/**
 * The journal of a store: appends events and reads them.
 * @example
 * const store = openMemory();
 * const journal: Journal = store.journal;
 * const stored = await journal.load('r_1');
 */
export interface Journal {
  /**
   * At most `limit` changes of all runs, in the order in which they were stored, from the one that follows a cursor. '' is the beginning.
   * With null there are none, and `next` is the end. A cursor stays valid when runs are removed. `next` is the cursor to go on
   * from: the given one if nothing follows.
   */
  changes(
    after: string | null,
    limit: number,
  ): Promise<{ readonly items: readonly RunChange[]; readonly next: string }>;
  /**
   * The end of the stored chain of a run, read without its events, so that it needs no key. Null if there is no such run. Absent:
   * events are read without a key.
   */
  end?(run: RunId): Promise<{ readonly events: number; readonly head: string } | null>;
  /** At most `limit` appends, in order, from the one that follows event `after`. */
  page(run: RunId, after: number, limit: number): Promise<readonly StoredAppend[]>;
  /** The signed checkpoints of a run, in order. */
  checkpoints?(run: RunId): Promise<readonly Checkpoint[]>;
  /** `after`: without the appends up to this event. */
  load(run: RunId, options?: LoadOptions): Promise<StoredRun | null>;
  /**
   * Finds a change from outside and describes it in a sentence; null if there is none. Checks the entry of the run, the end of its journal,
   * and the lists that it depends on. Without a run: the store as a whole. Absent: rows cannot be changed from outside.
   */
  broken?(run?: RunId): Promise<string | null>;
  /**
   * Stores all appends in one durable step. An append whose fence or lease does not hold is `stale` and stores nothing. An
   * append that suspends or ends a run also releases it. One that wakes a suspended run claims it.
   */
  commit(worker: WorkerId, appends: readonly Append[]): Promise<readonly ('committed' | 'stale')[]>;
}

/**
 * A step of a run that was stored.
 * @example
 * for await (const { run, status } of engine.feed()) console.log(run, status);
 */
export interface RunChange {
  /** The place of this change among those of all runs. */
  readonly cursor: string;
  readonly run: RunId;
  /** The number of the last event of the step. */
  readonly seq: number;
  /** Status and code of the run as they are when the change is read. */
  readonly status: RunStatus;
  readonly code: TerminalCode | null;
  readonly tenant: string | null;
}

interface LoadOptions {
  /** With the latest snapshot, and without the appends before it. Default true. */
  readonly snapshot?: boolean;
  readonly after?: number;
}

export type WorkerId = string;
/** The part of an entry that never changes. */
interface RunStart {
  readonly flow: string;
  readonly notation: string;
  readonly tenant: string | null;
  readonly user: string | null;
  /** The conversation that it belongs to. At most one open run of a tenant has it. */
  readonly thread: string | null;
  /** The run that this one was forked from. */
  readonly parent: RunId | null;
  readonly startedAt: Instant;
}
export interface RunEntry extends RunStart {
  readonly run: RunId;
  readonly hash: string;
  readonly status: RunStatus;
  readonly code: TerminalCode | null;
  readonly updatedAt: Instant;
  readonly due: Instant | null;
  readonly owner: WorkerId | null;
}
/** What lists show of a run besides its entry. It follows from the journal, and can be made again from it. */
export interface RunDetails {
  readonly facts: RunFacts;
  /** The questions that are open, oldest first. */
  readonly questions: readonly AskedQuestion[];
}
export interface RunFacts {
  /** The last event that they describe. Those of a working run may be some events behind. */
  readonly seq: number;
  readonly steps: number;
  readonly inputTokens: number;
  readonly outputTokens: number;
  readonly costUsd: number;
  /** The number of open questions. */
  readonly questions: number;
  /** The node of the document where the run is, or where it failed. Null if there is none. */
  readonly node: string | null;
  /** The failure that ended the run. */
  readonly error: { readonly type: string; readonly message: string } | null;
}
export interface AskedQuestion {
  readonly id: string;
  readonly node: string;
  readonly askedAt: Instant;
  readonly expiresAt: Instant | null;
}
/**
 * An answer, a signal or a cancellation from a process that does not own the run.
 * @example
 * const isForged = (letter: Letter) => letter.fact === null;
 */
export interface Letter {
  readonly id: number;
  readonly run: RunId;
  /** Null if the stored row was changed from outside. */
  readonly fact: MailFact | null;
}
export type MailFact = Extract<Fact, { type: 'answer' | 'signal' | 'cancel' | 'guide' | 'note' }>;

/**
 * Which worker owns which run. `leases.ts` has the rules of ownership. All times are those of the clock of the store.
 * @example
 * const { leases }: { leases: Leases } = openMemory();
 * await leases.resign('w_1');
 */
export interface Leases {
  /**
   * Joins, or renews the lease for a term that the clock of the store measures. Returns the time of day of the store; null
   * when the worker is fenced: it must stop before it acts.
   */
  renew(worker: WorkerId, termMs: number): Promise<Instant | null>;
  /** Claims the named run, or runs that need work. A run of a live worker is not claimed. */
  claim(worker: WorkerId, which: { readonly run: RunId } | OpenRunsFilter): Promise<readonly RunId[]>;
  release(worker: WorkerId, runs: readonly RunId[]): Promise<void>;
  resign(worker: WorkerId): Promise<void>;
}

/** Runs that a worker may claim without their names. */
export interface OpenRunsFilter {
  readonly limit: number;
  readonly except?: readonly RunId[];
  /** Absent: runs of all tenants. */
  readonly tenant?: string;
}

/**
 * The clock of a store. `elapsed` measures leases: it is the same for all workers of the store, and no change of the time of day
 * moves it.
 * @example
 * const clock: StoreClock = { now: () => Date.now(), elapsed: () => performance.now() };
 * const store = openMemory({ clock });
 */
export type StoreClock = Pick<Clock, 'now' | 'elapsed'>;

/**
 * Facts from processes that do not own the run. The worker that owns it takes them.
 * @example
 * const { mail }: { mail: Mail } = openMemory();
 * await mail.post('r_1', { type: 'cancel', by: 'ann', why: 'a mistake' });
 */
export interface Mail {
  post(run: RunId, fact: MailFact): Promise<void>;
  /**
   * Deletes the letters in `done`, and returns those for the runs of this worker, oldest first. A letter stays until it is done:
   * its fact is stored or refused.
   */
  take(worker: WorkerId, done?: readonly number[]): Promise<readonly Letter[]>;
}

/**
 * The lists of a store: runs, open questions, tenants, and the tombstones of removed runs. A list is read in pages.
 * @example
 * const { index }: { index: Index } = openMemory();
 * const { items, next } = await index.list({ status: ['failed'], limit: 20 });
 */
export interface Index {
  /** The run that started last is first. */
  list(filter?: RunFilter & PageRequest): Promise<Page<ListedRun>>;
  find(run: RunId): Promise<RunEntry | null>;
  /** Open questions to people. The one that was asked last is first. */
  questions(filter?: QuestionFilter & PageRequest): Promise<Page<OpenQuestion>>;
  /** The number of runs that wait, without one, and since when the oldest of them waits. */
  waiting(filter: { readonly tenant?: string; readonly except: RunId }): Promise<WaitingRuns>;
  /** The tenants that have runs, in the order of their names. */
  tenants(page?: PageRequest): Promise<Page<string>>;
  /** Replaces the details of a run by those that follow from its journal. False if they were the same. */
  describe(run: RunId, details: RunDetails): Promise<boolean>;
  /** Ended runs of a scope that are above the number, oldest first, or ended before the instant. */
  expired(of: RunScope, rule: { readonly runs?: number; readonly endedBefore?: Instant }): Promise<readonly RunId[]>;
  /** Removes runs that have ended. Returns the removed ones. `files` names the exports of runs. */
  remove(runs: readonly RunId[], files?: ReadonlyMap<RunId, string>): Promise<readonly RunId[]>;
  /** The tombstone of a removed run; null if no run with this id was removed. */
  removed(run: RunId): Promise<Tombstone | null>;
  /** Removed runs in the order of removal. `head` is the link of the last one of all, and '' if no run was removed. */
  tombstones(page?: PageRequest): Promise<Page<Tombstone> & { readonly head: string }>;
}

/** A part of a list. `next` is the cursor of the following page; null after the last item. */
export interface Page<Item> {
  readonly items: readonly Item[];
  readonly next: string | null;
}
export interface PageRequest {
  /** The `next` of the page before. */
  readonly cursor?: string;
  /** Default 100. */
  readonly limit?: number;
}

/**
 * The runs that a list has: those for which all fields hold.
 * @example
 * const failedToday: RunFilter = { status: ['failed'], flow: 'refund', since: Date.now() - 86_400_000 };
 */
export interface RunFilter {
  readonly status?: readonly RunStatus[];
  readonly code?: string;
  readonly flow?: string;
  /** Null: the runs without a tenant. */
  readonly tenant?: string | null;
  readonly user?: string;
  readonly thread?: string;
  readonly parent?: RunId;
  /** Runs that started at this instant or later. */
  readonly since?: Instant;
  /** Runs that started before this instant. */
  readonly until?: Instant;
  /** Runs whose ids begin with this text. */
  readonly prefix?: string;
  /** Runs whose next deadline is at this instant or before. */
  readonly due?: Instant;
  /** Runs that changed at this instant or later. */
  readonly changedSince?: Instant;
  /** Runs that changed at this instant or before, and not since. */
  readonly changedUntil?: Instant;
}
export interface ListedRun extends RunEntry {
  /** Null for a run that a store without lists wrote, until `sluice audit verify --rebuild`. */
  readonly facts: RunFacts | null;
}
export interface QuestionFilter {
  readonly run?: RunId;
  /** Null: those of runs without a tenant. */
  readonly tenant?: string | null;
}
export interface OpenQuestion extends AskedQuestion {
  readonly run: RunId;
}
interface WaitingRuns {
  readonly count: number;
  readonly since: Instant | null;
}

/** The runs of one notation, or of one flow for one tenant. Null: the runs without a tenant. */
export type RunScope = { readonly notation: string } | { readonly flow: string; readonly tenant: string | null };

/** The trace of a removed run. Its id cannot be used again. */
export interface Tombstone {
  readonly run: RunId;
  /** The number of its events, and the hash of the last one. */
  readonly events: number;
  readonly hash: string;
  readonly at: Instant;
  readonly tenant: string | null;
  /** The file to which the run was exported before; null without an export. */
  readonly file: string | null;
  /** Covers the tombstone before and all fields of this one. */
  readonly link: string;
}

/**
 * A shared value, and a version that differs for each value that it had.
 * @example
 * const isUnused = ({ version }: Cell) => version === '';
 */
export interface Cell {
  /** Null if there is no value. */
  readonly value: Json;
  /** Empty if there is no value. */
  readonly version: string;
}

/**
 * Small values that all processes of a store share, such as the state of circuit breakers. Only data passes, so that they can lie on
 * another machine.
 * @example
 * const { shared }: { shared: Cells } = openMemory();
 * const { version } = await shared.get('count');
 * const isMine = await shared.swap('count', version, 1);
 */
export interface Cells {
  get(key: string): Promise<Cell>;
  /** Stores the value if the stored one still has this version, and the act of an operator with it. False: it has another one. */
  swap(key: string, version: string, value: Json, act?: Omit<OperatorAct, 'key' | 'link'>): Promise<boolean>;
  /** Values whose key has this beginning, in the order of keys, from the one that follows `after`. */
  list(prefix: string, after?: string, limit?: number): Promise<readonly (Cell & { readonly key: string })[]>;
  /** All acts of operators, in order. */
  acts(): Promise<readonly OperatorAct[]>;
  /** The link of the last act as the store keeps it, and the keys of values that were changed from outside. */
  integrity(): Promise<{ readonly head: string; readonly changed: readonly string[] }>;
}

/** A change that a person made to a shared value by hand. */
export interface OperatorAct {
  readonly at: Instant;
  readonly by: string;
  readonly what: string;
  readonly key: string;
  readonly why: string;
  /** Covers the act before and all fields of this one. */
  readonly link: string;
}

/** What has been stored since the hint before. */
export interface Hint {
  /** Runs with new events. */
  readonly runs: readonly RunId[];
  /** True if there is new mail. */
  readonly mail: boolean;
}

/**
 * Holds runs: their journal, their owners, and shared values.
 * @example
 * const store: Store = openMemory();
 * const own = createEngine({ journal: store });
 */
export interface Store {
  /** Random, made with the store. It is part of every idempotency key. Known after `ready`. */
  readonly id: string;
  /** Resolves when the store was reached, and rejects with the reason why it cannot be used. Absent: it is open. */
  ready?(): Promise<void>;
  /** Only runs of this tenant exist in the store. Absent: the runs of all. */
  readonly tenant?: string;
  readonly journal: Journal;
  readonly leases: Leases;
  readonly mail: Mail;
  readonly index: Index;
  readonly shared: Cells;
  /** The sealed values of personal data. Absent: they lie beside the database file, or last as long as the process. */
  readonly pii?: PiiStore;
  /** Images and files of runs. Absent: they lie beside the database file, or last as long as the process. */
  readonly attachments?: AttachmentStore;
  /** What agents remember. Absent: it lies beside the database file, or lasts as long as the process. */
  readonly memory?: MemoryStore;
  /** How often a worker looks for work by itself, in milliseconds. Default 200. */
  readonly pollMs?: number;
  /** Who can open it: this process, processes of this machine, or those of any machine. In a network no key is read from a file. */
  readonly reach: 'process' | 'machine' | 'network';
  /**
   * Calls `wake` soon after another process has stored something. It is only a hint: it may come late or not at all, so the engine
   * also looks by itself, but slowly. Returns a function that ends it. Absent: no other process uses the store.
   */
  subscribe?(wake: (hint: Hint) => void): () => void;
  /** Gives the space of removed runs back to the disk. */
  compact?(): Promise<void>;
  /** Seals every stored value with the first key again, and returns how many there were. No hash changes. */
  rekey?(): Promise<number>;
  close(): Promise<void>;
}

/**
 * The clock of an engine: the time of day, elapsed time and timers.
 * @example
 * const clock: Clock = createVirtualClock(0);
 * await clock.sleep(60_000);
 */
export interface Clock {
  /** True if waits pass at once, as under a script. */
  readonly virtual: boolean;
  /** The time of day. It may jump. */
  now(): Instant;
  /** Milliseconds since a fixed moment. Never jumps. */
  elapsed(): number;
  /** Calls back at the instant or later. Returns a function that cancels. */
  at(instant: Instant, wake: () => void): () => void;
  sleep(ms: number, signal?: AbortSignal): Promise<void>;
  /** Marks the start of real work; the returned function marks its end. A virtual clock stands still between the two. */
  busy?(): () => void;
}

/** The kind of streamed text: the reply itself, its reasoning, or the arguments of a tool call. */
export type StreamedPart = 'text' | 'reasoning' | 'arguments';

/**
 * A call of a model, a tool or a check, with everything that its performer may need.
 * @example
 * const perform: Performer['perform'] = async (call: Call) => ({ ok: true, value: `${call.command.name} was called` });
 */
export interface Call {
  readonly command: Command;
  readonly flow: CompiledFlow;
  /** SHA-256 over store, run, step, visit and inputs: the same for every attempt, different for every run and store. */
  readonly idempotencyKey: string;
  /** The folder and the code of the run. */
  readonly pins?: Pins | undefined;
  readonly signal: AbortSignal;
  readonly clock: Clock;
  /** Takes the text of a reply while it is generated. Undefined when no reader asked for it. The text is not stored. */
  readonly onText?: ((text: string, part?: StreamedPart) => void) | undefined;
}
/**
 * Performs the calls of a run. It can replace models, tools and people at once.
 * @example
 * const performer: Performer = { perform: async () => ({ ok: true, value: { text: 'Hello.' } }) };
 * const own = createEngine({ performer });
 */
export interface Performer {
  perform(call: Call): Promise<Settled>;
  /**
   * Replaces personal data in a value that is about to enter the journal. Absent: values enter as they are. The value may
   * repeat the tokens in `shown`.
   */
  protect?(flow: CompiledFlow, run: RunId, value: Json, documentDir?: string, shown?: unknown): Promise<Json>;
  /** Throws if the stored personal data of a run cannot be read with the key that is set. */
  checkKey?(flow: CompiledFlow, run: RunId, documentDir?: string): Promise<void>;
  /** True if a script plays this call. Such calls have breakers and a retry budget of their own. Absent: all calls are real. */
  isScripted?(call: Call): boolean;
  /** Answers a question at once, as a script does. Null leaves the question to a person. */
  answer?(question: Asked): ScriptedAnswer | null;
  /** On a virtual clock: true if time passes up to the deadline of this open question. Absent: it always does. */
  expires?(question: Asked): boolean;
  /** Announces a question. Rejects if the hook fails. Absent: nothing is announced, as under a script. */
  notify?(notification: Notification): Promise<void>;
  /** Sends a signal at once, as a script does. Null leaves it to the outside. */
  signal?(waiting: Awaited): { readonly data: Json } | null;
}
/** An answer from a script. Without `by`, it counts as the answers of all people who must agree. */
export interface ScriptedAnswer extends Omit<Answer, 'by' | 'proof' | 'unproven'> {
  readonly by?: string | readonly string[];
}
/** A question that is announced to a hook. */
export interface Notification {
  readonly hook: NotifyHook;
  /** The same for every attempt. */
  readonly id: string;
  /** JSON. */
  readonly body: string;
  readonly documentDir: string | undefined;
  readonly signal: AbortSignal;
}
/** A wait for a signal. */
export interface Awaited {
  readonly key: EffectKey;
  readonly signal: string;
  readonly node: string;
  readonly ordinal: number;
}
/**
 * Stores sealed values of personal data. It sees no value and no key.
 * @example
 * const erase = (store: PiiStore, id: string) => store.erase(id);
 */
export interface PiiStore {
  /** Null if no token of the run has this lookup. */
  tokenOf(run: RunId, lookup: string): Promise<string | null>;
  /** The last number of a type in this store; 0 without one. It stays after an erasure. */
  lastNumber(run: RunId, type: string): Promise<number>;
  /** Stores a token with its number. Returns it, or the token that another process stored with this lookup before. */
  add(run: RunId, type: string, lookup: string, number: number, made: SealedToken): Promise<string>;
  find(run: RunId, token: string): Promise<Uint8Array | null>;
  /** Any token of a run with its value, to check the key; null if the run has none. */
  first?(run: RunId): Promise<SealedToken | null>;
  /** Stores the mark of a token that was passed to a tool as it is. It may come back in a result. */
  release(run: RunId, token: string, mark: string): Promise<void>;
  /** The stored mark; null without one. */
  releaseOf(run: RunId, token: string): Promise<string | null>;
  /** Deletes all values of a run permanently, and returns how many there were. */
  erase(run: RunId): Promise<number>;
  /** The runs that have values. Absent: those of removed runs are not deleted. */
  owners?(): Promise<readonly RunId[]>;
  close(): Promise<void>;
}
/**
 * Stores images and files of runs outside of the journal. Equal data is stored once.
 * @example
 * const options = (attachments: AttachmentStore): CreateEngineOptions => ({ attachments });
 */
export interface AttachmentStore {
  add(run: RunId, attachment: StoredAttachment): Promise<void>;
  /** Null if the run has no such attachment, also if another run has it. */
  find(run: RunId, id: string): Promise<StoredAttachment | null>;
  list(run: RunId): Promise<readonly string[]>;
  /** Removes the attachments of a run, and data that no other run uses. Returns how many there were. */
  erase(run: RunId): Promise<number>;
  close(): Promise<void>;
}
/** `input`: the operator gave it with the input of the run. `tool`: a tool returned it. */
export type AttachmentOrigin = 'input' | 'tool';
/**
 * An image or a file as it is stored.
 * @example
 * const show = (stored: StoredAttachment) => console.log(stored);
 */
export interface StoredAttachment {
  /** `sha256-` and the hash of the data. */
  readonly id: string;
  readonly data: Uint8Array;
  readonly mediaType: string;
  readonly name: string;
  readonly origin: AttachmentOrigin;
}
export interface SealedToken {
  readonly token: string;
  readonly sealed: Uint8Array;
}
export interface Asked {
  readonly question: Question;
  readonly node: string;
  readonly name: string;
  readonly ordinal: number;
}
