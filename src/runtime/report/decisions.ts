/** The recovery decisions of a run: loops that were broken, escalations, aborts. The nodes of the flow name them. */
import type { CompiledFlow, Decision } from '../../ir/nodes.ts';
import type { Tier } from '../../ir/protections.ts';
import type { Event } from '../../ir/events.ts';

export interface MadeDecision extends Decision {
  readonly seq: number;
  readonly tier: Tier;
}

export function decisionsOf(flow: CompiledFlow, events: readonly Event[]): readonly MadeDecision[] {
  return events.flatMap((event) => {
    if (event.type !== 'slots.written' && event.type !== 'effect.requested' && event.type !== 'route.picked') return [];
    const node = flow.nodes[event.node];
    // An effect writes its result at the same node later; the decision was made with the request.
    if (node?.label.decision === undefined || (event.type === 'slots.written' && node.op === 'do')) return [];
    return [{ seq: event.seq, tier: flow.tier ?? 'batch', ...node.label.decision }];
  });
}
