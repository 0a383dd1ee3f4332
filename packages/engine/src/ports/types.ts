/** The interface of the engine, and its report on a run. The JSON shape of a report is part of the contract. */
import type { MadeDecision } from './decisions.ts';
import type { Packet } from './packet.ts';
import type {
  DecidedBy,
  AgentEdits,
  Answer,
  AskPurpose,
  CompiledFlow,
  EffectClass,
  EffectKey,
  Event,
  FailedPart,
  Instant,
  Measure,
  Origin,
  Proof,
  RunId,
  RunState,
  RunStatus,
  TerminalCode,
} from '@sluice-internal/kernel/ir';
import type { Program } from '@sluice-internal/kernel/core';
import type { Escalation } from '@sluice-internal/kernel/catalog';
import type { Json } from '@sluice-internal/kernel/expr';
import type { GivenAnswer } from './identity.ts';
import type { Clock, ListedRun, Page, PageRequest, Performer, RunChange, RunFilter, Signer, Store } from './ports.ts';
import type { Quota, WorstCase } from './quota.ts';

export interface EngineOptions {
  readonly store: Store;
  readonly performer: Performer;
  readonly clock?: Clock;
  /**
   * Claims unfinished runs that no live process owns, and continues them. Default true. With `timers`, it only ends waits and
   * questions whose time is over and which no call follows. A call is left to a process with the options of the run.
   */
  readonly pickUp?: boolean | 'timers';
  /** How many runs it claims by itself at a time. Runs that wait for a person do not count. Default: no limit. */
  readonly concurrency?: number;
  /** Throws if this engine must not continue a run with this origin. Its own starts are not checked. */
  readonly checkOrigin?: (run: RunId, origin: Origin) => void;
  /** A worker that has not renewed its lease for this long can lose its runs. Default 10 s. */
  readonly leaseMs?: number;
  /** The least number of events between snapshots. Default 500; 0 for no snapshots. */
  readonly snapshotEvery?: number;
  /** Lower values of three limits that hold for every run: its events, the bytes of its large values, and the runs of this process. */
  readonly limits?: { readonly events?: number; readonly bytes?: number; readonly runs?: number };
  /** The number of runs to keep, by notation. A start removes the oldest ended runs above it. Overrides the flow's own number. */
  readonly retain?: { readonly [notation: string]: number };
  /** Writes a run to a file in this folder before retention removes it. Without it, `retain.export` removes nothing. */
  readonly exportRun?: (run: RunId, folder: string) => Promise<string>;
  /** Called after retention has removed runs: their personal data and attachments are stored elsewhere. */
  readonly onRemoved?: (runs: readonly RunId[]) => void;
  /** Signs checkpoints of every run: each so many events, and at its end. Default: after 100 events. */
  readonly signing?: { readonly signer: Signer; readonly every?: number };
  /** The public keys of the servers whose word about a login counts, as they are now. Absent: none. */
  readonly trustedServers?: () => readonly string[];
  /** Limits for the runs of tenants, by tenant; `*` for every other one. They are stored, and hold for all processes. */
  readonly quotas?: { readonly [tenant: string]: Quota };
  /** The most that a run of a flow can spend. Absent: nothing is known, and quotas of tokens and dollars refuse every run. */
  readonly worstCase?: (flow: CompiledFlow) => WorstCase;
  /** A fault outside of any run, such as a full disk. The engine stops, and rejects its callers. A store that is away is none: the runs wait. */
  readonly onFault?: (error: Error) => void;
  /** Something that an operator should know: removed runs, a refused message, a jump of the clock, a store that is away. */
  readonly onNotice?: (message: string, kind?: NoticeKind) => void;
}

/**
 * `attack`: the database was changed from outside, and the engine refused the change. `key`: a key was made, without which data
 * cannot be read.
 */
export type NoticeKind = 'info' | 'attack' | 'key';

/**
 * Options of a start.
 * @example
 * const options: StartOptions = { run: 'refund-1042', input: { message: 'money back' }, seed: 1 };
 */
export interface StartOptions {
  /** Makes the start idempotent: a second start under this id with the same input, user and deadline gives the same run. */
  readonly run?: RunId;
  readonly input?: Json;
  readonly seed?: number;
  readonly origin?: Origin;
  /** The conversation that the run belongs to. It has at most one open run: a second start is `thread-busy`. */
  readonly thread?: string;
  /** The run stops at this instant (milliseconds since 1970) with TIMEOUT. Unlike `wall_clock_seconds`, it also counts waiting for people. */
  readonly deadline?: Instant;
}

interface SignalOptions {
  /** The flow reads it as `<id>.data`. */
  readonly data?: Json;
  /** The name of the sender; recorded in the journal. */
  readonly by?: string;
}

export interface ForkOptions {
  /** The last event that the new run shares with its parent. */
  readonly at: number;
  /** The id of the new run. */
  readonly run?: RunId;
  /** New values of slots, by name: `input`, `triage.output`. */
  readonly set?: { readonly [slot: string]: Json };
  /** Answers to questions that are open at the event, by node or approval id. */
  readonly answers?: { readonly [question: string]: Omit<Answer, 'by' | 'proof' | 'unproven'> };
  /** The person who forks; recorded, and named in the answers. */
  readonly by?: string;
  /** The instructions and models that `flow` changes, by agent; recorded. */
  readonly agents?: AgentEdits;
  /** The graph of the new run, if it is another one. Its nodes must fit the events. */
  readonly flow?: CompiledFlow;
  /** Replaces fields of the origin, such as the pins of changed code. */
  readonly origin?: Origin;
  /** Runs when the fork is known to be possible, before it is stored. */
  readonly beforeStart?: () => void | Promise<void>;
}

/**
 * Amounts that are added to budgets of a run.
 * @example
 * const grant: BudgetGrant = { budget: { tool_calls: 20 }, by: 'anna' };
 */
export interface BudgetGrant {
  /** By the key of the budget in documents, in its unit. */
  readonly budget: { readonly [dimension: string]: number };
  /** The person who grants them. It is recorded. */
  readonly by: string;
}

export interface MigrateOptions {
  /** The id of the new run. */
  readonly run?: RunId;
  /** The person who moves it; recorded. */
  readonly by: string;
  /** Replaces fields of the origin, such as the pins of the new version. */
  readonly origin?: Origin;
  /** Runs when the move is known to be possible, before anything is stored. */
  readonly beforeStart?: (run: RunId) => void | Promise<void>;
}

/**
 * What an engine works on, and if it reaches its store.
 * @example
 * const isWell = ({ store, lease }: EngineHealth) => store === 'reached' && lease;
 */
export interface EngineHealth {
  /** Runs in memory. */
  readonly runs: number;
  /** Calls in flight. */
  readonly calls: number;
  /** `away`: it waits until the store is back. `failed`: it has stopped. */
  readonly store: 'reached' | 'away' | 'failed';
  /** True while no other worker can take its runs. */
  readonly lease: boolean;
}

/**
 * A remark of a person to the agents of a run.
 * @example
 * const remark: GivenRemark = { by: 'anna', text: 'The customer called: the parcel has come.' };
 */
export interface GivenRemark {
  /** The person who makes it. It is recorded. */
  readonly by: string;
  readonly text: string;
  /** The agent that hears it. Without it: the agent that asks its model next. */
  readonly agent?: string | null | undefined;
}

export interface Engine {
  /** Resolves when the start is stored. The same id with the same flow and input gives the existing run. */
  start(flow: CompiledFlow, options?: StartOptions): Promise<RunId>;
  /**
   * Starts a new run that shares the events of a run up to event `at` and then continues on its own, with the given edits.
   * Resolves when it is stored.
   */
  fork(run: RunId, options: ForkOptions): Promise<unknown>;
  /**
   * Moves a suspended run to another version of its flow: a new run continues it, and the old one ends. The caller has proved
   * that the position and the values of the run fit it.
   */
  migrate(run: RunId, flow: CompiledFlow, options: MigrateOptions): Promise<unknown>;
  /** Resolves when the answer is stored. Rejects with a SluiceError when it is refused. */
  answer(approval: string, answer: GivenAnswer): Promise<RunId>;
  /**
   * Sends a signal to a run that waits for it. The name is that of the signal or of the `wait` node. Resolves when the signal
   * is stored. Rejects with a SluiceError if the run does not wait for it.
   */
  signal(run: RunId, name: string, options?: SignalOptions): Promise<void>;
  /**
   * A remark of a person to the agents of a run, or to one of them. It reaches the next request of that agent. Resolves when it is
   * stored.
   */
  guide(run: RunId, remark: GivenRemark): Promise<void>;
  cancel(run: RunId, by: string, why?: string): Promise<void>;
  /** Records that an operator accepts the changed code of a run. `modules` has the new hashes, by file. */
  repin(run: RunId, by: string, modules: { readonly [file: string]: string }): Promise<void>;
  /** Continues a run that no live process owns. With `grant`: one that ended because a budget was used up. */
  resume(run: RunId, grant?: BudgetGrant): Promise<unknown>;
  get(run: RunId): Promise<Report>;
  /** Reads and verifies a run. As long as the result is referenced, this engine does not read the run again. */
  read(run: RunId): Promise<OpenedRun>;
  /** Resolves when the run has ended or waits for a person. */
  wait(run: RunId): Promise<void>;
  /** Waits, then reports. */
  settled(run: RunId): Promise<Report>;
  /** The runs for which the filter holds; the one that started last is first. With a cursor or a limit: one page of them. */
  list(filter?: RunFilter & { readonly cursor?: undefined; readonly limit?: undefined }): Promise<readonly ListedRun[]>;
  list(filter: RunFilter & PageRequest): Promise<Page<ListedRun>>;
  /**
   * The events of a run after the given one, then new events until the run ends. With `deltas`, also the text of model
   * replies while it is generated; that text is not stored.
   */
  events(run: RunId, options?: EventsOptions & { readonly deltas?: false }): AsyncIterable<ChainedEvent>;
  events(run: RunId, options: EventsOptions & { readonly deltas: boolean }): AsyncIterable<ChainedEvent | Delta>;
  /**
   * The steps of all runs in the order in which they were stored, of all processes, and then new ones. They carry no content. A reader
   * that is slow loses nothing.
   */
  feed(options?: FeedOptions): AsyncIterable<RunChange>;
  /** Open questions to people, of all runs or of one. With a cursor or a limit: one page of them, the latest question first. */
  approvals(run?: RunId): Promise<readonly Waiting[]>;
  approvals(page: PageRequest): Promise<Page<Waiting>>;
  /**
   * Takes no further run and makes no further call. Resolves when the calls in flight have returned, or after this time; then
   * `close` leaves the runs to other processes. Default 30 s.
   */
  drain(ms?: number): Promise<void>;
  /** What it works on, and if it reaches its store. */
  health(): EngineHealth;
  /** Aborts running calls and releases all runs. They can be resumed from the journal. */
  close(): Promise<void>;
}

/** A run as it is stored. It takes in what is stored afterwards. */
export interface OpenedRun {
  readonly run: RunId;
  readonly program: Program;
  readonly state: RunState;
  readonly events: readonly Event[];
  /** The number of the last event. */
  readonly seq: number;
  /** Takes in what other processes have stored since. */
  refresh(): Promise<void>;
}

/**
 * Options of `engine.events`.
 * @example
 * const options: EventsOptions = { after: 12, live: false };
 */
export interface EventsOptions {
  readonly after?: number;
  readonly live?: boolean;
  /** Ends the reader when it is aborted. */
  readonly signal?: AbortSignal | undefined;
}

/**
 * Options of `engine.feed`.
 * @example
 * for await (const change of engine.feed({ after: 'now' })) console.log(change.run, change.status);
 */
export interface FeedOptions {
  /** The cursor of the last change that was read, or `now` for new changes only. Default: from the beginning. */
  readonly after?: string;
  /** Ends the reader when it is aborted. */
  readonly signal?: AbortSignal | undefined;
}

/**
 * A piece of a model reply while it is generated. It is not an event and not stored; the full reply is.
 * @example
 * for await (const event of engine.events('r_1', { deltas: true }))
 *   if (event.type === 'reply.streamed') console.log((event as Delta).text);
 */
export interface Delta {
  readonly type: 'reply.streamed';
  readonly run: RunId;
  /** The key of its call in `effect.requested` and `effect.settled`. */
  readonly key: EffectKey;
  readonly attempt: number;
  readonly agent: string;
  /** Absent for the text of the reply. */
  readonly part?: 'reasoning' | 'arguments';
  /** The place of the text in the reply, in characters. Absent for other parts. */
  readonly from?: number;
  readonly text: string;
}

/**
 * An event with its place in the chain.
 * @example
 * for await (const event of engine.events('r_1', { live: false })) console.log((event as ChainedEvent).hash);
 */
export type ChainedEvent = Event & { readonly prev: string; readonly hash: string };

/**
 * A question that waits for a person.
 * @example
 * const questions: readonly Waiting[] = await engine.approvals();
 * for (const { node, message, choices } of questions) console.log(node, message, choices);
 */
export interface Waiting {
  readonly id: string;
  readonly run: RunId;
  /** The id of the database. It is part of a signed answer. */
  readonly store: string | null;
  readonly node: string;
  readonly message: string;
  readonly choices: readonly string[];
  /** The choices that come with data (`edit`), with text, or with one of the two. */
  readonly needs: { readonly [choice: string]: 'edit' | 'text' | 'either' };
  readonly code: TerminalCode;
  readonly askedBy: string;
  readonly flow: string;
  readonly tenant: string | null;
  /** The hash of what is asked. An answer that names it holds for nothing else. */
  readonly payload: string;
  /** What is asked, beside the message. An answer is bound to all of it. */
  readonly data: { readonly [field: string]: Json };
  readonly askedAt: string;
  /** When the question expires; null if it does not. */
  readonly expiresAt: string | null;
  /** The choice that counts if the question expires. */
  readonly onExpiry: string;
  readonly kind: AskPurpose;
  /** The facts to decide by. */
  readonly packet: Packet;
  /** The people who may answer; null if the flow declares none. */
  readonly approvers: WaitingApprovers | null;
  /** How many people must agree. */
  readonly quorum: number;
  /** The answers so far that count. */
  readonly agreed: readonly { readonly by: string; readonly choice: string; readonly at: string }[];
}

/**
 * The people who may answer a question, and their answers so far.
 * @example
 * const missing = ({ quorum, answers }: WaitingApprovers) => quorum - answers.length;
 */
export interface WaitingApprovers {
  /** The people who may answer now and have not. The user of the run is not among them. */
  readonly people: readonly string[];
  /** Those of them who sign their answer with a key. */
  readonly signing: readonly string[];
  readonly roles: readonly string[];
  readonly quorum: number;
  /** The answers that count so far. */
  readonly answers: readonly {
    readonly by: string;
    readonly choice: string;
    readonly via: Proof['via'];
    readonly at: string;
  }[];
  /** The number of people who must still agree. */
  readonly missing: number;
  /** When more people may answer, and who; null if there is no second level or it may answer already. */
  readonly escalation: { readonly at: string; readonly people: readonly string[] } | null;
}

export interface Wait {
  readonly node: string;
  /** The signal that ends the wait; null for a timer. */
  readonly signal: string | null;
  /** When the timer is over, or when the wait for the signal times out. */
  readonly until: string | null;
}

/**
 * Amounts that a run has used.
 * @example
 * const { usage }: { usage: Usage } = await engine.get('r_1');
 * console.log(usage.modelCalls, usage.costUsd);
 */
export interface Usage extends Readonly<Record<Measure, number>> {
  readonly wallClockSeconds: number;
  /** Questions that a person answered. */
  readonly reviews: number;
}

/**
 * The report on a run, as `sluice show --json` prints it.
 * @example
 * const report: Report = await engine.get('r_1');
 * console.log(report.state, report.code, report.path);
 */
export interface Report {
  readonly run: RunId;
  readonly flow: string;
  readonly hash: string;
  /** Of a forked run: the run and the event that it branches off. */
  readonly parent?: { readonly run: RunId; readonly seq: number };
  /** Of a run that was moved to another version of its flow: the run that continues it. */
  readonly movedTo?: RunId;
  readonly state: RunStatus;
  readonly code: TerminalCode | null;
  readonly output: Json;
  readonly path: readonly string[];
  readonly approvals: { readonly [node: string]: string };
  readonly results?: readonly StepResult[];
  readonly usage: Usage;
  /** Amounts that operators added to budgets after the run had ended. They are not part of the document. */
  readonly granted?: readonly { readonly by: string; readonly dimension: string; readonly amount: number }[];
  /** In a flow with a tier: the dollars that the run spent, if its outcome was verified as a success; otherwise null. */
  readonly costPerSuccessUsd?: number | null;
  /** Recovery decisions, in order. */
  readonly decisions: readonly MadeDecision[];
  readonly waiting: readonly Waiting[];
  /** Timers and signals that the run waits for. */
  readonly waits: readonly Wait[];
  readonly error: {
    readonly class: string;
    readonly type: string;
    readonly message: string;
    readonly node: string;
    /** Of a failed join: the branches that failed. An item of a map is named by its number. */
    readonly branches?: readonly BranchError[];
  } | null;
  /** The part that failed, of a run that ended with another code than SUCCESS. Null for any other run. */
  readonly failure: FailedPart | null;
  /** Of a run that ended, but not with SUCCESS: the nodes, branches and items that were lost, in order. */
  readonly losses?: readonly Loss[];
  /** For a failed run: the role that takes over, and the severity. */
  readonly escalation?: Escalation;
  /** Every committed tool effect, in order, reads included. */
  readonly receipts: readonly Receipt[];
  /** An answer that was refused. It is never in `output`. */
  readonly rejected: { readonly text: string; readonly reasons: readonly string[] } | null;
  /** Statements of the answer that the grounding check marked. */
  readonly violations: readonly { readonly kind: string; readonly text: string; readonly message: string }[];
  /** Who decided last that the answer is right. `ok` is null if nobody did. `scripted`: a script played the verifier. */
  readonly verdict: {
    readonly by: DecidedBy;
    readonly ok: boolean | null;
    readonly problem: string | null;
    readonly scripted: boolean;
  };
  /** A call that changes something was committed, or it is not known whether it was. */
  readonly changed: boolean;
  /** The reason why a run ended PARTIAL_SUCCESS or UNVERIFIED. */
  readonly reason?: string;
}
/** A failed branch of a join. */
export interface BranchError {
  readonly branch: string;
  readonly type: string;
  readonly message: string;
}
/** Something that a run lost. */
export interface Loss {
  readonly node: string;
  /** The number of an item of a map, from 0. */
  readonly item: number | null;
  readonly error: { readonly type: string; readonly message: string };
  /** The cause, and how the run went on. */
  readonly why: string;
}
export interface Receipt {
  /** The journal event that committed the effect. */
  readonly seq: number;
  readonly tool: string;
  readonly effect: EffectClass;
  readonly args: Json;
  readonly result: Json;
  /** `unknown`: the call timed out after it was sent. */
  readonly status: 'committed' | 'compensated' | 'unknown';
  /** The person who approved the call, or null. With a quorum: the person who completed it. */
  readonly approvedBy: string | null;
  /** Everybody who approved the call, if several people had to agree. */
  readonly approvers?: readonly string[];
  /** In a fork: the call was made before the fork. Only the run that made it undoes it. `status` is that at the fork. */
  readonly inherited?: true;
}
/**
 * The result of one step of a workflow.
 * @example
 * const shown = ({ name, durationMs }: StepResult) => `${name}: ${durationMs} ms`;
 */
export interface StepResult {
  readonly name: string;
  readonly agent: string;
  readonly output: Json;
  readonly inputTokens: number;
  readonly outputTokens: number;
  readonly durationMs: number;
}
