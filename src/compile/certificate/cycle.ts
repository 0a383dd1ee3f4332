/**
 * The most that a thread may use from a node of a cycle on. Meters count for the whole run, so the visits that they count
 * are bounded over all threads together. Any other node is visited at most once after each counted visit from which it can
 * be reached without another one; a thread that begins at such a node visits what follows once more.
 */
import type { Dimension } from '../../ir/dimensions.ts';
import type { MeterId, NodeId } from '../../ir/nodes.ts';
import { isCounted } from '../../ir/meters.ts';
import { branches, mostOf, needOf, times } from './cost.ts';
import { reachableFrom } from '../verify/components.ts';
import type { Component } from '../verify/components.ts';
import type { Graph } from '../verify/graph.ts';

/** Above this many pairs of meter and node, a thread is assumed to visit every node. */
const WORK_MAX = 1_000_000;

export function aroundCycle(
  graph: Graph,
  dimension: Dimension,
  { members }: Component<NodeId>,
  most: Map<NodeId, number>,
): void {
  const cycle = cycleOf(graph, dimension, members, most);
  const { meters, inside, free } = cycle;
  const whole = sum(free.values());
  const exact = meters.size * members.length <= WORK_MAX;
  const uncounted = (id: NodeId): readonly NodeId[] =>
    graph
      .edges(id)
      .flatMap(({ to, kind }) => (inside.has(to) && (kind === 'over' || !cycle.counted.has(id)) ? [to] : []));
  const after = (starts: readonly NodeId[]): number =>
    exact && free.size > 0 ? sum([...reachableFrom(starts, uncounted)].map((id) => free.get(id) ?? 0)) : whole;
  let total = times(cycle.threads, cycle.exit) + times(cycle.begun, whole);
  for (const { visits, cost, nodes } of meters.values()) {
    const next = nodes.flatMap((id) =>
      graph.edges(id).flatMap(({ to, kind }) => (kind !== 'over' && inside.has(to) ? [to] : [])),
    );
    total += times(visits, cost + after(next));
  }
  const each = members.length ** 2 <= WORK_MAX;
  for (const id of members)
    most.set(id, beginsCounted(graph, cycle, id) ? total : total + (each ? after([id]) : whole));
}

interface Count {
  readonly meter: MeterId;
  readonly visits: number;
}

interface Cycle {
  readonly inside: ReadonlySet<NodeId>;
  readonly counted: ReadonlyMap<NodeId, Count>;
  /** The visits that each meter allows, and the most that one of them costs. */
  readonly meters: Map<MeterId, { visits: number; cost: number; readonly nodes: NodeId[] }>;
  /** The cost of one visit of each node that no meter counts. */
  readonly free: Map<NodeId, number>;
  /** Threads that may run in the cycle, and how many of them begin at a node that no meter counts. */
  threads: number;
  begun: number;
  /** The most that one thread uses after it leaves the cycle. */
  exit: number;
}

function cycleOf(
  graph: Graph,
  dimension: Dimension,
  members: readonly NodeId[],
  most: ReadonlyMap<NodeId, number>,
): Cycle {
  const counted = new Map(members.flatMap((id) => tightest(graph, id)?.map((found) => [id, found] as const) ?? []));
  const inside = new Set(members);
  const cycle: Cycle = { inside, counted, meters: new Map(), free: new Map(), threads: 1, begun: 0, exit: 0 };
  for (const id of members) {
    const node = graph.node(id);
    const outside = branches(node, (to) => (inside.has(to) ? 0 : (most.get(to) ?? 0)));
    addVisit(cycle, id, mostOf(node, dimension, graph.body) + outside);
    for (const { to, kind } of graph.edges(id)) {
      if (kind !== 'branch' && !inside.has(to)) cycle.exit = Math.max(cycle.exit, most.get(to) ?? 0);
      if (kind !== 'branch' || !inside.has(to)) continue;
      const visits = counted.get(id)?.visits ?? Infinity;
      cycle.threads += visits;
      if (!beginsCounted(graph, cycle, to)) cycle.begun += visits;
    }
  }
  return cycle;
}

function addVisit({ counted, meters, free }: Cycle, id: NodeId, cost: number): void {
  const count = counted.get(id);
  if (count === undefined) {
    if (cost > 0) free.set(id, cost);
    return;
  }
  const before = meters.get(count.meter);
  if (before === undefined) meters.set(count.meter, { visits: count.visits, cost, nodes: [id] });
  else {
    before.visits = Math.max(before.visits, count.visits);
    before.cost = Math.max(before.cost, cost);
    before.nodes.push(id);
  }
}

/** A visit that the meter refuses is not counted, and may go on inside the cycle. */
function beginsCounted(graph: Graph, { counted, inside }: Cycle, id: NodeId): boolean {
  return counted.has(id) && !graph.edges(id).some(({ to, kind }) => kind === 'over' && inside.has(to));
}

/** The meter that allows the fewest visits of a node. Null where no meter counts them. */
function tightest(graph: Graph, id: NodeId): readonly [Count] | null {
  let best: Count | null = null;
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
