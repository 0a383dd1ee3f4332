/** The recovery decisions of a run: loops that were broken, escalations, aborts. The nodes of the flow name them. */
import type { CompiledFlow, Decision } from '../../ir/nodes.ts';
import type { Tier } from '../../ir/protections.ts';
import type { Event } from '../../ir/events.ts';

export interface MadeDecision extends Decision {
  readonly seq: number;
  readonly tier: Tier;
}

export function decisionsOf(flow: CompiledFlow, events: readonly Event[]): readonly MadeDecision[] {
  const { tier = 'batch' } = flow;
  return events.flatMap((event) => {
    const decision =
      flow.tier === undefined ? nodeDecision(flow, event) : (nodeDecision(flow, event) ?? repeated(event));
    return decision === undefined ? [] : [{ seq: event.seq, tier, ...decision }];
  });
}

function nodeDecision(flow: CompiledFlow, event: Event): Decision | undefined {
  if (event.type !== 'slots.written' && event.type !== 'effect.requested' && event.type !== 'route.picked')
    return undefined;
  const node = flow.nodes[event.node];
  // An effect writes its result at the same node later; the decision was made with the request.
  return event.type === 'slots.written' && node?.op === 'do' ? undefined : node?.label.decision;
}

/** A call that is made again is a decision in a flow with a tier. */
function repeated(event: Event): Decision | undefined {
  if (event.type !== 'effect.judged' || event.verdict !== 'retry') return undefined;
  const action = event.target === undefined ? 'retry' : 'fallback';
  return event.error.class === 'semantic'
    ? { failure: 'schema_or_grounding', action, mast: 'FM-3.2' }
    : { failure: 'provider_error', action, mast: null };
}
