/** Compares the metrics of two sets of runs. A metric got worse only if the change is significant, or if the rule says so. */
import { likelihoodOfEqual } from './measure.ts';
import type { Figure } from './measure.ts';
import { metricOf } from './table.ts';
import type { MetricId } from './table.ts';

export interface Comparison {
  readonly id: MetricId;
  readonly before: number;
  readonly now: number;
  /** The probability of such a change by chance; null where it cannot be told. */
  readonly probability: number | null;
  readonly worse: boolean;
  readonly better: boolean;
}

/** A change with a probability below this is not chance. */
const SIGNIFICANT = 0.05;

/** `before` has the figures of the earlier report. Metrics without a value on both sides are left out. */
export function compareFigures(
  before: readonly Figure[],
  now: readonly Figure[],
  level = SIGNIFICANT,
): readonly Comparison[] {
  return now.flatMap((figure) => {
    const earlier = before.find(({ id }) => id === figure.id);
    if (earlier === undefined || earlier.value === null || figure.value === null) return [];
    const probability = likelihoodOfEqual(figure.id, earlier, figure);
    // Without a test, any change counts.
    const isReal = figure.value !== earlier.value && (probability === null || probability < level);
    const up = figure.value > earlier.value;
    const isWorse = isHigherBetter(figure.id) ? !up : up;
    return [
      {
        id: figure.id,
        before: earlier.value,
        now: figure.value,
        probability,
        worse: isReal && isWorse,
        better: isReal && !isWorse,
      },
    ];
  });
}

/** Rates of success and of support should rise; counts, failures and costs should fall. */
function isHigherBetter(id: MetricId): boolean {
  const { target } = metricOf(id);
  return target !== null && 'atLeast' in target;
}
