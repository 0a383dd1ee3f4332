/**
 * The most with what single agents may use: calls that a budget of their own limits use up that budget at most, however
 * often they are made, and only the others are counted by the ways through the graph.
 */
import type { Dimension } from '../../ir/dimensions.ts';
import type { MeterId, NodeId } from '../../ir/nodes.ts';
import { mostOf, through, times } from './cost.ts';
import type { Graph } from '../verify/graph.ts';
import { aroundCycle } from './cycle.ts';
import { mostUnderCap } from './walk.ts';

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
    const { unit, max = null, perMs } = graph.body.meters[meter] ?? {};
    if (unit !== dimension || max === null || perMs !== undefined || meter === `budget.${dimension}`) continue;
    if (tightest === null || max < tightest[1]) tightest = [meter, max];
  }
  return tightest;
}

/** The node as one that asks for nothing. Its ways are the graph's. */
function freed(graph: Graph, id: NodeId): ReturnType<Graph['node']> {
  const { label, charges } = graph.node(id);
  return { op: 'let', label, ...(charges === undefined ? {} : { charges }), writes: [], next: id };
}

function mostFrom(graph: Graph, dimension: Dimension): ReadonlyMap<NodeId, number> {
  const most = new Map<NodeId, number>();
  if (graph.ids.every((id) => mostOf(graph.node(id), dimension, graph.body) === 0)) return most;
  for (const component of graph.components()) {
    const [only = ''] = component.members;
    if (component.cyclic) aroundCycle(graph, dimension, component, most);
    else
      most.set(
        only,
        through(graph, dimension, only, (to) => most.get(to) ?? 0),
      );
  }
  // Meters count for the whole run, so the whole graph can be treated as one cycle. That is tighter where cycles share meters.
  const together = new Map<NodeId, number>();
  aroundCycle(graph, dimension, { members: graph.ids, cyclic: true }, together);
  for (const [id, amount] of most) most.set(id, Math.min(amount, together.get(id) ?? Infinity));
  const shared = sharedCap(graph, dimension);
  if (shared === null) return most;
  const walked = mostUnderCap(graph, dimension, shared.meter);
  for (const [id, amount] of most) most.set(id, Math.min(amount, shared.most, walked?.get(id) ?? Infinity));
  return most;
}

/** A meter that every costly visit charges, on every path. */
function sharedCap(graph: Graph, dimension: Dimension): { readonly meter: MeterId; readonly most: number } | null {
  const costly = graph.ids
    .map((id) => ({ id, own: mostOf(graph.node(id), dimension, graph.body) }))
    .filter(({ own }) => own > 0);
  const cost = costly.reduce((most, { own }) => Math.max(most, own), 0);
  const meters = costly.map(({ id }) =>
    graph.bounding(id).flatMap(([meter, { unit }]) => (unit === 'visits' || unit === 'steps' ? [meter] : [])),
  );
  const common = meters.reduce((shared, charged) => shared.filter((meter) => charged.includes(meter)), meters[0] ?? []);
  const caps = common.map((meter) => ({ meter, most: times(graph.body.meters[meter]?.max ?? Infinity, cost) }));
  return caps.sort((a, b) => a.most - b.most)[0] ?? null;
}

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
