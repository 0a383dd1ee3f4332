/** The benchmark's statistics give the values that can be worked out by hand. */
import { describe, expect, test } from 'vitest';
import { exponent, median } from '../../bench/stats.ts';

describe('median', () => {
  test('is the middle of an odd count, in any order', () => {
    expect(median([9, 1, 5])).toBe(5);
  });

  test('is the mean of the two middle values of an even count', () => {
    expect(median([4, 1, 3, 100])).toBe(3.5);
  });

  test('of nothing is refused', () => {
    expect(() => median([])).toThrow('no values');
  });
});

describe('exponent', () => {
  const sizes = [250, 500, 1_000, 2_000];

  test.each([0, 1, 1.7, 2])('recovers n to the power of %d, whatever the factor', (power) => {
    expect(exponent(sizes.map((n) => [n, 3 * n ** power]))).toBeCloseTo(power, 10);
  });

  test('of a single size is refused', () => {
    expect(() => exponent([[10, 1]])).toThrow('two sizes');
  });
});
