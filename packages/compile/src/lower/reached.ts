/** The nodes that threads reach in a graph that is being built. */
import type { FlowBody, Meter, MeterId, Node, NodeId } from '@sluice-internal/kernel/ir';
import { reachableFrom } from '../graph/components.ts';
import { edgesOf } from '../graph/graph.ts';
import { CLOCK, STEPS } from './budget-meters.ts';

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
  return reachableFrom(starts, (id) => {
    const node = nodes.get(id);
    if (node === undefined) return [];
    return edgesOf(node, limits, fail).flatMap(({ to, kind }) => (enters || kind !== 'branch' ? [to] : []));
  });
}

/** Drops generated nodes that nothing reaches. Authored nodes stay, so that `verify` can report them. */
export function prune(draft: Draft): Pick<FlowBody, 'nodes' | 'meters'> {
  const { nodes, meters, entry, fail } = draft;
  const entered = [...nodes].flatMap(([id, { label }]) => (label.enters === undefined ? [] : [id]));
  const reached = reachedFrom([entry, fail, ...entered], draft, true);
  const kept = [...nodes].filter(([id]) => reached.has(id));
  const charged = new Set(kept.flatMap(([, node]) => node.charges ?? []));
  return {
    nodes: Object.fromEntries(kept),
    meters: Object.fromEntries([...meters].filter(([id]) => id === STEPS || id === CLOCK || charged.has(id))),
  };
}
