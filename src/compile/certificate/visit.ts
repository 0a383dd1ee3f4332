/** The most that one visit of a node and everything after it may use, given the same for what comes after. */
import type { Dimension, Node, NodeId } from '../../ir/nodes.ts';
import { mostOf, times } from './cost.ts';
import type { Edge } from '../verify/edges.ts';
import type { Graph } from '../verify/graph.ts';

/** One visit of a node, and then the costliest way on. */
export function through(
  graph: Graph,
  dimension: Dimension,
  id: NodeId,
  then: (to: NodeId, kind: Edge['kind']) => number,
): number {
  const node = graph.node(id);
  let onward = 0;
  let over = 0;
  for (const { to, kind } of graph.edges(id)) {
    if (kind === 'over') over = Math.max(over, then(to, kind));
    else if (kind !== 'branch') onward = Math.max(onward, then(to, kind));
  }
  return Math.max(over, mostOf(node, dimension, graph.body) + onward + branches(node, (to) => then(to, 'branch')));
}

/** A list may have any length. */
export function branches(node: Node, most: (head: NodeId) => number): number {
  if (node.op !== 'fork') return 0;
  if ('heads' in node.over) return node.over.heads.reduce((sum, { to }) => sum + most(to), 0);
  return times(Infinity, most(node.over.head));
}
