/** Tests of significance against values from tables. */
import { describe, expect, test } from 'vitest';
import { comparisonLine } from '../../src/render/metrics.ts';
import { compareFigures } from '../../src/metrics/compare.ts';
import { figuresOf } from '../../src/metrics/measure.ts';
import type { Figure, RunSample } from '../../src/metrics/measure.ts';
import { createChance } from '@sluice-internal/testing/chance';
import { fisher, meanInterval, momentsOf, shareInterval, welch } from '../../src/metrics/statistics.ts';

test('Fisher: the lady tasting tea, and equal shares', () => {
  expect(fisher(3, 4, 1, 4)).toBeCloseTo(0.4857, 4);
  expect(fisher(10, 10, 0, 10)).toBeCloseTo(1.0825e-5, 8);
  expect(fisher(5, 10, 5, 10)).toBeCloseTo(1, 9);
});

test('Welch: two samples with a known result', () => {
  const a = momentsOf([27.5, 21, 19, 23.6, 17, 17.9, 16.9, 20.1, 21.9, 22.6, 23.1, 19.6, 19, 21.7, 21.4]);
  const b = momentsOf([27.1, 22, 20.8, 23.4, 23.4, 23.5, 25.8, 22, 24.8, 20.2, 21.9, 22.1, 22.9, 30.5, 24.4]);
  expect(welch(a, b)).toBeCloseTo(0.008072, 5);
  expect(welch(momentsOf([2, 2, 2]), momentsOf([2, 2]))).toBe(1);
  expect(welch(momentsOf([2, 2, 2]), momentsOf([3, 3]))).toBe(0);
  expect(welch(momentsOf([2]), momentsOf([3]))).toBe(1);
});

test('intervals: Wilson for shares, Student for means', () => {
  const [low, high] = shareInterval(8, 10);
  expect([low, high]).toEqual([expect.closeTo(0.4902, 3), expect.closeTo(0.9433, 3)]);
  expect(shareInterval(10, 10)[1]).toBe(1);
  const [from, to] = meanInterval(momentsOf([1, 2, 3, 4, 5]));
  expect([from, to]).toEqual([expect.closeTo(3 - 1.963, 2), expect.closeTo(3 + 1.963, 2)]);
});

describe('a baseline of noisy runs', () => {
  const chance = createChance(11);
  const draw = (share: number): number => (chance.below(1000) < share * 1000 ? 1 : 0);
  /** Runs whose calls fail together, as those of one run do. */
  const noisy = (success: number, steps: number): RunSample => {
    const good = draw(success);
    const calls = 1 + chance.below(6);
    const failed = draw(0.3) * calls;
    const length = steps + chance.below(4);
    const samples: RunSample['samples'] = {
      taskSuccessRate: { part: good, whole: 1 },
      timeoutRate: { part: 1 - good, whole: 1 },
      escalationAccuracy: { part: 1 - good, whole: draw(0.2) },
      stepCountEfficiency: { part: length, whole: 1 },
      loopDepthLimit: { part: 1 + draw(0.1), whole: 1 },
      toolCallCount: { part: calls, whole: 1 },
      failedToolCalls: { part: failed, whole: calls },
      retryRate: { part: failed, whole: calls + failed },
      budgetAdherence: { part: 1, whole: 1 },
      costPerSuccess: { part: chance.below(1000), whole: good },
      humanOverrideRate: { part: draw(0.3), whole: 1 },
      userCorrectionRate: { part: draw(0.2), whole: 1 },
    };
    const code = good === 1 ? 'SUCCESS' : 'TIMEOUT';
    const state = good === 1 ? 'completed' : 'failed';
    return { run: 'r', flow: 'f', hash: 'h', at: 0, state, code, steps: length, costUsd: 0, durationMs: 1, samples };
  };
  const figures = (success: number, steps: number) =>
    figuresOf(Array.from({ length: 20 }, () => noisy(success, steps)));
  const shareWorse = (success: number, steps: number): number => {
    const trials = Array.from({ length: 300 }, () => compareFigures(figures(0.95, 5), figures(success, steps)));
    return trials.filter((comparisons) => comparisons.some(({ worse }) => worse)).length / trials.length;
  };

  test('equal flows of 20 repetitions are rarely called worse', () => {
    expect(shareWorse(0.95, 5)).toBeLessThan(0.07);
  });

  test('a large drop is found', () => {
    expect(shareWorse(0.45, 5)).toBeGreaterThan(0.8);
    expect(shareWorse(0.95, 8)).toBeGreaterThan(0.95);
  });

  test('a metric that has lost its value is a finding; one that never had a value is not', () => {
    const one = (part: number, whole: number) =>
      figuresOf([{ ...noisy(1, 5), samples: { humanOverrideRate: { part, whole } } }]);
    const ofRate = (before: readonly Figure[], now: readonly Figure[]) =>
      compareFigures(before, now).filter(({ id }) => id === 'humanOverrideRate');
    const compared = ofRate(one(1, 1), one(0, 0));
    expect(compared).toEqual([
      { id: 'humanOverrideRate', before: 1, now: null, probability: null, worse: true, better: false },
    ]);
    expect(compared.map(comparisonLine)).toEqual([expect.stringMatching(/: 100 % → no value \(worse\)$/)]);
    expect(ofRate(one(0, 0), one(0, 0))).toEqual([]);
    expect(ofRate(one(0, 0), one(1, 1))).toEqual([]);
  });

  test('the largest value of all runs counts only if it misses its target', () => {
    const depth = (part: number) => figuresOf([{ ...noisy(1, 5), samples: { loopDepthLimit: { part, whole: 1 } } }]);
    const worse = (now: number) =>
      compareFigures(depth(1), depth(now)).find(({ id }) => id === 'loopDepthLimit')?.worse;
    expect([worse(2), worse(3)]).toEqual([false, true]);
  });
});
