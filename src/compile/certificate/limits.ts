/** The most from each node on: by the linear program, and by the exact walk where one small limit counts all costly visits. */
import type { Dimension } from '../../ir/dimensions.ts';
import type { MeterId, NodeId } from '../../ir/nodes.ts';
import type { Graph } from '../verify/graph.ts';
import { mostOf } from './cost.ts';
import { mostFrom } from './most.ts';
import { mostUnderCap } from './walk.ts';

export function mostWithin(graph: Graph, dimension: Dimension): (id: NodeId) => number {
  const most = mostFrom(graph, dimension);
  const meter = sharedMeter(graph, dimension);
  const walked = meter === null ? null : mostUnderCap(graph, dimension, meter);
  return (id) => Math.min(most(id), walked?.get(id) ?? Infinity);
}

/** The tightest limit on visits that every costly visit charges, on every path. */
function sharedMeter(graph: Graph, dimension: Dimension): MeterId | null {
  const costly = graph.ids.filter((id) => mostOf(graph.node(id), dimension, graph.body) > 0);
  const meters = costly.map((id) =>
    graph.bounding(id).flatMap(([meter, { unit }]) => (unit === 'visits' || unit === 'steps' ? [meter] : [])),
  );
  const common = meters.reduce((shared, charged) => shared.filter((meter) => charged.includes(meter)), meters[0] ?? []);
  const maxOf = (meter: MeterId): number => graph.body.meters[meter]?.max ?? Infinity;
  return common.sort((a, b) => maxOf(a) - maxOf(b))[0] ?? null;
}

/** The most compensations after failed runs: one for each call that registers one. */
export function undoneMost(graph: Graph, dimension: Dimension): (id: NodeId) => number {
  if (dimension !== 'toolCalls') return () => 0;
  const undoing = (id: NodeId): ReturnType<Graph['node']> => {
    const node = graph.node(id);
    if (node.op !== 'do') return node;
    const reserve = { toolCalls: node.undo === undefined ? 0 : 1 };
    return { ...node, effect: { kind: 'check', check: '', input: {}, reserve }, retry: { ...node.retry, max: 0 } };
  };
  return mostWithin({ ...graph, node: undoing }, dimension);
}
