/** Tests of significance against values from tables. */
import { expect, test } from 'vitest';
import {
  fisher,
  meanInterval,
  momentsOf,
  shareInterval,
  welch,
} from '../../src/surfaces/evaluate/metrics/statistics.ts';

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
