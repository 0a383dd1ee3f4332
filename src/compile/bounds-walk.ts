/**
 * The costliest walk under a cap on visits, exactly, where the graph is small enough to look at every number of visits left.
 * Branches are each given all that is left, which is more than they can have together; the caller takes the smaller bound.
 */
import type { Dimension, MeterId, NodeId } from '../core/ir.ts';
import { through } from './bounds-visit.ts';
import { componentsOf } from './components.ts';
import type { Graph } from './graph.ts';

const WORK_MAX = 500_000;

/** Null where it would take too long, or where something else bounds the cycles. */
export function mostUnderCap(graph: Graph, dimension: Dimension, meter: MeterId): ReadonlyMap<NodeId, number> | null {
  const cap = graph.body.meters[meter]?.max ?? Infinity;
  const edges = graph.ids.reduce((sum, id) => sum + graph.edges(id).length, 0);
  if (cap * edges > WORK_MAX) return null;
  const charged = (id: NodeId): boolean => graph.node(id).charges?.includes(meter) === true;
  const free = (id: NodeId): readonly NodeId[] =>
    graph.edges(id).flatMap(({ to, kind }) => (charged(id) && kind !== 'over' ? [] : [to]));
  const order = componentsOf(graph.ids, free);
  if (order.some(({ cyclic }) => cyclic)) return null;
  let before = new Map<NodeId, number>();
  for (let left = 0; left <= cap; left++) {
    const now = new Map<NodeId, number>();
    for (const { members } of order) {
      const [id = ''] = members;
      now.set(id, !charged(id) || left > 0 ? visit(id, now, before) : turnedAway(id, now));
    }
    before = now;
  }
  return before;

  function visit(id: NodeId, now: ReadonlyMap<NodeId, number>, less: ReadonlyMap<NodeId, number>): number {
    return through(graph, dimension, id, (to, kind) => (charged(id) && kind !== 'over' ? less : now).get(to) ?? 0);
  }
  function turnedAway(id: NodeId, now: ReadonlyMap<NodeId, number>): number {
    return Math.max(0, ...graph.edges(id).flatMap(({ to, kind }) => (kind === 'over' ? [now.get(to) ?? 0] : [])));
  }
}
