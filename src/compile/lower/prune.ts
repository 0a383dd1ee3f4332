/** Drops generated nodes that nothing reaches. Authored nodes stay, so that `verify` can report them. */
import type { Meter, MeterId, Node, NodeId } from '../../ir/nodes.ts';
import { CLOCK, STEPS } from './budget-meters.ts';
import { reachedFrom, type Draft } from './reached.ts';

interface Kept {
  readonly nodes: { readonly [id: NodeId]: Node };
  readonly meters: { readonly [id: MeterId]: Meter };
}

export function prune(draft: Draft): Kept {
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
