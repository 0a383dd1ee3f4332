/**
 * The graph for a run that has used nothing yet: a meter with room for at least one visit cannot trip before that visit. Each
 * cycle is in the graph twice, before and after its first counted visit. The counted visit leads from the first copy to the
 * second, and only the second copy has the edges of a tripped meter.
 *
 * Cycles that several threads reach stay as they are, because one thread can use up the meter before another arrives.
 */
import type { MeterId, Node, NodeId } from '@sluice-internal/kernel/ir';
import { reachableFrom } from '../graph/components.ts';
import { edgesOf, graphFrom, type Edge, type Graph } from '../graph/graph.ts';

/** The entry keeps its id; a node of the second copy has another. */
export function atFirst(graph: Graph): Graph {
  const cycles = countedCycles(graph);
  if (cycles.size === 0) return graph;
  const nodes = new Map<NodeId, Node>();
  const edges = new Map<NodeId, readonly Edge[]>();
  for (const id of graph.ids) {
    const node = graph.node(id);
    nodes.set(id, node);
    edges.set(id, graph.edges(id));
    const cycle = cycles.get(id);
    if (cycle === undefined) continue;
    const later = (list: readonly Edge[]): readonly Edge[] =>
      list.map((edge) => (cycle.members.has(edge.to) ? { ...edge, to: laterId(edge.to) } : edge));
    nodes.set(laterId(id), node);
    edges.set(laterId(id), later(graph.edges(id)));
    const charges = (node.charges ?? []).filter((meter) => !cycle.meters.has(meter));
    if (charges.length < (node.charges ?? []).length) edges.set(id, later(withCharges(graph, node, charges)));
  }
  return graphFrom(graph, nodes, edges);
}

interface Counted {
  readonly members: ReadonlySet<NodeId>;
  /** Meters that count visits of this cycle only. */
  readonly meters: ReadonlySet<MeterId>;
}

/** The counted cycle of each node. Cycles that several threads can reach are left out. */
function countedCycles(graph: Graph): ReadonlyMap<NodeId, Counted> {
  const shared = reachableFrom(
    graph.ids.flatMap((id) => graph.edges(id).flatMap(({ to, kind }) => (kind === 'branch' ? [to] : []))),
    graph.targets,
  );
  const cycles = new Map<NodeId, Counted>();
  for (const { members, cyclic } of graph.components()) {
    if (!cyclic || members.some((id) => shared.has(id))) continue;
    const inside = new Set(members);
    const own = (meter: MeterId): boolean => graph.charging(meter).every((id) => inside.has(id));
    const counts = members.flatMap((id) =>
      graph.bounding(id).filter(([meter, { unit, max }]) => unit === 'visits' && (max ?? 0) >= 1 && own(meter)),
    );
    const meters = new Set(counts.map(([meter]) => meter));
    if (meters.size > 0) for (const id of members) cycles.set(id, { members: inside, meters });
  }
  return cycles;
}

function withCharges(graph: Graph, node: Node, charges: readonly MeterId[]): readonly Edge[] {
  return edgesOf({ ...node, charges }, graph.body.meters, graph.body.fail).filter(({ to }) => to in graph.body.nodes);
}

function laterId(id: NodeId): NodeId {
  return `${id}\u0000`;
}
