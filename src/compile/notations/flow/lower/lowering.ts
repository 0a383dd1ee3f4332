/** What the lowering of every node type shares. */
import type { Case, Expr, MeterId, NodeId, Retry, Write } from '../../../../ir/nodes.ts';
import type { Builder } from '../../../lower/builder.ts';
import type { Expressions } from '../expressions.ts';
import type { FlowGraph } from '../graph.ts';
import type { Prepared } from '../prepare.ts';
import type { Flow } from '../read.ts';
import type { Slots } from '../slots.ts';

/** The notation has no retries of its own: its error routes decide. */
export const NO_RETRY: Retry = { max: 0, baseMs: 0, capMs: 0, on: [] };

export interface Lowering {
  readonly builder: Builder;
  readonly flow: Flow;
  readonly graph: FlowGraph;
  readonly slots: Slots;
  readonly expressions: Expressions;
  readonly charges: readonly MeterId[];
  /** How often a node can run at most. */
  visitsMax(id: string): number;
  /** The writes after which a path that ends here returns this value. */
  out(value: Expr, mode: Write['mode']): readonly Write[];
  /** Where the routes of a node lead: straight on, or to a pick. */
  routes(prepared: Prepared): NodeId;
  /** The ways out of a failure, and where one goes that none of them takes. */
  errors(prepared: Prepared): { readonly failed: readonly Case[]; readonly fail: NodeId };
  /** An end with a given output for a path that ends at a node, marked partial or capped where that may have happened. */
  ending(output: Expr, from: string): NodeId;
}
