/**
 * The usage of a run in every budget dimension, and its total in dollars. Derived from the journal: calls count by attempts
 * sent, and amounts that no answer measures count as reserved.
 */
import { DIMENSION_ROWS, measuredAmount, shownAmount } from '@sluice-internal/kernel/ir';
import type {
  Amounts,
  CompiledFlow,
  Dimension,
  DimensionRow,
  Event,
  Measure,
  RunState,
} from '@sluice-internal/kernel/ir';
import type { Usage } from '../ports/types.ts';
import { callsIn } from './calls.ts';

export function usageOf(flow: CompiledFlow, state: RunState, events: readonly Event[]): Usage {
  const { amounts, largest, reviews } = countedIn(flow, events);
  const measures = DIMENSION_ROWS.map((row) => [
    row.measure,
    shownAmount(row.name, used(row, state, amounts, largest)),
  ]);
  const usage = Object.fromEntries(measures) as { readonly [measure in Measure]: number };
  const { toolCall = 0, externalCall = 0, review = 0 } = flow.view?.rates ?? {};
  return {
    ...usage,
    wallClockSeconds: (state.now - state.startedAt - (state.waitedMs ?? 0)) / 1000,
    reviews,
    scalarCostUsd: usage.costUsd + usage.toolCalls * toolCall + usage.externalCalls * externalCall + reviews * review,
  };
}

function used(row: DimensionRow, { spent, usage }: RunState, amounts: Counts, largest: Counts): number {
  if (row.charged === 'visit') return spent[row.name] ?? 0;
  if (row.largest !== undefined) return largest[row.largest] ?? 0;
  if (row.charged === 'retry') return (usage[row.name] ?? 0) + (amounts[row.name] ?? 0);
  if (row.sums !== undefined) return measuredAmount(usage, row.name);
  return (row.charged === 'attempt' && row.call === undefined ? amounts : usage)[row.name] ?? 0;
}

type Counts = { [dimension in Dimension]?: number };
interface Counted {
  /** Amounts that the attempts reserved. */
  readonly amounts: Counts;
  /** The largest amount that one answer reported. */
  readonly largest: Counts;
  /** Answered questions. */
  reviews: number;
}

function countedIn(flow: CompiledFlow, events: readonly Event[]): Counted {
  const counted: Counted = { amounts: {}, largest: {}, reviews: 0 };
  const { amounts, largest } = counted;
  for (const { id, kind, attempts, retries, question } of callsIn(flow, events)) {
    const node = flow.nodes[id];
    // A check or a question of a call's controls is not the call.
    const reserve = node?.op === 'do' && (kind === 'undo' || kind === node.effect.kind) ? node.effect.reserve : {};
    add(amounts, reserve);
    // The state counts repeated attempts as retries.
    add(amounts, { ...reserve, retries: 0 }, retries.length);
    for (const { number, used, value, ok, unsent } of attempts) {
      if (unsent) add(amounts, { ...reserve, retries: number > 1 ? 1 : 0 }, -1);
      for (const [dimension, amount] of Object.entries(used) as [Dimension, number][])
        largest[dimension] = Math.max(largest[dimension] ?? 0, amount);
      const hasExpired = ok && (value as { expired?: unknown } | null)?.expired === true;
      if (question !== null && !hasExpired) counted.reviews += 1;
    }
  }
  return counted;
}

function add(amounts: Counts, more: Amounts, times = 1): void {
  for (const [dimension, amount] of Object.entries(more) as [Dimension, number][])
    amounts[dimension] = (amounts[dimension] ?? 0) + times * amount;
}
