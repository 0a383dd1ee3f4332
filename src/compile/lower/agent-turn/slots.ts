/**
 * What a turn of an agent is told and where it leaves what came of it. `talk` holds the messages of the turn, `reply` the
 * last answer, `observations` (for the whole run, in order) what tools really did:
 * `{ id, turn, agent, tool, args, ok, result | error }`. `turn` is the number of the turn; whoever begins one sets it.
 */
import type { Json } from '../../../expr/json.ts';
import type { Input, MeterId, NodeId, Retry, Write } from '../../../ir/nodes.ts';
import type { GateMode } from '../../document/boundary.ts';
import type { Range } from '../../source/range.ts';

export const TALK = 'talk';
export const REPLY = 'reply';
export const OBSERVATIONS = 'observations';
export const ROUNDS_MAX = 50;

/** So many identical calls among so many of the latest: the last of them is not made. */
export interface Breaker {
  readonly identical: number;
  readonly window: number;
}
const BREAKER: Breaker = { identical: 3, window: 5 };

export function breakerOf({ breaker = BREAKER }: AgentTurn): Breaker | null {
  return breaker;
}

/** The authored name of whoever calls tools in this turn. */
export function callerOf({ authored, origin }: AgentTurn): string {
  return authored ?? origin;
}

export interface AgentTurn {
  readonly agent: string;
  /** What nodes of this turn are called after; unique among the turns of a flow. */
  readonly hint: string;
  /** The authored name, for errors; or what only a trace calls it, and then `authored` is whose turn it is. */
  readonly origin: string;
  readonly authored?: string;
  /** Set where the turn counts as entering something that was authored. */
  readonly enters?: string;
  readonly at?: Range;
  /** Meters that the turn charges as it begins. */
  readonly charges?: readonly MeterId[];
  /** What else is written as it begins. */
  readonly opening?: readonly Write[];
  /** What the agent is told: fields of the model call beside `messages`, which are the turn's. */
  readonly input: Input;
  /** The tools that it may call. */
  readonly tools: readonly string[];
  /** A tool whose call ends the turn at once; calls after it in the same reply are not made. */
  readonly closing?: string;
  /** How often it may come back with calls; a turn that still has not said anything then has failed. */
  readonly roundsMax?: number;
  /** When a call is held back because it only repeats others of the same turn; null where somebody else looks after that. */
  readonly breaker?: Breaker | null;
  /** How many calls it may make; 0 for any number. */
  readonly callsMax?: number;
  /** How many turns this place can have in a run: what bounds all their rounds together. */
  readonly visitsMax: number;
  readonly retry?: Retry;
  /** What the reply that ends the turn must look like. */
  readonly schema?: Json;
  /** Slot paths that what the author wrote reads; one that leads nowhere is an event. */
  readonly expects?: readonly (readonly string[])[];
  /** A bound on one model call. */
  readonly timeoutMs?: number | null;
  /** The node that the turn begins with, where its id is needed before. */
  readonly begin?: NodeId;
  /** Puts nodes between the beginning and the first question. */
  readonly prepare?: (ask: NodeId) => NodeId;
  readonly next: NodeId;
  /** Where a failed model call goes. */
  readonly fail?: NodeId;
  /** Where a turn goes that a refused call ended; the run fails unless told. */
  readonly refused?: NodeId;
  /** Whether somebody can be asked about a call; otherwise the turn ends where it would ask. They can, unless told. */
  readonly people?: boolean;
  /** Whether a proposed call that changes anything needs a person: yes, unless the author has granted the tools. */
  readonly gate?: GateMode;
}
