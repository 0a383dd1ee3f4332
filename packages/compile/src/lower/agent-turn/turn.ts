/**
 * The description of an agent's turn, and the slots that it uses. `talk` holds the messages of the turn, `reply` the last
 * reply, `observations` the results of all tool calls of the run, in order:
 * `{ id, turn, agent, tool, args, ok, result | error }`. The notation sets `turn`, the number of the turn.
 */
import type { Json } from '@sluice-internal/kernel/expr';
import type { DoNode, Expr, Hears, Input, MeterId, NodeId, Retry, ToolDef, Write } from '@sluice-internal/kernel/ir';
import { literal } from '@sluice-internal/kernel/expr';
import { hasPeople, type GateMode } from '../../document/boundary.ts';
import type { LoopRules } from '../../document/protections.ts';
import type { Range } from '../../source/range.ts';
import type { Kit } from '../kit.ts';
import type { Verifier } from '../verifier-def.ts';

export const TALK = 'talk';
export const REPLY = 'reply';
export const OBSERVATIONS = 'observations';
/** The call that a branch handles: `{ id, name, args }`. */
export const CALL = 'call';
export const ROUNDS_MAX = 50;

/** The authored name under which errors of the turn's tool calls are reported. */
export function callerOf({ authored, origin }: AgentTurn): string {
  return authored ?? origin;
}

/** The receipts of the run so far, as an expression over the observations. */
export function receiptsIn(
  tools: { readonly [name: string]: Pick<ToolDef, 'effect'> },
  observations: Expr = OBSERVATIONS,
): Expr {
  const effects = literal(Object.fromEntries(Object.entries(tools).map(([name, { effect }]) => [name, effect])));
  return `${observations}.filter(o, o.ok).map(o, {"tool": o.tool, "effect": ${effects}[o.tool], "args": o.args, "result": o.result, "status": "committed", "approvedBy": o.approvedBy})`;
}

/** False if no person can be asked: the turn then ends where it would ask. */
export function asksPeople({ builder }: Kit, { agent }: AgentTurn): boolean {
  return hasPeople(builder.definitions, agent);
}

export interface AgentTurn {
  readonly agent: string;
  /** The prefix of the node ids of this turn; unique in the flow. */
  readonly hint: string;
  /** The authored name, for traces, and for errors unless `authored` is given. */
  readonly origin: string;
  readonly authored?: string;
  /** The stage of the turn, for policies. */
  readonly stage?: string;
  /** The authored name to add to the run's path. */
  readonly enters?: string;
  readonly at?: Range;
  /** Where the agent hears remarks of people, if they do not become messages of the turn. */
  readonly hears?: Hears | undefined;
  /** Meters that the start of the turn charges. */
  readonly charges?: readonly MeterId[];
  /** Further writes at the start of the turn. */
  readonly opening?: readonly Write[];
  /** The input of the model call, except `messages`, which the turn supplies. */
  readonly input: Input;
  /** The input that vouches for arguments; `input` unless given. */
  readonly user?: Expr;
  /** Replies of the form that the prompt asks for, if no schema has it. */
  readonly samples?: readonly Json[];
  /** The tools that the agent may call. */
  readonly tools: readonly string[];
  /** A tool whose call ends the turn at once; later calls of the same reply are not made. */
  readonly closing?: string;
  /** The calls of `closing` that end the turn. The agent reads the reason of any other, and goes on. */
  readonly closes?: { readonly when: (call: Expr) => Expr; readonly reason: Expr };
  /** Rounds of tool calls. A turn that needs more has failed. */
  readonly roundsMax?: number;
  /** Rules of the loop detector, if they are not the document's; null if it is off. */
  readonly loop?: LoopRules | null;
  /** True if the caller handles the failure of a loop by the decision table: the turn then records no abort of its own. */
  readonly recovers?: boolean;
  /** True if calls of different turns are compared with each other: the turns are rounds of one task. */
  readonly acrossTurns?: boolean;
  /** Tool calls of the turn; 0 for no limit. */
  readonly callsMax?: number;
  /** The number of times that the turn can run in one run. It limits the rounds of all these turns together. */
  readonly visitsMax: number;
  readonly retry?: Retry;
  /** The JSON Schema of the reply that ends the turn. */
  readonly schema?: Json;
  /** Set if that reply is read as an object, with or without a schema. */
  readonly fit?: DoNode['fit'];
  /** Slot paths that the author's texts read; a missing one is an event. */
  readonly expects?: readonly (readonly string[])[];
  /** The timeout of one model call. */
  readonly timeoutMs?: number | null;
  /** Fixes the id of the first node. */
  readonly begin?: NodeId;
  /** Adds nodes between the start of the turn and the first model call. */
  readonly prepare?: (ask: NodeId) => NodeId;
  readonly next: NodeId;
  /** The node after a failed model call. */
  readonly fail?: NodeId;
  /** The node after a refused call that ended the turn. Default: the run fails. */
  readonly refused?: NodeId;
  /** Memory entries that the agent saw without the support of a trusted tool. */
  readonly recalled?: Expr;
  /** Quarantined entries of memory, which the agent did not see. */
  readonly withheld?: Expr;
  /** All memory entries that the agent saw. */
  readonly remembered?: Expr;
  /** Judges the last reply of the turn. */
  readonly verifier?: Verifier;
  /** `eligible`: calls with effects need a person. `granted`: the author has authorised the tools. */
  readonly gate?: GateMode;
}
