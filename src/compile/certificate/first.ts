/**
 * The graph as a run meets it that has used nothing yet: a meter that lets at least one visit pass turns nobody away before
 * that visit. Each cycle is there twice, as it is before any visit of it was counted and after; a counted visit leads from
 * the one to the other, and only there can somebody be turned away.
 *
 * Where several threads may meet, one can be turned away because of what another used, so that all stays as it was.
 */
import type { MeterId, Node, NodeId } from '../../ir/nodes.ts';
import { reachableFrom } from '../verify/components.ts';
import { edgesOf } from '../verify/graph.ts';
import type { Edge } from '../verify/graph.ts';
import type { Graph } from '../verify/graph.ts';

/** The entry keeps its id. */
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
  const sources = new Map<NodeId, { readonly from: NodeId; readonly kind: Edge['kind'] }[]>();
  for (const id of nodes.keys()) sources.set(id, []);
  for (const [from, list] of edges) for (const { to, kind } of list) sources.get(to)?.push({ from, kind });
  return {
    ...graph,
    ids: [...nodes.keys()],
    node: (id) => nodes.get(id) as Node,
    edges: (id) => edges.get(id) ?? [],
    targets: (id) => (edges.get(id) ?? []).map(({ to }) => to),
    sources: (id) => sources.get(id) ?? [],
  };
}

interface Counted {
  readonly members: ReadonlySet<NodeId>;
  /** Those that count visits of this cycle and of nothing else. */
  readonly meters: ReadonlySet<MeterId>;
}

/** By node, the cycle that it is part of, where one thread at most comes by. */
function countedCycles(graph: Graph): ReadonlyMap<NodeId, Counted> {
  const shared = reachableFrom(
    graph.ids.flatMap((id) => graph.edges(id).flatMap(({ to, kind }) => (kind === 'branch' ? [to] : []))),
    graph.targets,
  );
  const chargedBy = new Map<MeterId, NodeId[]>();
  for (const id of graph.ids) {
    for (const meter of graph.node(id).charges ?? []) {
      const charging = chargedBy.get(meter);
      if (charging === undefined) chargedBy.set(meter, [id]);
      else charging.push(id);
    }
  }
  const cycles = new Map<NodeId, Counted>();
  for (const { members, cyclic } of graph.components()) {
    if (!cyclic || members.some((id) => shared.has(id))) continue;
    const inside = new Set(members);
    const meters = new Set<MeterId>();
    for (const id of members)
      for (const [meter, { unit, max }] of graph.bounding(id))
        if (unit === 'visits' && (max ?? 0) >= 1 && chargedBy.get(meter)?.every((each) => inside.has(each)) === true)
          meters.add(meter);
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
