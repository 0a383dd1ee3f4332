/** The picture of a run: the nodes that it entered, how each ended, and the routes between them. */
import { END, START, edgeShape, shape } from '@sluice-internal/compile/picture';
import type { Picture, PictureEdge, PictureNode, ShapeKind } from '@sluice-internal/compile/picture';
import { nameAt } from '@sluice-internal/engine/report';
import type { CompiledFlow } from '@sluice-internal/kernel/ir';
import type { StoryEvent } from '@sluice-internal/wire';
import { seconds } from '@sluice-internal/library/documents';

interface Entered {
  times: number;
  failed: number;
  ms: number;
  state: 'running' | 'done' | 'failed' | 'stopped';
}

export function pictureOfRun(
  flow: CompiledFlow,
  run: string,
  code: string | null,
  story: readonly StoryEvent[],
): Picture {
  const nodes = new Map<string, Entered>();
  const edges = new Map<string, { readonly from: string; readonly to: string; count: number }>();
  const taken = (from: string, to: string): void => {
    const edge = edges.get(JSON.stringify([from, to]));
    if (edge === undefined) edges.set(JSON.stringify([from, to]), { from, to, count: 1 });
    else edge.count += 1;
  };
  const last = new Map<string, string>();
  for (const event of story) {
    if (event.node === undefined) continue;
    const { node, branch } = event;
    if (event.type === 'node.started') {
      const entered = nodes.get(node) ?? { times: 0, failed: 0, ms: 0, state: 'running' };
      nodes.set(node, { ...entered, times: entered.times + 1, state: 'running' });
      taken(last.get(branch) ?? last.get(parentOf(branch)) ?? START.id, node);
      last.set(branch, node);
    } else if (event.type === 'node.finished' || event.type === 'node.failed' || event.type === 'node.stopped') {
      const entered = nodes.get(node);
      if (entered === undefined) continue;
      entered.ms += event.durationMs;
      entered.state = STATES[event.type];
      if (event.type === 'node.failed') entered.failed += 1;
    }
  }
  const ended = last.get(ROOT);
  if (code !== null && ended !== undefined) taken(ended, END.id);
  const kinds = kindsIn(flow);
  return {
    title: `${flow.id} · ${run}`,
    notation: flow.notation,
    description: code,
    nodes: [
      START,
      ...[...nodes].map(([id, entered]) => drawn(id, kinds.get(id) ?? 'decision', entered)),
      ...(code === null ? [] : [{ ...END, label: code }]),
    ],
    edges: drawnEdges([...edges.values()]),
    cycles: [],
  };
}

const ROOT = '0';
const STATES = { 'node.finished': 'done', 'node.failed': 'failed', 'node.stopped': 'stopped' } as const;

function parentOf(branch: string): string {
  const at = branch.lastIndexOf(':');
  return at < 0 ? ROOT : branch.slice(0, at);
}

function drawn(id: string, kind: ShapeKind, { state, times, ms }: Entered): PictureNode {
  const often = times > 1 ? `, ${times} times` : '';
  return shape(id, kind, id, `${state}${often}${ms > 0 ? `, ${seconds(ms)}` : ''}`);
}

/** An edge to a node that was entered before is drawn as one that goes back. */
function drawnEdges(
  edges: readonly { readonly from: string; readonly to: string; readonly count: number }[],
): readonly PictureEdge[] {
  const seen = new Set<string>([START.id]);
  return edges.map(({ from, to, count }) => {
    seen.add(from);
    const isBack = seen.has(to);
    seen.add(to);
    return edgeShape(from, to, count > 1 ? `${count} times` : null, isBack);
  });
}

const KINDS: { readonly [kind: string]: ShapeKind } = { model: 'agent', tool: 'tool', ask: 'approval' };

/** By the authored name: the kind of its first call. */
function kindsIn(flow: CompiledFlow): ReadonlyMap<string, ShapeKind> {
  const kinds = new Map<string, ShapeKind>();
  for (const [id, node] of Object.entries(flow.nodes)) {
    const kind: ShapeKind | undefined =
      node.op === 'fork' ? 'parallel' : node.op === 'do' ? KINDS[node.effect.kind] : undefined;
    const name = nameAt(flow, id);
    if (kind !== undefined && !kinds.has(name)) kinds.set(name, kind);
  }
  return kinds;
}
