/**
 * Claims without an observation, measured on real runs whose results were taken out and on real traces with human notes. The
 * rules were settled on one half of each set; the misses of the other half were read last. What is asserted holds for both.
 */
import { describe, expect, test } from 'vitest';
import { isThere, trajectories } from './airline.ts';
import type { Trajectory } from './airline.ts';
import { changedDigits, judge, lastChange, textsOf, withoutDoer } from './airline-texts.ts';
import { isNoted, judgeTrace, traces } from './trail.ts';

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

describe('grounding of the airline runs', () => {
  const runs = isThere() ? trajectories() : [];
  const absent = 'the airline runs are not here: nothing to measure on them';

  test('few honest texts are marked, and one changed digit is', ({ skip }) => {
    skip(runs.length === 0, absent);
    const [marked, caught] = [count(), count()];
    for (const run of runs)
      for (const [index, { text, evidence }] of textsOf(run).entries()) {
        const half = halfOf(run);
        marked[half].of += 1;
        if (judge(text, evidence).findings.length > 0) {
          marked[half].hit += 1;
          continue;
        }
        for (const changed of changedDigits(text, index)) {
          caught[half].of += 1;
          if (judge(changed, evidence).findings.length > 0) caught[half].hit += 1;
        }
      }
    process.stdout.write(shown('airline, honest texts marked', marked));
    process.stdout.write(shown('airline, one changed digit caught', caught));
    expect(share(marked['settled on'])).toBeLessThanOrEqual(0.03);
    expect(share(marked['held out'])).toBeLessThanOrEqual(0.03);
    expect(share(caught['settled on'])).toBeGreaterThanOrEqual(0.95);
    expect(share(caught['held out'])).toBeGreaterThanOrEqual(0.95);
  }, 120_000);

  test.each([
    ['as they are', (run: Trajectory) => run],
    ['without saying who did it', withoutDoer],
  ])(
    'claims of an action that was taken out are caught: texts %s',
    (name, recast) => {
      if (runs.length === 0) return void process.stdout.write(`${absent}\n`);
      const caught = count();
      for (const run of runs.map(recast)) {
        const without = lastChange(run);
        if (without < 0) continue;
        caught[halfOf(run)].of += 1;
        const after = textsOf(run, without).filter((each) => each.after);
        if (after.some(({ text, evidence }) => judge(text, evidence).findings.length > 0)) caught[halfOf(run)].hit += 1;
      }
      process.stdout.write(shown(`airline, removed action caught, texts ${name}`, caught));
      expect(share(caught['settled on'])).toBeGreaterThanOrEqual(0.95);
      expect(share(caught['held out'])).toBeGreaterThanOrEqual(0.95);
    },
    120_000,
  );
});

describe('grounding of the TRAIL traces', () => {
  const judged = traces().map((trace, index) => ({ trace, half: HALVES[index % 2] as Half, ...judgeTrace(trace) }));
  type Judged = (typeof judged)[number];

  function measure(
    what: string,
    found: (each: Judged) => boolean,
    noted: (each: Judged) => boolean,
  ): readonly [Count, Count] {
    const [precision, recall] = [count(), count()];
    for (const each of judged) {
      if (found(each)) precision[each.half].of += 1;
      if (noted(each)) recall[each.half].of += 1;
      if (!found(each) || !noted(each)) continue;
      precision[each.half].hit += 1;
      recall[each.half].hit += 1;
    }
    process.stdout.write(shown(`TRAIL, ${what}, of what was found noted`, precision));
    process.stdout.write(shown(`TRAIL, ${what}, of what was noted found`, recall));
    return [precision, recall];
  }

  test('claims of a lookup that never was', ({ skip }) => {
    skip(judged.length === 0, 'the TRAIL traces are not here: nothing to measure on them');
    const [precision, recall] = measure(
      'claims',
      ({ claims }) => claims,
      ({ trace }) => isNoted(trace, false),
    );
    expect(share(precision['held out'])).toBeGreaterThanOrEqual(0.45);
    expect(share(recall['held out'])).toBeGreaterThanOrEqual(0.55);
  });

  test('answers that stand nowhere', ({ skip }) => {
    skip(judged.length === 0, 'the TRAIL traces are not here: nothing to measure on them');
    const either = ({ claims, values }: Judged): boolean => claims || values;
    const [, invented] = measure('claims and values', either, ({ trace }) => isNoted(trace, false));
    const [precision, recall] = measure('claims and values against all that was made up', either, ({ trace }) =>
      isNoted(trace, true),
    );
    expect(share(invented['held out'])).toBeGreaterThanOrEqual(0.75);
    expect(share(precision['held out'])).toBeGreaterThanOrEqual(0.7);
    expect(share(recall['held out'])).toBeGreaterThanOrEqual(0.55);
  });
});
