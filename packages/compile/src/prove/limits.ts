/**
 * The most that a run can use from each node on. For the whole run: the linear program; an exact walk if one small limit
 * counts all costly visits; that limit alone if the program is too large. A part of a run uses at most as much as the run, and
 * at most as much as its longest path.
 */
import { countsVisits } from '@sluice-internal/kernel/ir';
import type { Dimension, DoNode, MeterId, Node, NodeId } from '@sluice-internal/kernel/ir';
import type { Graph } from '../graph/graph.ts';
import { mostOf, times } from './cost.ts';
import { mostOfRun } from './most.ts';
import { mostUnderCap } from './walk.ts';

export function mostWithin(graph: Graph, dimension: Dimension): (id: NodeId) => number {
  const costs = new Map<NodeId, number>();
  for (const id of graph.ids) {
    const cost = mostOf(graph.node(id), dimension, graph.body);
    if (cost > 0) costs.set(id, cost);
  }
  if (costs.size === 0) return () => 0;
  const paths = longestPaths(graph, (id) => costs.get(id) ?? 0);
  const shared = sharedMeter(graph, costs);
  const walked = shared === null ? null : mostUnderCap(graph, dimension, shared.meter);
  const { entry } = graph.body;
  const whole = Math.min(
    paths.get(entry) ?? Infinity,
    mostOfRun(graph, dimension, costs),
    shared?.most ?? Infinity,
    walked?.get(entry) ?? Infinity,
  );
  return (id) => Math.min(whole, paths.get(id) ?? Infinity, walked?.get(id) ?? Infinity);
}

/** The costliest path from each node, without regard to limits. Infinite where a cycle costs anything, branches included. */
function longestPaths(graph: Graph, cost: (id: NodeId) => number): ReadonlyMap<NodeId, number> {
  const paths = new Map<NodeId, number>();
  const most = (id: NodeId): number => paths.get(id) ?? 0;
  const own = (id: NodeId): number => cost(id) + branchesMost(graph.node(id), most);
  const onward = (id: NodeId): number => {
    let max = 0;
    for (const { to, kind } of graph.edges(id)) if (kind !== 'branch') max = Math.max(max, most(to));
    return max;
  };
  for (const { members, cyclic } of graph.components()) {
    if (cyclic) {
      const after = Math.max(...members.map(onward));
      // A fork inside its own branch continues after the join as often as it is entered.
      const isRepeated = members.some((id) => own(id) > 0) || (after > 0 && hasOwnBranch(graph, members));
      const path = isRepeated ? Infinity : after;
      for (const id of members) paths.set(id, path);
    } else for (const id of members) paths.set(id, own(id) + onward(id));
  }
  return paths;
}

function hasOwnBranch(graph: Graph, members: readonly NodeId[]): boolean {
  const inside = new Set(members);
  return members.some((id) => graph.edges(id).some(({ to, kind }) => kind === 'branch' && inside.has(to)));
}

/** All branches of a fork together. A list may have any length. */
function branchesMost(node: Node, most: (id: NodeId) => number): number {
  if (node.op !== 'fork') return 0;
  if ('heads' in node.over) return node.over.heads.reduce((sum, { to }) => sum + most(to), 0);
  return times(Infinity, most(node.over.head));
}

/** The tightest limit on visits that every costly visit charges, on every path. */
function sharedMeter(
  graph: Graph,
  costs: ReadonlyMap<NodeId, number>,
): { readonly meter: MeterId; readonly most: number } | null {
  const costly = [...costs.keys()];
  const meters = costly.map((id) =>
    graph.bounding(id).flatMap(([meterId, meter]) => (countsVisits(meter) ? [meterId] : [])),
  );
  const common = meters.reduce((shared, charged) => shared.filter((meter) => charged.includes(meter)), meters[0] ?? []);
  const cost = costly.reduce((most, id) => Math.max(most, costs.get(id) ?? 0), 0);
  const limits = common.map((meter) => ({ meter, most: times(graph.body.meters[meter]?.max ?? Infinity, cost) }));
  return limits.sort((a, b) => a.most - b.most)[0] ?? null;
}

/** The most that compensations after failed runs use: one call, and its price, for each call that registers one. */
export function undoneMost(graph: Graph, dimension: Dimension, callsMax: number): (id: NodeId) => number {
  if (dimension === 'toolCalls') return undoCalls(graph, callsMax, () => true);
  if (dimension !== 'costMicros') return () => 0;
  const prices = new Set(graph.ids.flatMap((id) => undoOf(graph.node(id))?.costMicros ?? []));
  // The budget of money does not hold compensations, so the calls are counted.
  const counts = [...prices].map(
    (price) => [price, undoCalls(graph, callsMax, ({ costMicros }) => costMicros === price)] as const,
  );
  return (id) => counts.reduce((sum, [price, calls]) => sum + times(calls(id), price), 0);
}

type Undo = NonNullable<DoNode['undo']>;

function undoOf(node: Node): Undo | undefined {
  return node.op === 'do' ? node.undo : undefined;
}

function undoCalls(graph: Graph, callsMax: number, counts: (undo: Undo) => boolean): (id: NodeId) => number {
  const undoing = (id: NodeId): ReturnType<Graph['node']> => {
    const node = graph.node(id);
    if (node.op !== 'do') return node;
    const reserve = { toolCalls: node.undo !== undefined && counts(node.undo) ? 1 : 0 };
    return { ...node, effect: { kind: 'check', check: '', input: {}, reserve }, retry: { ...node.retry, max: 0 } };
  };
  const most = mostWithin({ ...graph, node: undoing }, 'toolCalls');
  return (id) => Math.min(most(id), callsMax);
}
