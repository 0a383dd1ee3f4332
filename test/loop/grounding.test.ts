/**
 * Claims without an observation, measured on real runs whose results were taken out and on real traces with human notes. The
 * rules were settled on one half of each set; what is asserted is what they reach on the other.
 */
import { describe, expect, test } from 'vitest';
import type { CompiledFlow } from '../../src/ir/nodes.ts';
import { trajectories } from './airline.ts';
import type { Trajectory } from './airline.ts';
import { strictAirline, violationIn, withoutDoer, withoutLast } from './airline-removed.ts';
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
  const flow = strictAirline();
  const runs = flow === null ? [] : trajectories();

  test('words that nothing carries any more are caught, and hardly any others', async ({ skip }) => {
    skip(flow === null, 'the airline runs are not here: nothing to measure on them');
    const [untouched, changing, reading] = [count(), count(), count()];
    for (const run of runs) {
      const before = await violationIn(flow as CompiledFlow, run);
      untouched[halfOf(run)].of += 1;
      if (before !== null) untouched[halfOf(run)].hit += 1;
      for (const [kind, counts] of [
        ['changing', changing],
        ['reading', reading],
      ] as const) {
        const changed = withoutLast(run, kind);
        if (changed === null) continue;
        counts[halfOf(run)].of += 1;
        // What was stopped before anything was taken out proves nothing.
        if (before === null && (await violationIn(flow as CompiledFlow, changed)) !== null)
          counts[halfOf(run)].hit += 1;
      }
    }
    process.stdout.write(shown('airline, untouched and stopped', untouched));
    process.stdout.write(shown('airline, last action taken out and caught', changing));
    process.stdout.write(shown('airline, last lookup taken out and caught', reading));
    expect(share(untouched['held out'])).toBeLessThanOrEqual(0.08);
    expect(share(changing['held out'])).toBeGreaterThanOrEqual(0.85);
    expect(share(reading['held out'])).toBeGreaterThanOrEqual(0.45);
  }, 600_000);

  test('nor does it help to leave out who did it', async ({ skip }) => {
    skip(flow === null, 'the airline runs are not here: nothing to measure on them');
    const [untouched, changing] = [count(), count()];
    for (const run of runs.map(withoutDoer)) {
      const before = await violationIn(flow as CompiledFlow, run);
      untouched[halfOf(run)].of += 1;
      if (before !== null) untouched[halfOf(run)].hit += 1;
      const changed = withoutLast(run, 'changing');
      if (changed === null) continue;
      changing[halfOf(run)].of += 1;
      if (before === null && (await violationIn(flow as CompiledFlow, changed)) !== null)
        changing[halfOf(run)].hit += 1;
    }
    process.stdout.write(shown('airline, without a doer, untouched and stopped', untouched));
    process.stdout.write(shown('airline, without a doer, last action taken out and caught', changing));
    expect(share(untouched['held out'])).toBeLessThanOrEqual(0.08);
    expect(share(changing['held out'])).toBeGreaterThanOrEqual(0.85);
  }, 600_000);
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
