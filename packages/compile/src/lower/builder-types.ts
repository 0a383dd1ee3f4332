/** The interface of the builder, for everything that adds nodes through it. */
import type {
  AgentDef,
  BoundaryDef,
  EndState,
  Expr,
  FlowBody,
  Input,
  Meter,
  MeterId,
  ModelEffect,
  Node,
  NodeId,
  TerminalCode,
  ToolDef,
  ToolEffect,
} from '@sluice-internal/kernel/ir';
import type { GateMode } from '../document/boundary.ts';
import type { Definitions } from '../document/definitions.ts';
import type { Budgets } from '../document/schema/bounds.ts';
import type { Range } from '../source/range.ts';
import type { Share } from '../graph/graph.ts';

export interface Lowered {
  readonly body: FlowBody;
  /** The place in the document from which a node comes. */
  readonly places: ReadonlyMap<NodeId, Range>;
  /** For the certificate: meters whose limit the lowering divides among the visits of a node. */
  readonly shares?: readonly Share[];
  /** True if the deadlock monitor has nothing to watch. */
  readonly unwatched?: boolean;
}

interface BuildOptions extends Pick<FlowBody, 'view' | 'tier'> {
  readonly id: string;
  readonly entry: NodeId;
  /** The node after a let, a pick or a fork whose expression cannot be evaluated. Default: a failed end. */
  readonly fail?: NodeId;
}

export interface Builder extends Effects {
  /** The id that an authored node has in the graph. */
  idOf(authored: string): NodeId;
  /** A new id for a node that the author did not write. */
  fresh(hint: string): NodeId;
  /** Adds a node. `at` is where it was written; a node without a place shows the one of its origin. */
  add<Id extends NodeId>(id: Id, node: Node, at?: Range): Id;
  has(id: NodeId): boolean;
  /** Adds a meter; the node that charges it names it in `charges`. */
  meter(id: MeterId, meter: Meter, share?: { readonly of: NodeId; readonly max: number }): MeterId;
  /** Nodes that `add` creates also charge these budgets, as meters with this name. A thread without room goes to `over`. */
  sharing<Result>(name: string, budgets: Budgets | undefined, over: NodeId, add: () => Result): Result;
  /** An end node. Equal ends share one node. */
  end(ending: {
    readonly state: EndState;
    readonly code: TerminalCode | 'error';
    readonly output?: Expr;
    readonly origin?: string;
  }): NodeId;
  /** The end of an unhandled failure: failed, with the code of that failure. */
  failedEnd(output?: Expr): NodeId;
  build(options: BuildOptions): Lowered;
}

export interface Effects {
  readonly definitions: Definitions;
  /** Declares an agent that the sections do not: a bare document declares the agents that it names. */
  agent(def: AgentDef): void;
  /** An agent of the sections, or one that was declared since. */
  agentDef(id: string): AgentDef | undefined;
  /** A model call with its worst case reserved. `prompt` is the text of the user's turn. */
  model(agent: string, prompt: Expr): ModelEffect;
  /** A tool call with its worst case reserved. One expression per argument; the call's input is `args`. */
  tool(name: string, args: Input): ToolEffect;
  /** The definition of a tool that is declared, built in, or on an MCP server of the document. */
  toolDef(name: string): ToolDef | undefined;
  /** True if policies decide about calls. */
  hasPolicies(): boolean;
  /** The boundary of an agent with these tools. It becomes part of the flow. */
  boundary(agent: string, tools: readonly string[], mode: GateMode): BoundaryDef;
  /** The time that a question about this agent waits. Null: until it is answered. */
  approvalTimeoutMs(agent: string): number | null;
}
