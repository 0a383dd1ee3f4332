/** The facts of a run as a row of `run_facts`. */
import type { Codec, Place, RunFacts } from '@sluice-internal/engine/ports';

/** The columns of `run_facts` without the run. */
export type FactsRow = readonly [
  seq: number | null,
  steps: number,
  inputTokens: number,
  outputTokens: number,
  costMicros: number,
  questions: number,
  node: string | null,
  error: string | null,
  message: string | null,
];

export function toFacts([
  seq,
  steps,
  inputTokens,
  outputTokens,
  micros,
  questions,
  ...rest
]: FactsRow): RunFacts | null {
  if (seq === null) return null;
  const [node, type, message] = rest;
  const error = type === null ? null : { type, message: message ?? '' };
  return { seq, steps, inputTokens, outputTokens, costUsd: micros / 1_000_000, questions, node, error };
}

/** The columns of `run_facts`, without the run, in their order. */
export function factsRow({
  seq,
  steps,
  inputTokens,
  outputTokens,
  costUsd,
  questions,
  node,
  error,
}: RunFacts): FactsRow {
  const micros = Math.round(costUsd * 1_000_000);
  return [seq, steps, inputTokens, outputTokens, micros, questions, node, error?.type ?? null, error?.message ?? null];
}

/** The message of an error can have what a run has read. */
export function sealedFacts(codec: Codec, place: Place, row: FactsRow): FactsRow {
  return withMessage(row, (message) => codec.seal(message, place));
}

/** Null without the key. */
export function openedFacts(codec: Codec, place: Place, row: FactsRow): FactsRow | null {
  return codec.has(row[8] ?? '') ? withMessage(row, (message) => codec.open(message, place)) : null;
}

function withMessage(row: FactsRow, change: (message: string) => string): FactsRow {
  const [seq, steps, inputTokens, outputTokens, costMicros, questions, node, error, message] = row;
  const changed = message === null ? null : change(message);
  return [seq, steps, inputTokens, outputTokens, costMicros, questions, node, error, changed];
}
