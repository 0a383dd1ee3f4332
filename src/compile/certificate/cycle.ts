/**
 * The most that a thread may use from a node of a cycle on. A meter counts visits over all threads together. The nodes that no
 * meter counts form no cycle, so after each counted visit a thread follows one uncounted path, and the longest is the worst.
 */
import type { Dimension } from '../../ir/dimensions.ts';
import type { MeterId, NodeId } from '../../ir/nodes.ts';
import { isCounted } from '../../ir/meters.ts';
import { branches, mostOf, needOf, times } from './cost.ts';
import { componentsOf } from '../verify/components.ts';
import type { Component } from '../verify/components.ts';
import type { Edge, Graph } from '../verify/graph.ts';

export function aroundCycle(
  graph: Graph,
  dimension: Dimension,
  { members }: Component<NodeId>,
  most: Map<NodeId, number>,
): void {
  const cycle = cycleOf(graph, dimension, members, most);
  const shared = sharedCosts(cycle);
  const meters = new Map<MeterId, { visits: number; cost: number }>();
  for (const [id, { meter, visits }] of cycle.counted) {
    if (shared.has(meter)) continue;
    const inner = [...shared.values()].reduce((sum, each) => (each.of === id ? sum + each.cost : sum), 0);
    const before = meters.get(meter) ?? { visits: 0, cost: 0 };
    const cost = cycle.visit(id) + inner;
    meters.set(meter, { visits: Math.max(before.visits, visits), cost: Math.max(before.cost, cost) });
  }
  let total = cycle.exit;
  for (const { visits, cost } of meters.values()) total += times(visits, cost);
  for (const id of members) most.set(id, total + cycle.path(id));
}

interface Count {
  readonly meter: MeterId;
  readonly visits: number;
}

interface Cycle {
  readonly graph: Graph;
  readonly inside: ReadonlySet<NodeId>;
  readonly counted: ReadonlyMap<NodeId, Count>;
  /** The most that one thread uses after it leaves the cycle. */
  readonly exit: number;
  /** The most for a counted visit and the uncounted path after it. */
  visit(id: NodeId): number;
  /** The most for an uncounted path that begins at the node. */
  path(id: NodeId): number;
}

function cycleOf(
  graph: Graph,
  dimension: Dimension,
  members: readonly NodeId[],
  most: ReadonlyMap<NodeId, number>,
): Cycle {
  const inside = new Set(members);
  const counted = new Map(
    members.flatMap((id) => tightest(graph, id, inside)?.map((found) => [id, found] as const) ?? []),
  );
  const exits = members.flatMap((id) =>
    graph.edges(id).map(({ to, kind }) => (kind === 'branch' || inside.has(to) ? 0 : (most.get(to) ?? 0))),
  );
  const exit = Math.max(0, ...exits);
  const paths = new Map<NodeId, number>();
  const onward = (edges: readonly Edge[]): number =>
    edges.reduce((max, { to, kind }) => (kind === 'branch' ? max : Math.max(max, paths.get(to) ?? 0)), 0);
  // A branch inside the cycle is a thread of its own, which leaves the cycle once.
  const cost = (id: NodeId): number =>
    mostOf(graph.node(id), dimension, graph.body) +
    branches(graph.node(id), (to) => (inside.has(to) ? (paths.get(to) ?? 0) + exit : (most.get(to) ?? 0)));
  const uncounted = (id: NodeId): readonly Edge[] =>
    graph.edges(id).filter(({ to, kind }) => inside.has(to) && (!counted.has(id) || isUnpaid(graph, id, kind)));
  for (const { members: part, cyclic } of componentsOf(members, (id) => uncounted(id).map(({ to }) => to)))
    for (const id of part) {
      const path = onward(uncounted(id)) + (counted.has(id) ? 0 : cost(id));
      paths.set(id, cyclic && path > 0 ? Infinity : path);
    }
  const paid = (id: NodeId): readonly Edge[] =>
    graph.edges(id).filter(({ to, kind }) => inside.has(to) && kind !== 'over');
  return {
    graph,
    inside,
    counted,
    exit,
    visit: (id) => cost(id) + onward(paid(id)),
    path: (id) => paths.get(id) ?? 0,
  };
}

/** A visit that a meter refuses is not counted. Neither is a call that fails before it reserves anything. */
function isUnpaid(graph: Graph, id: NodeId, kind: Edge['kind']): boolean {
  return kind === 'over' || (!graph.countsVisits(id) && (kind === 'error' || kind === 'fault'));
}

interface Shared {
  readonly of: NodeId;
  readonly cost: number;
}

/** For each meter that is shared among the visits of a counted node of the cycle: the most for one such visit. */
function sharedCosts({ graph, counted, visit }: Cycle): ReadonlyMap<MeterId, Shared> {
  const shared = new Map<MeterId, Shared>();
  for (const [id, { meter }] of counted) {
    const share = graph.shares.get(meter);
    if (share === undefined || !counted.has(share.of) || counted.get(share.of)?.meter === meter) continue;
    const cost = Math.max(shared.get(meter)?.cost ?? 0, times(share.max, visit(id)));
    shared.set(meter, { of: share.of, cost });
  }
  return shared;
}

/** The meter that allows the fewest visits of a node. Null where no meter counts them. */
function tightest(graph: Graph, id: NodeId, inside: ReadonlySet<NodeId>): readonly [Count] | null {
  let best: Count | null = null;
  for (const [meter, { max, unit }] of graph.bounding(id)) {
    const each = isCounted(unit) ? Math.max(1, needOf(graph.node(id), unit)) : 1;
    const share = graph.shares.get(meter);
    // A thread enters the cycle once, so a share of a node outside the cycle applies once.
    const limit =
      share === undefined || inside.has(share.of) ? (max ?? Infinity) : Math.min(max ?? Infinity, share.max);
    const visits = Math.floor(limit / each);
    if (best === null || visits < best.visits) best = { meter, visits };
  }
  return best === null ? null : [best];
}
