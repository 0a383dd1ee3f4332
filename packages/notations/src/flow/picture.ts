/** A flow as something to draw: the nodes as they were written, the join of a parallel node beside it, one `end` where paths stop. */
import { END as STOP, START, shape } from '@sluice-internal/compile/picture';
import type { Picture, PictureEdge, PictureNode } from '@sluice-internal/compile/picture';
import { forwardOrder, reachableFrom } from '@sluice-internal/compile/graph';
import { isPoison } from '@sluice-internal/compile/document';
import type { FlowGraph } from './graph.ts';
import { END, type Flow, type FlowEdge, type FlowNode } from './model.ts';

/** `toolsOf` gives the tools of an agent. */
export function drawFlow(flow: Flow, graph: FlowGraph, toolsOf: (agent: string) => readonly string[]): Picture {
  const nodes: PictureNode[] = [START];
  const edges: DrawnEdge[] = [];
  const within = placesOf(flow, graph);
  if (flow.nodes.has(flow.value.entry))
    edges.push({ from: START.id, to: flow.value.entry, kind: 'route', label: null });
  for (const node of flow.nodes.values()) {
    nodes.push(drawn(node, toolsOf));
    const { join } = node.facts.draw(node.value);
    if (join !== undefined) nodes.push(shape(joinId(node.id), 'join', 'join', join));
    edges.push(...edgesOfNode(node, graph, flow, within(node.id)));
  }
  if (edges.some(({ to }) => to === STOP.id)) nodes.push(STOP);
  const bound = flow.value.max_iterations > 0 ? `max_iterations: ${flow.value.max_iterations}` : null;
  return {
    title: isPoison(flow.value.id) ? 'flow' : flow.value.id,
    notation: 'flow',
    description: flow.value.description ?? null,
    nodes,
    edges: marked(edges),
    cycles: graph.cycles.map((members) => ({ nodes: members, bound: boundOf(flow, members) ?? bound })),
  };
}

/** The tightest `max_visits` in a cycle. */
function boundOf(flow: Flow, members: readonly string[]): string | null {
  const limits = members.flatMap((id) => flow.nodes.get(id)?.value.max_visits ?? []);
  return limits.length === 0 ? null : `max_visits: ${Math.min(...limits)}`;
}

/** The end of a path: the end of the run, or the join of its branch, or both. */
function placesOf(flow: Flow, graph: FlowGraph): (id: string) => readonly string[] {
  const main = reachableFrom([flow.value.entry], graph.onward);
  const branches = [...graph.inBranches.keys()].map((id) => ({
    id,
    members: reachableFrom(graph.heads(id), graph.onward),
  }));
  return (id) => {
    const joins = branches.flatMap((each) => (each.members.has(id) ? [joinId(each.id)] : []));
    return main.has(id) || joins.length === 0 ? [...joins, STOP.id] : joins;
  };
}

/** Routes and error routes start at the join if the node has one. */
function edgesOfNode(node: FlowNode, graph: FlowGraph, flow: Flow, stops: readonly string[]): readonly DrawnEdge[] {
  const { id, value } = node;
  const edges = graph.edges.get(id) ?? [];
  const from = node.facts.draw(value).join === undefined ? id : joinId(id);
  const targets = (to: string): readonly string[] => (to === END ? stops : flow.nodes.has(to) ? [to] : []);
  const drawn = ({ to, kind, label }: Pick<FlowEdge, 'to' | 'kind' | 'label'>): readonly DrawnEdge[] =>
    targets(to).map((target) => ({
      from: kind === 'branch' ? id : from,
      to: target,
      kind: kind === 'late' ? 'over' : kind === 'route' && to === END && target !== STOP.id ? 'join' : kind,
      label: label ?? plainLabel(kind, value),
    }));
  const branchesFirst = [
    ...edges.filter(({ kind }) => kind === 'branch'),
    ...edges.filter(({ kind }) => kind === 'route'),
    ...(value.routes.length === 0 ? [{ to: END, kind: 'route' as const, label: null }] : []),
    ...edges.filter(({ kind }) => kind !== 'branch' && kind !== 'route'),
  ];
  return branchesFirst.flatMap(drawn);
}

function plainLabel(kind: FlowEdge['kind'], { routes, max_visits: most }: FlowNode['value']): string | null {
  if (kind === 'error') return 'any error';
  if (kind === 'late') return 'not in time';
  if (kind === 'over') return `after ${most ?? 0} visits`;
  return kind === 'route' && routes.length > 1 ? 'default' : null;
}

type DrawnEdge = Omit<PictureEdge, 'back'>;

/** An edge leads back where it reaches something that it comes from, in the order of a walk from the start. */
function marked(edges: readonly DrawnEdge[]): readonly PictureEdge[] {
  const out = Map.groupBy(edges, ({ from }) => from);
  const order = forwardOrder(out.keys(), (id) => out.get(id)?.map(({ to }) => to) ?? []);
  const rank = new Map(order.map((id, index) => [id, index]));
  return edges.map((edge) => ({ ...edge, back: (rank.get(edge.to) ?? 0) <= (rank.get(edge.from) ?? 0) }));
}

function drawn({ id, value, facts }: FlowNode, toolsOf: (agent: string) => readonly string[]): PictureNode {
  const { detail } = facts.draw(value);
  const tools = facts.shape === 'agent' && detail !== null ? toolsOf(detail) : [];
  return {
    ...(tools.length === 0 ? {} : { tools }),
    id,
    kind: facts.shape,
    label: id,
    detail: isPoison(detail) ? null : detail,
    description: value.description ?? null,
  };
}

function joinId(id: string): string {
  return `${id} join`;
}
