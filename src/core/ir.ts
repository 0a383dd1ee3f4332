/**
 * What every notation lowers to: five ops and meters, as plain JSON. A compiled flow is hashed and frozen; a run pins the
 * hash. Nothing in here names a notation, a strategy or a stage: what differs between them is data.
 */
import type { EndState, FailureClass, TerminalCode } from './codes.ts';
import type { Json } from './json.ts';

export type NodeId = string;
export type MeterId = string;
/** CEL source text over the thread's slots, plus `it` (the observation) and `error` (the last failure) where they exist. */
export type Expr = string;

/** One slot write. `reply` stores a model's text as an object when it is a JSON object, and as text otherwise. */
export interface Write {
  readonly slot: string;
  readonly path?: readonly string[];
  readonly mode: 'set' | 'append' | 'reply';
  /** An object of expressions keeps the fields that only name something as references: a record of what happened. */
  readonly value: Expr | { readonly [field: string]: Expr };
}

export interface Case {
  readonly when: Expr;
  readonly to: NodeId;
}

/** Evaluated field by field; a field that only names a slot is passed by reference, so a long history is never copied. */
export type Input = { readonly [field: string]: Expr };

/** What a budget counts. `steps` and the calls are whole numbers; money is in millionths of a dollar. */
export const DIMENSIONS = [
  'steps',
  'modelCalls',
  'toolCalls',
  'externalCalls',
  'inputTokens',
  'outputTokens',
  'costMicros',
  'retries',
  'reflections',
  'contextTokens',
  'memoryWrites',
  'sideEffects',
] as const;
export type Dimension = (typeof DIMENSIONS)[number];
export type Amounts = { readonly [dimension in Dimension]?: number };

interface EffectBase {
  readonly input: Input;
  /** The worst case in every dimension that is known before the call. */
  readonly reserve: Amounts;
}
export interface ModelEffect extends EffectBase {
  readonly kind: 'model';
  readonly agent: string;
  /** Models to turn to, one attempt each, when the agent's own stays out of reach after its retries. */
  readonly fallback?: readonly string[];
}
export interface ToolEffect extends EffectBase {
  readonly kind: 'tool';
  readonly tool: string;
}
/** Evidence that the core cannot see itself: files, exit codes, policy. */
export interface CheckEffect extends EffectBase {
  readonly kind: 'check';
  readonly check: string;
}
/** A question to a person. Its input always has `message`; whatever else it has is the payload the answer is bound to. */
export interface AskEffect extends EffectBase {
  readonly kind: 'ask';
  readonly about: string;
  readonly choices: readonly string[];
  /** What an unanswered question counts as when its time is up. */
  readonly onExpiry: string;
  /** The code that the run shows while it waits. */
  readonly code: TerminalCode;
  readonly askedBy: string;
}
export type Effect = ModelEffect | ToolEffect | CheckEffect | AskEffect;
export type EffectKind = Effect['kind'];

export interface Retry {
  readonly max: number;
  /** Zero means at once; otherwise full jitter between 0 and min(capMs, baseMs * 2^attempt). */
  readonly baseMs: number;
  readonly capMs: number;
  readonly on: readonly FailureClass[];
}

interface NodeBase {
  /** The authored name behind this node, for people and for errors. */
  readonly origin: string;
  /** Present where arriving here counts as entering the authored node, which is what `path` lists. */
  readonly enters?: string;
  /** Visit and repeat meters that this node charges, and the budget meters its effect draws on. */
  readonly charges?: readonly MeterId[];
}
export interface LetNode extends NodeBase {
  readonly op: 'let';
  readonly writes: readonly Write[];
  readonly next: NodeId;
}
export interface PickNode extends NodeBase {
  readonly op: 'pick';
  readonly cases: readonly Case[];
  readonly otherwise: NodeId;
}
export interface DoNode extends NodeBase {
  readonly op: 'do';
  readonly effect: Effect;
  /** Where the compensation of this effect is found: its arguments are fixed before the effect is requested. */
  readonly undo?: { readonly tool: string; readonly input: Input; readonly timeoutMs: number };
  /** The observation must satisfy the schema and the guard before anything of it is written. */
  readonly schema?: Json;
  readonly accept?: Expr;
  readonly writes: readonly Write[];
  readonly timeoutMs: number | null;
  readonly retry: Retry;
  readonly next: NodeId;
  readonly failed: readonly Case[];
  /** Where a failure goes that no case takes. */
  readonly fail: NodeId;
}
export type GatherMode = 'first' | 'last' | 'any' | 'merge' | 'concat';
export interface Head {
  readonly name: string;
  readonly to: NodeId;
  readonly when?: Expr;
}
export interface ForkNode extends NodeBase {
  readonly op: 'fork';
  readonly over:
    | { readonly heads: readonly Head[] }
    | { readonly each: Expr; readonly as: string; readonly head: NodeId };
  /** How many branches run at once; 0 means all of them. */
  readonly widthMax: number;
  readonly need: 'all' | number;
  /** Whether the join fails as soon as it cannot be met any more, and the remaining branches are dropped. */
  readonly eager: boolean;
  readonly timeoutMs: number | null;
  /** Slot that receives the outcomes in branch order. */
  readonly into: string;
  /** Slots that branches hand back: the first or last branch's, true when any is, objects merged, or lists joined. */
  readonly gather: readonly { readonly slot: string; readonly mode: GatherMode }[];
  readonly next: NodeId;
  readonly failed: readonly Case[];
  readonly fail: NodeId;
}
export interface EndNode extends NodeBase {
  readonly op: 'end';
  readonly state: EndState;
  /** `error`: the code that the last failure maps to. */
  readonly code: TerminalCode | 'error';
  readonly output: Expr;
}
export type Node = LetNode | PickNode | DoNode | ForkNode | EndNode;

/** Every bound there is. `over` is where the thread goes instead when the meter does not have room. */
export interface Meter {
  readonly unit: 'visits' | 'repeats' | Dimension;
  readonly max: number | null;
  /** Repeats only: how many of the latest effects are compared. */
  readonly window?: number;
  readonly over: NodeId;
  /** What people call this bound: `max_iterations`, `budgets.cost_usd`. */
  readonly label: string;
}

export interface AgentDef {
  readonly id: string;
  readonly name: string;
  readonly model: string | null;
  readonly instructions: string;
  readonly tools: readonly string[];
  readonly output: Json;
  readonly maxOutputTokens: number | null;
  readonly temperature: number | null;
}
export interface ToolDef {
  readonly description: string;
  readonly input: Json;
  readonly output: Json;
  readonly effect: 'read' | 'write' | 'financial' | 'communication' | 'infrastructure';
  readonly implementation: Json;
  readonly timeoutMs: number;
  readonly permission: string;
  readonly idempotent: boolean;
  readonly compensate: string | null;
}

export interface FlowBody {
  readonly ir: 1;
  readonly id: string;
  readonly notation: string;
  readonly entry: NodeId;
  /** Where a let, a pick or a fork goes whose expression cannot be evaluated. */
  readonly fail: NodeId;
  readonly nodes: { readonly [id: NodeId]: Node };
  readonly meters: { readonly [id: MeterId]: Meter };
  readonly agents: { readonly [id: string]: AgentDef };
  readonly tools: { readonly [name: string]: ToolDef };
  readonly models: { readonly [alias: string]: Json };
  /** Wall-clock bound of the whole run. */
  readonly deadlineMs: number | null;
  /** The least that any path from a node to a terminal still needs, where a budget limits that dimension. */
  readonly least: { readonly [id: NodeId]: Amounts };
  /** Whether a report lists what each invocation came to. */
  readonly itemised?: boolean;
  /** How many ended runs of this notation are kept; all of them where nothing is said. */
  readonly keepEnded?: number;
}
export interface CompiledFlow extends FlowBody {
  readonly hash: string;
}
