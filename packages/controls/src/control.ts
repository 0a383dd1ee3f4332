/** What a control is: a name, its data in the graph, and, if it needs evidence from outside the core, the check that gives it. */
import type { Json } from '@sluice-internal/kernel/expr';
import type { Approvers, BoundaryDef, Control, Expr, Input, ToolDef } from '@sluice-internal/kernel/ir';

export interface ControlFile {
  readonly name: string;
  /** Null where the call does not need the control. The worst case of a check is `with.reserve`. */
  lower(call: ProposedCall, boundary: Boundary): Control | null;
  /** Only of `how: 'check'`: judges the call. `libraries` are given by the package `guard`. */
  perform?<Call>(call: Call, libraries: Libraries<Call>): Json;
}

export type Boundary = Pick<
  BoundaryDef,
  'version' | 'profile' | 'decisions' | 'tools' | 'untrusted' | 'escalation' | 'failClosed'
>;

/** A tool call as the document describes it. */
export interface ProposedCall {
  readonly tool: string;
  readonly def: ToolDef | undefined;
  /** In dollars. */
  readonly cost: number;
  readonly args: Expr;
  /** The agent, or the flow, that asks a person. */
  readonly askedBy: string;
  readonly approvers?: Approvers;
  readonly approvalTimeoutMs: number | null;
  /** The budgets of the document, for the question. */
  readonly budgets: Json;
  /** The document has policies. */
  readonly hasPolicies: boolean;
  /** A tool of the document is confidential. */
  readonly hasSecrets: boolean;
  /** The definition of the tool demands an approval. */
  readonly needsApproval: boolean;
  /** The definition of the tool says that its effect alone is no reason to ask. */
  readonly unasked: boolean;
  /** Null: a node of the author calls the tool, so nobody else has proposed it. */
  readonly agent: ProposingAgent | null;
  /** Of a node of the author: the arguments whose sources are traced. */
  readonly traced?: Input;
}

export interface ProposingAgent {
  readonly name: string;
  readonly tools: readonly string[];
  readonly toolDef: (tool: string) => ToolDef | undefined;
  /** False if no person can be asked. */
  readonly people: boolean;
  /** The stage of the turn, for policies. */
  readonly stage?: string;
  /** The sources of arguments. */
  readonly sources: Input;
  /** All entries of the memory that the agent has read. */
  readonly remembered?: Expr;
  /** The unparsed arguments of the model. */
  readonly raw: Expr;
  readonly observations: Expr;
  /** A condition of the document in which these names have other expressions. */
  readonly condition: (source: Expr, names: { readonly [name: string]: Expr }) => Expr;
}

type Judge<Call> = (call: Call) => Json;

/** What checks need from outside: JSON Schema, the policy engine, the sources of values, the tokens of rate limits, expressions of tools. */
export interface Libraries<Call> {
  readonly validate: Judge<Call>;
  readonly authorize: Judge<Call>;
  readonly traceValues: Judge<Call>;
  readonly traceAddresses: Judge<Call>;
  readonly traceSecrets: Judge<Call>;
  readonly takeToken: Judge<Call>;
  readonly readStated: Judge<Call>;
}
