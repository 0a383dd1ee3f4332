/**
 * The most that a run may use in a dimension from a node on, with all branches that it starts. Sound: no run uses more.
 * Infinite where nothing bounds it. Without cycles it is the longest path; a cycle is paid for by the meters that bound it.
 */
import type { Dimension, MeterId, NodeId } from '../../ir/nodes.ts';
import { mostOf, times } from './cost.ts';
import { aroundCycle } from './cycle.ts';
import { through } from './visit.ts';
import { mostUnderCap } from './walk.ts';
import type { Graph } from '../verify/graph.ts';

export function mostFrom(graph: Graph, dimension: Dimension): ReadonlyMap<NodeId, number> {
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
  const shared = sharedCap(graph, dimension);
  if (shared === null) return most;
  const walked = mostUnderCap(graph, dimension, shared.meter);
  for (const [id, amount] of most) most.set(id, Math.min(amount, shared.most, walked?.get(id) ?? Infinity));
  return most;
}

/** A meter that every costly visit charges, whatever the path. */
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
