/**
 * The recovery decisions of a run, in order: the failure, and the action. Some are nodes of the flow, others are
 * retries, and others were made by protections that all runs share.
 */
import { STUCK_CAUSES, decisionOf } from '@sluice-internal/kernel/catalog';
import { recoveryClassOf } from '@sluice-internal/kernel/ir';
import type {
  BreakerCause,
  CompiledFlow,
  Decision,
  ErrorRecord,
  Event,
  FailureKind,
  Tier,
} from '@sluice-internal/kernel/ir';

export interface MadeDecision extends Decision {
  readonly seq: number;
  readonly tier: Tier;
}

export function decisionsOf(flow: CompiledFlow, events: readonly Event[]): readonly MadeDecision[] {
  return events.flatMap((event) => {
    const decision = decisionIn(flow, event);
    return decision === null ? [] : [{ seq: event.seq, tier: flow.tier ?? 'batch', ...decision }];
  });
}

function decisionIn(flow: CompiledFlow, event: Event): Decision | null {
  switch (event.type) {
    case 'effect.judged':
      return event.verdict === 'retry' && event.continues !== true ? retried(event.error, event.target) : null;
    case 'breaker.denied':
      // A call of another model is a retry, and a question is a separate node.
      return event.fallback === 'model' || event.fallback === 'escalate'
        ? null
        : decisionOf(KIND_OF_CAUSE[event.cause], event.fallback === 'answer' ? 'fallback' : 'block');
    case 'deadlock.suspected':
      return decisionOf('deadlock', 'surface', STUCK_CAUSES[event.stuck.rule]);
    case 'failure.repeated':
      return decisionOf('tool_loop', 'surface');
    case 'retry.denied':
      return decisionOf('provider_error', 'block');
    case 'slots.written':
    case 'effect.requested':
    case 'route.picked':
      return ofNode(flow, event);
    default:
      return null;
  }
}

function ofNode(flow: CompiledFlow, { type, node: id }: Extract<Event, { readonly node: string }>): Decision | null {
  const node = flow.nodes[id];
  // An effect writes its result at the same node later; the decision was made with the request.
  return node === undefined || (type === 'slots.written' && node.op === 'do') ? null : (node.label.decision ?? null);
}

/** The repair of a reply has its own counter and is not a decision. */
function retried({ class: kind }: ErrorRecord, target: string | undefined): Decision | null {
  if (recoveryClassOf(kind) === 'semantic') return null;
  return decisionOf('provider_error', target === undefined ? 'retry' : 'fallback');
}

const KIND_OF_CAUSE: { readonly [cause in BreakerCause]: FailureKind } = {
  provider_errors: 'provider_error',
  schema_failures: 'schema_or_grounding',
  invariant_violations: 'schema_or_grounding',
  provider_rate: 'provider_error',
  soft_rate: 'schema_or_grounding',
  identical_calls: 'tool_loop',
  probe_failed: 'provider_error',
  operator: 'provider_error',
};
