/**
 * The usage of a run in every budget dimension, and its total in dollars. Derived from the journal. Calls count by attempts;
 * a dimension that is not measured counts as reserved.
 */
import type { Amounts, CompiledFlow } from '../../ir/nodes.ts';
import type { Event, RunState } from '../../ir/events.ts';
import type { Usage } from '../engine/types.ts';

export function usageOf(flow: CompiledFlow, state: RunState, events: readonly Event[]): Usage {
  const { usage, spent } = state;
  const counted = countedIn(flow, events);
  const costUsd = (usage.costMicros ?? 0) / 1_000_000;
  const toolCalls = usage.toolCalls ?? 0;
  const { toolCall = 0, externalCall = 0, review = 0 } = flow.view?.rates ?? {};
  return {
    steps: spent['steps'] ?? 0,
    modelCalls: usage.modelCalls ?? 0,
    toolCalls,
    externalCalls: counted.externalCalls,
    inputTokens: usage.inputTokens ?? 0,
    outputTokens: usage.outputTokens ?? 0,
    costUsd,
    retries: usage.retries ?? 0,
    reflections: counted.reflections,
    contextTokens: counted.contextTokens,
    memoryWrites: counted.memoryWrites,
    sideEffects: counted.sideEffects,
    wallClockSeconds: (state.now - state.startedAt) / 1000,
    reviews: counted.reviews,
    scalarCostUsd: costUsd + toolCalls * toolCall + counted.externalCalls * externalCall + counted.reviews * review,
  };
}

interface Counted {
  externalCalls: number;
  reflections: number;
  memoryWrites: number;
  sideEffects: number;
  /** The longest input of one call. */
  contextTokens: number;
  /** Questions that a person answered. */
  reviews: number;
}

function countedIn(flow: CompiledFlow, events: readonly Event[]): Counted {
  const counted: Counted = {
    externalCalls: 0,
    reflections: 0,
    memoryWrites: 0,
    sideEffects: 0,
    contextTokens: 0,
    reviews: 0,
  };
  const reserves = new Map<string, Amounts>();
  const asked = new Set<string>();
  const attempt = (amounts: Amounts | undefined): void => {
    for (const dimension of ['externalCalls', 'reflections', 'memoryWrites', 'sideEffects'] as const)
      counted[dimension] += amounts?.[dimension] ?? 0;
  };
  for (const event of events) {
    if (event.type === 'effect.requested') {
      const node = flow.nodes[event.node];
      if (node?.op === 'do') reserves.set(event.key, node.effect.reserve);
      if (event.question !== undefined) asked.add(event.key);
      attempt(reserves.get(event.key));
    } else if (event.type === 'effect.judged' && event.verdict === 'retry') attempt(reserves.get(event.key));
    else if (event.type === 'effect.settled') {
      counted.contextTokens = Math.max(counted.contextTokens, event.result.used?.inputTokens ?? 0);
      const { value } = event.result.ok ? event.result : { value: null };
      if (asked.has(event.key) && (value as { expired?: unknown } | null)?.expired !== true) counted.reviews += 1;
    }
  }
  return counted;
}
