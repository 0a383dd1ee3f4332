/** Compares the metrics of two sets of runs. A metric got worse only if the change is significant, or misses a target. */
import { likelihoodOfEqual, type Figure } from './measure.ts';
import { metricOf, type MetricId } from './table.ts';

export interface Comparison {
  readonly id: MetricId;
  readonly before: number;
  /** Null if the metric has no value any more. That counts as worse: nothing shows that it still holds. */
  readonly now: number | null;
  /** The probability of such a change by chance; null if it cannot be computed. */
  readonly probability: number | null;
  readonly worse: boolean;
  readonly better: boolean;
}

/** The tests look at both directions, so equal sets of runs are called worse in at most half as many comparisons: 5 %. */
const SIGNIFICANT = 0.1;

/** `before` has the figures of the earlier report. Metrics without a value there are left out. */
export function compareFigures(before: readonly Figure[], now: readonly Figure[]): readonly Comparison[] {
  const pairs = now.flatMap((figure) => {
    const earlier = before.find(({ id }) => id === figure.id);
    if (earlier === undefined || earlier.value === null || figure.value === null) return [];
    return [
      { figure, was: earlier.value, is: figure.value, probability: likelihoodOfEqual(figure.id, earlier, figure) },
    ];
  });
  const significant = mostSignificant(pairs.flatMap(({ probability }) => probability ?? []));
  const lost = now.flatMap(({ id, value }): Comparison[] => {
    const was = before.find((each) => each.id === id)?.value ?? null;
    if (value !== null || was === null) return [];
    return [{ id, before: was, now: null, probability: null, worse: true, better: false }];
  });
  const compared = pairs.map(({ figure, was, is, probability }) => {
    // The largest value of all runs has no test. It counts if it misses the target.
    const isReal = is !== was && (probability === null ? figure.met === false : probability <= significant);
    const isWorse = isHigherBetter(figure.id) ? is < was : is > was;
    return {
      id: figure.id,
      before: was,
      now: is,
      probability,
      worse: isReal && isWorse,
      better: isReal && !isWorse,
    };
  });
  return [...compared, ...lost];
}

/**
 * The procedure of Benjamini and Hochberg: with many metrics, one of them looks changed by chance alone. Returns the largest
 * probability that is still significant; -1 if none is. A metric that is the same on both sides does not count.
 */
function mostSignificant(probabilities: readonly number[]): number {
  const sorted = probabilities.filter((each) => each < 1).toSorted((a, b) => a - b);
  return sorted.findLast((each, index) => each < (SIGNIFICANT * (index + 1)) / sorted.length) ?? -1;
}

/** Rates of success and of support should rise; counts, failures and costs should fall. */
function isHigherBetter(id: MetricId): boolean {
  const { target } = metricOf(id);
  return target !== null && 'atLeast' in target;
}
