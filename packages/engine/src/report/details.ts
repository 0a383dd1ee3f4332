/** What lists show of a run. It follows from the state alone, so that a worker need not keep the events of its runs. */
import { authorOf } from '@sluice-internal/kernel/core';
import type { Program } from '@sluice-internal/kernel/core';
import { measuredAmount, shownAmount } from '@sluice-internal/kernel/ir';
import type { CompiledFlow, Pending, RunState } from '@sluice-internal/kernel/ir';
import type { AskedQuestion, RunDetails, RunFacts } from '../ports/ports.ts';
import { nameAt } from './authored.ts';

export function detailsOf({ flow }: Program, state: RunState): RunDetails {
  const questions = openIn(state).map((pending) => askedOf(flow, pending));
  return { facts: factsOf(flow, state, questions.length), questions };
}

/** The questions that wait for a person now. */
export function openIn({ pending }: RunState): readonly Pending[] {
  return [...pending.values()].filter(({ question, observed }) => question !== null && observed === null);
}

function askedOf(flow: CompiledFlow, { question, node, notBefore, deadline }: Pending): AskedQuestion {
  return { id: question?.id ?? '', node: nameAt(flow, node), askedAt: notBefore, expiresAt: deadline };
}

function factsOf(flow: CompiledFlow, state: RunState, questions: number): RunFacts {
  const { seq, spent, usage, outcome } = state;
  const error = outcome?.error ?? null;
  return {
    seq,
    steps: spent.steps ?? 0,
    inputTokens: measuredAmount(usage, 'inputTokens'),
    outputTokens: measuredAmount(usage, 'outputTokens'),
    costUsd: shownAmount('costMicros', measuredAmount(usage, 'costMicros')),
    questions,
    node: outcome === null ? nodeOf(flow, state) : (error?.node ?? null),
    error: error === null ? null : { type: error.type, message: error.message },
  };
}

/** The node of the oldest call, question or wait that is open; else the one where the main line is. */
function nodeOf({ nodes }: CompiledFlow, { pending, threads }: RunState): string | null {
  const [oldest] = pending.values();
  const node = nodes[oldest?.node ?? threads.get('0')?.at ?? ''];
  return node === undefined ? null : authorOf(node);
}
