/**
 * Values without a source, measured on real runs. The rules were settled on one half of the runs; of the other half only the counts
 * were looked at. What is asserted holds for both.
 */
import { describe, expect, test } from 'vitest';
import { isThere, trajectories } from './airline.ts';
import type { Trajectory } from './airline.ts';
import { changedDigits, judge, textsOf } from './airline-texts.ts';

const HALVES = ['settled on', 'held out'] as const;
type Half = (typeof HALVES)[number];
type Count = { readonly [half in Half]: { hit: number; of: number } };

/** Both runs of a task are on the same side. */
function halfOf({ task_id }: Trajectory): Half {
  return task_id % 2 === 0 ? 'settled on' : 'held out';
}

function count(): Count {
  return { 'settled on': { hit: 0, of: 0 }, 'held out': { hit: 0, of: 0 } };
}

function shown(what: string, counts: Count): string {
  return `${what}: ${HALVES.map((half) => `${half} ${counts[half].hit} of ${counts[half].of}`).join(', ')}\n`;
}

function share({ hit, of }: { readonly hit: number; readonly of: number }): number {
  return hit / Math.max(1, of);
}

describe('the values of the airline runs', () => {
  const runs = isThere() ? trajectories() : [];

  test('at most 3 % of the honest texts are touched, and at least 95 % of the changed digits are found', ({ skip }) => {
    skip(runs.length === 0, 'the airline runs are not here: nothing to measure on them');
    const [touched, caught] = [count(), count()];
    for (const run of runs)
      for (const [index, { text, material }] of textsOf(run).entries()) {
        const half = halfOf(run);
        touched[half].of += 1;
        if (judge(text, material).length > 0) {
          touched[half].hit += 1;
          continue;
        }
        for (const changed of changedDigits(text, index)) {
          caught[half].of += 1;
          if (judge(changed, material).length > 0) caught[half].hit += 1;
        }
      }
    process.stdout.write(shown('airline, honest texts touched', touched));
    process.stdout.write(shown('airline, one changed amount, date or identifier caught', caught));
    for (const half of HALVES) {
      expect(share(touched[half])).toBeLessThanOrEqual(0.03);
      expect(share(caught[half])).toBeGreaterThanOrEqual(0.95);
    }
  }, 120_000);
});
