/**
 * The most that a thread may use from a node of a cycle on. Meters count for the whole run, so the visits that they count
 * are bounded over all threads together. Any other node is visited at most once after each counted visit from which it can
 * be reached without another one; a thread that begins at such a node visits what follows once more.
 */
import type { Dimension, MeterId, NodeId } from '../../ir/nodes.ts';
import { isCounted } from '../../ir/meters.ts';
import { mostOf, needOf, times } from './cost.ts';
import { branches } from './cost.ts';
import { reachableFrom } from '../verify/components.ts';
import type { Component } from '../verify/components.ts';
import type { Graph } from '../verify/graph.ts';

/** Above this many pairs of where a thread may be and a node, it is taken to come by every node. */
const WORK_MAX = 1_000_000;

export function aroundCycle(
  graph: Graph,
  dimension: Dimension,
  { members }: Component<NodeId>,
  most: Map<NodeId, number>,
): void {
  const inside = new Set(members);
  const counted = new Map(members.flatMap((id) => tightest(graph, id)?.map((found) => [id, found] as const) ?? []));
  const meters = new Map<MeterId, { visits: number; cost: number; readonly nodes: NodeId[] }>();
  const free = new Map<NodeId, number>();
  let threads = 1;
  let begun = 0;
  let exit = 0;
  // Who is turned away from a node is not counted there, and may go on inside.
  const beginsCounted = (id: NodeId): boolean =>
    counted.has(id) && !graph.edges(id).some(({ to, kind }) => kind === 'over' && inside.has(to));
  for (const id of members) {
    const node = graph.node(id);
    const cost =
      mostOf(node, dimension, graph.body) + branches(node, (to) => (inside.has(to) ? 0 : (most.get(to) ?? 0)));
    const { meter, visits } = counted.get(id) ?? { meter: null, visits: Infinity };
    const before = meter === null ? undefined : meters.get(meter);
    if (meter === null) {
      if (cost > 0) free.set(id, cost);
    } else if (before === undefined) meters.set(meter, { visits, cost, nodes: [id] });
    else {
      before.visits = Math.max(before.visits, visits);
      before.cost = Math.max(before.cost, cost);
      before.nodes.push(id);
    }
    for (const { to, kind } of graph.edges(id)) {
      if (kind === 'branch' && inside.has(to)) {
        threads += visits;
        if (!beginsCounted(to)) begun += visits;
      } else if (kind !== 'branch' && !inside.has(to)) exit = Math.max(exit, most.get(to) ?? 0);
    }
  }
  const uncounted = (id: NodeId): readonly NodeId[] =>
    graph.edges(id).flatMap(({ to, kind }) => (inside.has(to) && (kind === 'over' || !counted.has(id)) ? [to] : []));
  const whole = sum(free.values());
  const exact = meters.size * members.length <= WORK_MAX;
  const after = (starts: readonly NodeId[]): number =>
    exact && free.size > 0 ? sum([...reachableFrom(starts, uncounted)].map((id) => free.get(id) ?? 0)) : whole;
  let total = times(threads, exit) + times(begun, whole);
  for (const { visits, cost, nodes } of meters.values()) {
    const next = nodes.flatMap((id) =>
      graph.edges(id).flatMap(({ to, kind }) => (kind !== 'over' && inside.has(to) ? [to] : [])),
    );
    total += times(visits, cost + after(next));
  }
  const each = members.length ** 2 <= WORK_MAX;
  for (const id of members) most.set(id, beginsCounted(id) ? total : total + (each ? after([id]) : whole));
}

/** The meter that lets the fewest visits of a node pass, where any counts them. */
function tightest(graph: Graph, id: NodeId): readonly [{ readonly meter: MeterId; readonly visits: number }] | null {
  let best: { readonly meter: MeterId; readonly visits: number } | null = null;
  for (const [meter, { max, unit }] of graph.bounding(id)) {
    const visits = Math.floor((max ?? Infinity) / (isCounted(unit) ? Math.max(1, needOf(graph.node(id), unit)) : 1));
    if (best === null || visits < best.visits) best = { meter, visits };
  }
  return best === null ? null : [best];
}

function sum(amounts: Iterable<number>): number {
  let total = 0;
  for (const amount of amounts) total += amount;
  return total;
}
