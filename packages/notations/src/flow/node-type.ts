/**
 * A node type: one object with its schema, checks, expressions, lowering, output and picture. To add a node type, write its
 * object in `nodes/` and list it in `nodes/registry.ts`.
 */
import type * as z from 'zod';
import type { Case, Expr, NodeId, Retry, Write } from '@sluice-internal/kernel/ir';
import type { Json } from '@sluice-internal/kernel/expr';
import type { Report } from '@sluice-internal/compile/source';
import type { Budgets, Definitions, KnownTools, ReadDocument } from '@sluice-internal/compile/document';
import type { Attempts, Failure, Kit, Step } from '@sluice-internal/compile/lower';
import type { Expressions } from './expressions.ts';
import type { FlowGraph } from './graph.ts';
import type { CommonValue, Flow, FlowNode, Items, NodeFacts } from './model.ts';
import type { Route } from './routes.ts';
import type { Slots } from './slots.ts';

export interface Checking {
  readonly flow: Flow;
  readonly graph: FlowGraph;
  readonly document: ReadDocument;
  readonly tools: KnownTools;
  readonly report: Report;
}

export interface Preparing {
  readonly flow: Flow;
  readonly expressions: Expressions;
  readonly slots: Slots;
  readonly definitions: Definitions;
  readonly report: Report;
}

/** A node with its expressions checked and rewritten. */
export interface Prepared<Value extends CommonValue = CommonValue, Parts = unknown> {
  readonly node: FlowNode<Value>;
  readonly routes: readonly Route[];
  /** The slot paths that the templates of the node read. */
  readonly expects: readonly (readonly string[])[];
  readonly parts: Parts;
}

export interface ErrorWays {
  readonly failed: readonly Case[];
  /** The node after a failure that no case takes. */
  readonly fail: NodeId;
}

/** A flow with the sub-flows that its nodes call. */
export interface Nested {
  readonly flow: Flow;
  readonly definitions: Definitions;
  readonly subs: ReadonlyMap<string, Nested>;
}

/** The node that runs a flow as its sub-flow. */
export interface Caller {
  readonly lowering: Lowering;
  readonly node: FlowNode;
  /** Undefined if the sub-flow gets the input of the flow that calls it. */
  readonly input: { readonly [field: string]: Json } | undefined;
  /** Sources that vouch for arguments inside the sub-flow. */
  readonly user: Expr;
}

/** Functions that the lowering of every node type uses. */
export interface Lowering {
  readonly kit: Kit;
  readonly flow: Flow;
  readonly nested: Nested;
  /** Null in the main flow. */
  readonly caller: Caller | null;
  /** The input that vouches for arguments. */
  readonly user: Expr;
  readonly graph: FlowGraph;
  readonly slots: Slots;
  readonly expressions: Expressions;
  /** True if the flow has a cap on visits. */
  readonly capped: boolean;
  /** True if an agent comes after this approval, before another agent: it is told what the person wrote. */
  tellsAgents(approval: string): boolean;
  /** True if such an approval comes before the agent. */
  isTold(agent: string): boolean;
  /** The name under which questions are asked. */
  readonly askedBy: string;
  /** The name of an authored node, with the names of the maps around it: `each/worker`. */
  name(authored: string): string;
  idOf(authored: string): NodeId;
  /** The id of an agent of this flow in the whole. */
  agent(id: string): string;
  /** Lowers the sub-flow of a node, and returns its first node and the time that it has. */
  subFlow(
    prepared: Prepared,
    given: Pick<Caller, 'input' | 'user'> & { readonly budget: Budgets | undefined },
  ): { readonly head: NodeId; readonly timeoutMs: number | null };
  /** Lowers the branch of a node with items, and returns its first node. */
  inner(prepared: Prepared, items: Items): NodeId;
  /** The step of the node that enters the authored node. */
  entered(prepared: Prepared): Step;
  /** The step of any other node that belongs to the authored node. Diagnostics show the place of the authored node. */
  part(prepared: Prepared, hint: string): Step;
  /** The number of times that the flow itself can start. */
  readonly times: number;
  /** The most visits that a node can have. */
  visitsMax(id: string): number;
  /** Writes that return the value on a path that ends here. */
  out(value: Expr, mode: Write['mode']): readonly Write[];
  /** The writes before the first node of a branch or an item: a part that ends before it has a value returns null. */
  fresh(head: string): readonly Write[];
  /** The node that a route of an authored node leads to. */
  target(to: string, prepared: Prepared): NodeId;
  /** The target of the routes of a node: a node, or a pick. */
  routes(prepared: Prepared): NodeId;
  errors(prepared: Prepared): ErrorWays;
  /** The time of one attempt, or null. */
  timeoutMs(prepared: Prepared): number | null;
  /** The retry rule of a single call of the node. */
  retry(prepared: Prepared): Retry;
  /**
   * Adds the nodes of a node that is more than one call, with its timeout and retry. An attempt returns its value and
   * `gather`.
   */
  attempts(prepared: Prepared, attempt: Pick<Attempts, 'body' | 'gather'>): NodeId;
  /** The ways out of a failure as one node. */
  failing(prepared: Prepared, hint: string): NodeId;
  /** Records an error as a failed effect would, and takes the node's error routes. The message is plain text. */
  raise(prepared: Prepared, error: Omit<Failure, 'node'>): NodeId;
  /** The node after an expression that cannot be evaluated: the error routes; undefined if there are none. */
  unevaluated(prepared: Prepared): NodeId | undefined;
  /** An end with this output for a path that ends at a node, marked partial or capped if that may have happened. */
  ending(output: Expr, from: string): NodeId;
}

export interface NodeType<Value extends CommonValue = CommonValue, Parts = unknown> extends NodeFacts<Value> {
  /** Its templates are words for an agent or a person, or the result of the path: they decide nothing. */
  readonly words?: true;
  check?(node: FlowNode<Value>, checking: Checking): void;
  /** The part of the node that is expanded when it runs, if any. */
  expanded?(value: Value): Json;
  /** Checks and rewrites the node's own expressions. */
  prepare(node: FlowNode<Value>, preparing: Preparing): Parts;
  /** Checks and rewrites the routes, if they are not guards. */
  routes?(node: FlowNode<Value>, parts: Parts, preparing: Preparing): readonly Route[];
  lower(lowering: Lowering, prepared: Prepared<Value, Parts>): void;
}

/** Keeps the exact schema, so that the types of all nodes follow from it. */
export function nodeType<Schema extends z.ZodObject, Parts>(
  definition: TypedNode<Schema, Parts>,
): TypedNode<Schema, Parts> {
  return definition;
}

type TypedNode<Schema extends z.ZodObject, Parts> = Omit<NodeType<z.output<Schema> & CommonValue, Parts>, 'schema'> & {
  readonly schema: Schema;
};
