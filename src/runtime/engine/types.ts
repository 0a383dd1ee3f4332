/** What a program holds in its hand: the engine, and what it says of a run. The JSON shape of a report is the contract's. */
import type { RunStatus, TerminalCode } from '../../ir/codes.ts';
import type { Escalation } from '../../catalog/escalations.ts';
import type { CompiledFlow } from '../../ir/nodes.ts';
import type { Json } from '../../expr/json.ts';
import type { Answer, EffectKey, Event, Origin, RunId } from '../../ir/events.ts';
import type { Clock, Performer, RunEntry, Store } from '../ports.ts';

export interface EngineOptions {
  readonly store: Store;
  readonly performer: Performer;
  readonly clock?: Clock;
  /** Whether unfinished runs that nobody works on are picked up by themselves. Default true. */
  readonly pickUp?: boolean;
  /** How long a worker that fell silent keeps its runs. Default 10 s. */
  readonly leaseMs?: number;
  /** Events between snapshots, at least. Default 500; 0 for none. */
  readonly snapshotEvery?: number;
  /** How many runs are kept, by notation, instead of what the flow says: ended ones go, the oldest first, when one is started. */
  readonly retain?: { readonly [notation: string]: number };
  /** What went wrong outside of any run, such as a full disk. The engine stops accepting work and rejects its callers. */
  readonly onFault?: (error: Error) => void;
}

export interface StartOptions {
  /** A run id of the caller's own makes the start idempotent. */
  readonly run?: RunId;
  readonly input?: Json;
  readonly seed?: number;
  readonly origin?: Origin;
}

export interface Engine {
  /** Resolves when the start is durable. The same id with the same flow and input gives the run that is there. */
  start(flow: CompiledFlow, options?: StartOptions): Promise<RunId>;
  /** Resolves when the answer is durable; rejects with a SluiceError when it is refused. */
  answer(approval: string, answer: Answer): Promise<RunId>;
  cancel(run: RunId, by: string, why?: string): Promise<void>;
  /** Takes up a run that nobody works on. */
  resume(run: RunId): Promise<void>;
  get(run: RunId): Promise<Report>;
  /** Resolves when the run has ended or waits for somebody. */
  wait(run: RunId): Promise<void>;
  /** The same, with the report. */
  settled(run: RunId): Promise<Report>;
  list(): Promise<readonly RunEntry[]>;
  /**
   * The journal of a run from an event on; goes on live until the run ends. Resumable by seq. With `deltas`, what models say
   * comes as well, piece by piece while they say it: beside the journal, kept nowhere, and only from now on.
   */
  events(run: RunId, options?: EventsOptions & { readonly deltas?: false }): AsyncIterable<ChainedEvent>;
  events(run: RunId, options: EventsOptions & { readonly deltas: boolean }): AsyncIterable<ChainedEvent | Delta>;
  /** What waits for a person, over all runs or one. */
  approvals(run?: RunId): Promise<readonly Waiting[]>;
  /** Stops taking work, aborts what is under way, keeps everything on the journal. */
  close(): Promise<void>;
}

export interface EventsOptions {
  readonly after?: number;
  readonly live?: boolean;
}

/** A piece of what a model says while it says it. No event: it has no place in the journal, and the reply that follows counts. */
export interface Delta {
  readonly type: 'reply.streamed';
  readonly run: RunId;
  /** The call that it belongs to, as `effect.requested` and `effect.settled` name it. */
  readonly key: EffectKey;
  readonly attempt: number;
  readonly agent: string;
  readonly text: string;
}

/** An event with its place in the chain. */
export type ChainedEvent = Event & { readonly prev: string; readonly hash: string };

export interface Waiting {
  readonly id: string;
  readonly run: RunId;
  readonly node: string;
  readonly message: string;
  readonly choices: readonly string[];
  readonly code: TerminalCode;
  readonly askedBy: string;
  readonly payloadHash: string;
  readonly payload: Json;
  readonly expiresAt: string | null;
}

export interface Usage {
  readonly steps: number;
  readonly modelCalls: number;
  readonly toolCalls: number;
  readonly externalCalls: number;
  readonly inputTokens: number;
  readonly outputTokens: number;
  readonly costUsd: number;
  readonly retries: number;
  readonly reflections: number;
  /** The longest input of one call. */
  readonly contextTokens: number;
  readonly memoryWrites: number;
  readonly sideEffects: number;
  readonly wallClockSeconds: number;
  /** Questions that somebody answered. */
  readonly reviews: number;
  /** Everything in dollars: what models cost, and calls and reviews at the rates of the flow. */
  readonly scalarCostUsd: number;
}

export interface Report {
  readonly run: RunId;
  readonly flow: string;
  readonly hash: string;
  readonly state: RunStatus;
  readonly code: TerminalCode | null;
  readonly output: Json;
  readonly path: readonly string[];
  readonly approvals: { readonly [node: string]: string };
  readonly results?: readonly StepResult[];
  readonly usage: Usage;
  readonly waiting: readonly Waiting[];
  readonly error: {
    readonly class: string;
    readonly type: string;
    readonly message: string;
    readonly node: string;
  } | null;
  /** Of a run that failed: who takes over now, and how grave it is. */
  readonly escalation?: Escalation;
}
export interface StepResult {
  readonly name: string;
  readonly agent: string;
  readonly output: Json;
  readonly inputTokens: number;
  readonly outputTokens: number;
  readonly durationMs: number;
}
