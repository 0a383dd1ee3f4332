/**
 * The most from each node on. The whole run: by the linear program, by the exact walk where one small limit counts all costly
 * visits, and by that limit alone where the program is too large. A part of a run uses no more than the run, and no more than
 * its longest path.
 */
import type { Dimension } from '../../ir/dimensions.ts';
import { countsVisits } from '../../ir/meters.ts';
import type { MeterId, Node, NodeId } from '../../ir/nodes.ts';
import type { Graph } from '../verify/graph.ts';
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

/** The most compensations after failed runs: one for each call that registers one. */
export function undoneMost(graph: Graph, dimension: Dimension): (id: NodeId) => number {
  const registers = (id: NodeId): boolean => {
    const node = graph.node(id);
    return node.op === 'do' && node.undo !== undefined;
  };
  if (dimension !== 'toolCalls' || !graph.ids.some(registers)) return () => 0;
  const undoing = (id: NodeId): ReturnType<Graph['node']> => {
    const node = graph.node(id);
    if (node.op !== 'do') return node;
    const reserve = { toolCalls: node.undo === undefined ? 0 : 1 };
    return { ...node, effect: { kind: 'check', check: '', input: {}, reserve }, retry: { ...node.retry, max: 0 } };
  };
  return mostWithin({ ...graph, node: undoing }, dimension);
}
