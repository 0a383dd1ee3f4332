/** The nodes that threads reach in a graph that is being built. */
import type { Meter, MeterId, Node, NodeId } from '../../ir/nodes.ts';
import { edgesOf } from '../verify/graph.ts';

export interface Draft {
  readonly nodes: Map<NodeId, Node>;
  readonly meters: ReadonlyMap<MeterId, Meter>;
  readonly entry: NodeId;
  readonly fail: NodeId;
}

/** `enters` is false if the heads of branches are left out. */
export function reachedFrom(
  starts: readonly NodeId[],
  { nodes, meters, fail }: Omit<Draft, 'entry'>,
  enters: boolean,
): ReadonlySet<NodeId> {
  const limits = Object.fromEntries(meters);
  const reached = new Set<NodeId>();
  const waiting = [...starts];
  for (let id = waiting.pop(); id !== undefined; id = waiting.pop()) {
    const node = nodes.get(id);
    if (node === undefined || reached.has(id)) continue;
    reached.add(id);
    for (const { to, kind } of edgesOf(node, limits, fail)) if (enters || kind !== 'branch') waiting.push(to);
  }
  return reached;
}
