/** Drops generated nodes that nothing reaches. Authored nodes stay, so that `verify` can report them. */
import type { Meter, MeterId, Node, NodeId } from '../../ir/nodes.ts';
import { CLOCK, STEPS } from './budget-meters.ts';
import { edgesOf } from '../verify/graph.ts';

interface Draft {
  readonly nodes: ReadonlyMap<NodeId, Node>;
  readonly meters: ReadonlyMap<MeterId, Meter>;
  readonly entry: NodeId;
  readonly fail: NodeId;
}
interface Kept {
  readonly nodes: { readonly [id: NodeId]: Node };
  readonly meters: { readonly [id: MeterId]: Meter };
}

export function prune({ nodes, meters, entry, fail }: Draft): Kept {
  const limits = Object.fromEntries(meters);
  const reached = new Set<NodeId>();
  const waiting = [entry, fail];
  for (const [id, node] of nodes) if (node.label.enters !== undefined) waiting.push(id);
  for (let id = waiting.pop(); id !== undefined; id = waiting.pop()) {
    const node = nodes.get(id);
    if (node === undefined || reached.has(id)) continue;
    reached.add(id);
    for (const { to } of edgesOf(node, limits, fail)) if (!reached.has(to)) waiting.push(to);
  }
  const kept = [...nodes].filter(([id]) => reached.has(id));
  const charged = new Set(kept.flatMap(([, node]) => node.charges ?? []));
  return {
    nodes: Object.fromEntries(kept),
    meters: Object.fromEntries([...meters].filter(([id]) => id === STEPS || id === CLOCK || charged.has(id))),
  };
}
