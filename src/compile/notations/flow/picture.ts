/** A flow as something to draw: the nodes as they were written, the join of a parallel node beside it, one `end` where paths stop. */
import type { Picture, PictureEdge, PictureNode } from '../../picture/picture.ts';
import { reachableFrom } from '../../verify/components.ts';
import type { FlowGraph } from './graph.ts';
import { isPoison } from '../../document/shape/poison.ts';
import { END } from './read.ts';
import type { Flow, FlowNode } from './read.ts';
import { isCatchAll } from './routes.ts';

const [START_ID, END_ID] = ['~start', '~end'] as const;

export function drawFlow(flow: Flow, graph: FlowGraph): Picture {
  const nodes: PictureNode[] = [plain(START_ID, 'start')];
  const edges: Omit<PictureEdge, 'back'>[] = [];
  const within = placesOf(flow, graph);
  if (flow.nodes.has(flow.value.entry))
    edges.push({ from: START_ID, to: flow.value.entry, kind: 'route', label: null });
  for (const node of flow.nodes.values()) {
    nodes.push(drawn(node));
    if (node.value.type === 'parallel')
      nodes.push({ ...plain(joinId(node.id), 'join'), label: 'join', detail: policyOf(node) });
    edges.push(...edgesOfNode(node, flow, within(node.id)));
  }
  if (edges.some(({ to }) => to === END_ID)) nodes.push(plain(END_ID, 'end'));
  const bound = flow.value.max_iterations > 0 ? `max_iterations: ${flow.value.max_iterations}` : null;
  return {
    title: isPoison(flow.value.id) ? 'flow' : flow.value.id,
    notation: 'flow',
    description: flow.value.description ?? null,
    nodes,
    edges: marked(edges),
    cycles: graph.cycles.map((members) => ({ nodes: members, bound })),
  };
}

/** Where a path stops: at the end of the run, or at the join of the branch it is in; at both, where it can be in either. */
function placesOf(flow: Flow, graph: FlowGraph): (id: string) => readonly string[] {
  const along = (id: string): readonly string[] =>
    (graph.edges.get(id) ?? []).flatMap(({ to, kind }) => (kind !== 'branch' && flow.nodes.has(to) ? [to] : []));
  const main = reachableFrom([flow.value.entry], along);
  const branches = [...graph.inBranches.keys()].map((id) => {
    const heads = (graph.edges.get(id) ?? []).flatMap(({ to, kind }) =>
      kind === 'branch' && flow.nodes.has(to) ? [to] : [],
    );
    return { id, members: reachableFrom(heads, along) };
  });
  return (id) => {
    const joins = branches.flatMap((each) => (each.members.has(id) ? [joinId(each.id)] : []));
    return main.has(id) || joins.length === 0 ? [...joins, END_ID] : joins;
  };
}

function edgesOfNode(
  { id, value }: FlowNode,
  flow: Flow,
  stops: readonly string[],
): readonly Omit<PictureEdge, 'back'>[] {
  const from = value.type === 'parallel' ? joinId(id) : id;
  const to = (target: string): readonly string[] => (target === END ? stops : flow.nodes.has(target) ? [target] : []);
  const stopping = (target: string, kind: 'route' | 'error'): PictureEdge['kind'] =>
    kind === 'route' && target !== END_ID && stops.includes(target) ? 'join' : kind;
  const edges: Omit<PictureEdge, 'back'>[] = [];
  const add = (target: string, kind: 'route' | 'error', label: string | null): void => {
    for (const each of to(target))
      edges.push({ from, to: each, kind: target === END ? stopping(each, kind) : kind, label });
  };
  if (value.type === 'parallel') {
    for (const branch of value.branches)
      for (const each of to(branch.to))
        edges.push({ from: id, to: each, kind: 'branch', label: isCatchAll(branch) ? null : (branch.when ?? null) });
  }
  for (const route of value.routes)
    add(route.to, 'route', isCatchAll(route) ? (value.routes.length > 1 ? 'default' : null) : (route.when ?? null));
  if (value.routes.length === 0) add(END, 'route', null);
  for (const { match, default: all, to: target } of value.on_error) {
    const origin = value.type === 'parallel' ? joinId(id) : id;
    for (const each of to(target))
      edges.push({ from: origin, to: each, kind: 'error', label: all === true ? 'any error' : (match ?? null) });
  }
  return edges;
}

/** An edge leads back where it reaches something that it comes from, in the order of a walk from the start. */
function marked(edges: readonly Omit<PictureEdge, 'back'>[]): readonly PictureEdge[] {
  const out = new Map<string, Omit<PictureEdge, 'back'>[]>();
  for (const edge of edges) {
    const list = out.get(edge.from);
    if (list === undefined) out.set(edge.from, [edge]);
    else list.push(edge);
  }
  const state = new Map<string, 'open' | 'done'>();
  const back = new Set<object>();
  const walk: { readonly id: string; at: number }[] = [];
  for (const root of out.keys()) {
    if (state.has(root)) continue;
    walk.push({ id: root, at: 0 });
    state.set(root, 'open');
    for (let top = walk.at(-1); top !== undefined; top = walk.at(-1)) {
      const edge = out.get(top.id)?.[top.at];
      top.at += 1;
      if (edge === undefined) {
        state.set(top.id, 'done');
        walk.pop();
      } else if (state.get(edge.to) === 'open') back.add(edge);
      else if (!state.has(edge.to)) {
        state.set(edge.to, 'open');
        walk.push({ id: edge.to, at: 0 });
      }
    }
  }
  return edges.map((edge) => ({ ...edge, back: back.has(edge) }));
}

function drawn({ id, value }: FlowNode): PictureNode {
  const detail = detailOf(value);
  const shown = isPoison(detail) ? null : detail;
  return { id, kind: value.type, label: id, detail: shown, description: value.description ?? null };
}

function detailOf(value: FlowNode['value']): string | null {
  switch (value.type) {
    case 'agent':
      return value.agent;
    case 'tool':
      return value.tool;
    case 'approval':
      return value.message;
    case 'decision':
      return value.expr;
    case 'parallel':
      return `${value.branches.length} branches`;
    case 'terminal':
      return null;
  }
}

function policyOf({ value }: FlowNode): string | null {
  if (value.type !== 'parallel') return null;
  const { type = 'all', count = 0, timeout = 60 } = value.join ?? {};
  const waits = type === 'count' ? `${count} of ${value.branches.length}` : type === 'all' ? 'all' : 'first success';
  return `${waits}, ${timeout} s`;
}

function plain(id: string, kind: 'start' | 'end' | 'join'): PictureNode {
  return { id, kind, label: kind, detail: null, description: null };
}

function joinId(id: string): string {
  return `${id} join`;
}
