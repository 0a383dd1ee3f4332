/** The table compares each round with the bare loop of that round and never hides a missing value. */
import { describe, expect, test } from 'vitest';
import type { Sample } from '../../bench/rounds.ts';
import type { Measurement, Shape } from '../../bench/shape.ts';
import { cells, grid } from '../../bench/table.ts';

const timedShape: Shape = { id: 'chain', title: 'a chain', metrics: [{ measure: 'ms', target: 1.5 }] };
const fittedShape: Shape = { id: 'growth', title: 'growth', metrics: [{ measure: 'exponentBytes', target: 1.05 }] };

describe('cells', () => {
  test('takes the median of the ratios, not the ratio of the medians', () => {
    const samples = [sample({ ms: 10 }, { ms: 10 }), sample({ ms: 40 }, { ms: 20 }), sample({ ms: 90 }, { ms: 30 })];
    expect(cells([timedShape], samples)).toMatchObject([{ value: 2, ok: false, rounds: 3 }]);
  });

  test('a value on the target is within it', () => {
    expect(cells([timedShape], [sample({ ms: 15 }, { ms: 10 })])).toMatchObject([{ value: 1.5, ok: true }]);
  });

  test('gives no ratio where the bare loop has no time', () => {
    expect(cells([timedShape], [sample({ ms: 15 }, undefined)])).toEqual([]);
  });

  test('fits the exponent of what was measured', () => {
    const points = [10, 20, 40].map((n) => ({ n, bytes: n * n }));
    const [cell] = cells([fittedShape], [{ ...sample({ points }, undefined), shape: 'growth' }]);
    expect(cell?.value).toBeCloseTo(2, 10);
    expect(cell?.ok).toBe(false);
  });
});

describe('grid', () => {
  test('has a column for each contestant and a dash where it has no value', () => {
    const all = cells([timedShape], [sample({ ms: 12 }, { ms: 10 })]);
    expect(grid([timedShape], all, ['bare', 'sluice'])).toEqual([
      ['shape', 'measure', 'target', 'bare', 'sluice'],
      ['a chain', 'time, as a multiple of bare', 'at most 1.50', '-', '1.20 ok'],
    ]);
  });

  test('another checkout is compared round by round, because the bare loop may vary more than both', () => {
    const bares = [{ ms: 1 }, { ms: 5 }, { ms: 2 }];
    const now = [30, 20, 40].map((ms, round) => sample({ ms }, bares[round]));
    const before = [20, 20, 20].map((ms, round) => ({ ...sample({ ms }, bares[round]), contestant: 'before' }));
    const all = cells(
      [timedShape],
      [...now, ...before.slice(0, 2), { ...sample({ ms: 1 }, { ms: 1 }), contestant: 'before' }],
    );
    expect(grid([timedShape], all, ['sluice', 'before']).map((row) => row.at(-1))).toEqual(['now / before', '1.25']);
  });
});

function sample(measurement: Measurement, bare: Measurement | undefined): Sample {
  return { shape: 'chain', contestant: 'sluice', measurement, bare };
}
