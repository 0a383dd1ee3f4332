import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { isEmpty, overlap, regionOf, within } from '../../src/expressions/region.ts';
import type { Region } from '../../src/expressions/region.ts';
import { compileExpr } from '@sluice-internal/kernel/expr';

const seed = Number(process.env['SEED'] ?? Math.floor(Math.random() * 2 ** 31));
const SAMPLES = [null, true, false, 'a', 'b', 'c', '', -1, 0, 0.5, 1, 1.5, 2, 2.5, 3, 4];

const atom = fc.oneof(
  fc.tuple(fc.constantFrom('<', '<=', '>', '>='), fc.integer({ min: 0, max: 3 })).map(([op, n]) => `x ${op} ${n}`),
  fc.tuple(fc.constantFrom('<', '<=', '>', '>='), fc.integer({ min: 0, max: 3 })).map(([op, n]) => `${n} ${op} x`),
  fc.tuple(fc.constantFrom('==', '!='), fc.constantFrom('"a"', '"b"', '1', 'true')).map(([op, v]) => `x ${op} ${v}`),
  fc.subarray(['"a"', '"b"', '2'], { minLength: 1 }).map((values) => `x in [${values.join(', ')}]`),
);
const guard = fc.oneof(
  atom,
  fc.tuple(atom, fc.constantFrom('&&', '||'), atom).map(([a, op, b]) => `(${a}) ${op} (${b})`),
);

describe('regions of guards', () => {
  test(`claim nothing that an evaluation contradicts (seed ${seed})`, () => {
    let claims = 0;
    fc.assert(
      fc.property(guard, guard, (first, second) => {
        const [a, b] = [regionOf(first), regionOf(second)];
        const holds = (source: string) => SAMPLES.filter((x) => compileExpr(source)({ x }) === true);
        fc.pre(a !== null && b !== null);
        claims += 1;
        const both = holds(first).filter((x) => holds(second).includes(x));
        expect(isEmpty(a) ? holds(first) : []).toEqual([]);
        expect(overlap(a, b) ? [] : both).toEqual([]);
        expect(within(a, b) ? holds(first) : both).toEqual(both);
      }),
      { seed, numRuns: 3000 },
    );
    expect(claims).toBeGreaterThan(500);
  });

  test('see the usual cases', () => {
    const of = (source: string): Region => regionOf(source) as Region;
    expect(isEmpty(of('x > 5 && x < 3'))).toBe(true);
    expect(isEmpty(of("x == 'a' && x == 'b'"))).toBe(true);
    expect(overlap(of('x > 5'), of('x < 8'))).toBe(true);
    expect(overlap(of('x > 5'), of('y < 8'))).toBe(false);
    expect(within(of('x > 100'), of('x > 10'))).toBe(true);
    expect(within(of('x > 10'), of('x > 100'))).toBe(false);
    expect(regionOf('x.contains("a")')).toBeNull();
    expect(regionOf("x == '5' && x > 3")).toBeNull();
    expect(regionOf("x in ['5'] && x > 3")).toBeNull();
  });
});
