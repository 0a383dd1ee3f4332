/**
 * The most with what single agents may use: calls that a budget of their own limits use up that budget at most, however
 * often they are made, and only the others are counted by the ways through the graph.
 */
import type { Dimension, MeterId, NodeId } from '../../ir/nodes.ts';
import { mostOf } from './cost.ts';
import { mostFrom } from './most.ts';
import type { Graph } from '../verify/graph.ts';

export function mostWithin(graph: Graph, dimension: Dimension): ReadonlyMap<NodeId, number> {
  const most = mostFrom(graph, dimension);
  const limits = new Map<MeterId, number>();
  const limited = new Set<NodeId>();
  for (const id of graph.ids) {
    if (mostOf(graph.node(id), dimension, graph.body) === 0) continue;
    const own = limitAt(graph, id, dimension);
    if (own === null) continue;
    limits.set(...own);
    limited.add(id);
  }
  if (limited.size === 0) return most;
  const budgets = [...limits.values()].reduce((sum, max) => sum + max, 0);
  const others = mostFrom({ ...graph, node: (id) => (limited.has(id) ? freed(graph, id) : graph.node(id)) }, dimension);
  return new Map([...most].map(([id, amount]) => [id, Math.min(amount, budgets + (others.get(id) ?? 0))]));
}

/** The tightest budget of this dimension that the node charges, the run's own apart. */
function limitAt(graph: Graph, id: NodeId, dimension: Dimension): readonly [MeterId, number] | null {
  if (dimension === 'steps') return null;
  let tightest: readonly [MeterId, number] | null = null;
  for (const meter of graph.node(id).charges ?? []) {
    const { unit, max = null } = graph.body.meters[meter] ?? {};
    if (unit !== dimension || max === null || meter === `budget.${dimension}`) continue;
    if (tightest === null || max < tightest[1]) tightest = [meter, max];
  }
  return tightest;
}

/** The node as one that asks for nothing. Its ways are the graph's. */
function freed(graph: Graph, id: NodeId): ReturnType<Graph['node']> {
  const { origin, charges } = graph.node(id);
  return { op: 'let', origin, ...(charges === undefined ? {} : { charges }), writes: [], next: id };
}
