/**
 * The most that a run may use in a dimension from a node on, with all branches that it starts. Sound: no run uses more.
 * Infinite where nothing bounds it. Without cycles it is the longest path; a cycle is paid for by the meters that bound it.
 */
import type { Dimension, MeterId, NodeId } from '../core/ir.ts';
import { isCounted } from '../core/meters.ts';
import { mostOf, needOf, times } from './bounds-cost.ts';
import { branches, through } from './bounds-visit.ts';
import { mostUnderCap } from './bounds-walk.ts';
import type { Component } from './components.ts';
import type { Graph } from './graph.ts';

export function mostFrom(graph: Graph, dimension: Dimension): ReadonlyMap<NodeId, number> {
  const most = new Map<NodeId, number>();
  if (graph.ids.every((id) => mostOf(graph.node(id), dimension, graph.body) === 0)) return most;
  for (const component of graph.components()) {
    const [only = ''] = component.members;
    if (component.cyclic) around(graph, dimension, component, most);
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

/** Meters count for the whole run, so a cycle's visits are bounded over all threads together. */
function around(graph: Graph, dimension: Dimension, { members }: Component<NodeId>, most: Map<NodeId, number>): void {
  const inside = new Set(members);
  const perMeter = new Map<MeterId, { visits: number; cost: number }>();
  let unmetered = 0;
  let threads = 1;
  let exit = 0;
  for (const id of members) {
    const node = graph.node(id);
    const cost =
      mostOf(node, dimension, graph.body) + branches(node, (to) => (inside.has(to) ? 0 : (most.get(to) ?? 0)));
    const [meter = '', visits = Infinity] = tightest(graph, id);
    if (meter === '') unmetered += cost;
    else perMeter.set(meter, { visits, cost: Math.max(cost, perMeter.get(meter)?.cost ?? 0) });
    for (const { to, kind } of graph.edges(id)) {
      if (kind === 'branch' && inside.has(to)) threads += visits;
      else if (kind !== 'branch' && !inside.has(to)) exit = Math.max(exit, most.get(to) ?? 0);
    }
  }
  let total = 0;
  let rounds = threads;
  for (const { visits, cost } of perMeter.values()) {
    total += times(visits, cost);
    rounds += visits;
  }
  total += times(rounds, unmetered) + times(threads, exit);
  for (const id of members) most.set(id, total);
}

function tightest(graph: Graph, id: NodeId): readonly [MeterId, number] | readonly [] {
  let best: readonly [MeterId, number] | readonly [] = [];
  for (const [meterId, { max, unit }] of graph.bounding(id)) {
    const visits = Math.floor((max ?? Infinity) / (isCounted(unit) ? Math.max(1, needOf(graph.node(id), unit)) : 1));
    if (best.length === 0 || visits < best[1]) best = [meterId, visits];
  }
  return best;
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
