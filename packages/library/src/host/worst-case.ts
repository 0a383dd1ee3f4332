/** The most that a run of a flow can spend, by its certificate: the amount that it reserves in the quota of its tenant. */
import { boundsOf } from '@sluice-internal/compile/prove';
import { graphOf } from '@sluice-internal/compile/graph';
import type { CompiledFlow } from '@sluice-internal/kernel/ir';
import type { WorstCase } from '@sluice-internal/engine/ports';

const MICROS = 1_000_000;

/** Remembers the result of each flow. */
export function worstCases(): (flow: CompiledFlow) => WorstCase {
  const known = new Map<string, WorstCase>();
  return (flow) => {
    const found = known.get(flow.hash) ?? worstCaseOf(flow);
    known.set(flow.hash, found);
    return found;
  };
}

function worstCaseOf(flow: CompiledFlow): WorstCase {
  const { tokens, costUsd } = boundsOf(graphOf(flow)).bounds.flow;
  return { tokens: tokens.most, costMicros: costUsd.most === null ? null : Math.ceil(costUsd.most * MICROS) };
}
