/**
 * The most calls that compensations may add from a node on: one for each visit that registers one. No budget holds them, so
 * they come on top of whatever a budget allows.
 */
import type { Dimension, NodeId } from '../../ir/nodes.ts';
import { mostFrom } from './most.ts';
import type { Graph } from '../verify/graph.ts';

export function undoneMost(graph: Graph, dimension: Dimension): ReadonlyMap<NodeId, number> {
  if (dimension !== 'toolCalls') return new Map();
  const undoing = (id: NodeId): ReturnType<Graph['node']> => {
    const node = graph.node(id);
    if (node.op !== 'do') return node;
    const reserve = { toolCalls: node.undo === undefined ? 0 : 1 };
    return { ...node, effect: { kind: 'check', check: '', input: {}, reserve }, retry: { ...node.retry, max: 0 } };
  };
  return mostFrom({ ...graph, node: undoing }, dimension);
}
