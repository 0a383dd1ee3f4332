/**
 * Random well-typed expressions mean the same here as in a second implementation of CEL. A failure prints its seed; set
 * SEED to run it again.
 */
import { isCelError, isCelList, isCelMap, run } from '@bufbuild/cel';
import { strings } from '@bufbuild/cel/ext';
import fc from 'fast-check';
import { expect, test } from 'vitest';
import { EvalError } from '@sluice-internal/kernel/expr';
import { compileValue } from '../../../kernel/src/expr/evaluate.ts';
import { isMap, mapGet, mapKeys } from '../../../kernel/src/expr/map.ts';
import type { Value } from '../../../kernel/src/expr/value.ts';
import { quote } from '@sluice-internal/kernel/expr';
import { expressions } from './generate.ts';
import { ANY_CHARACTER } from '../../../../test/support/any-character.ts';

const seed = Number(process.env['SEED'] ?? Math.floor(Math.random() * 2 ** 31));
const ENV = { scope: {}, locals: [], fuel: Infinity };
const BINDINGS = {
  i: 7n,
  j: -3n,
  d: 2.5,
  s: 'héllo 🐱',
  t: 'lo',
  b: true,
  li: [3n, 1n, 2n],
  ls: ['a', '', 'b🐱'],
  m: { a: 1n, 'b-c': 2n },
};

test(`random expressions agree with the oracle, seed ${seed}`, () => {
  console.log(`differential seed ${seed}`);
  const seen = { values: 0, errors: 0 };
  fc.assert(
    fc.property(expressions, (source) => {
      const ours = outcome(() => plain(compileValue(source)(BINDINGS)));
      // Our cap on nested macros is no part of CEL.
      fc.pre(ours !== 'limit');
      const theirs = outcome(() => oracle(source));
      seen[ours === 'error' ? 'errors' : 'values']++;
      expect({ source, result: ours }).toEqual({ source, result: theirs });
    }),
    { seed, numRuns: 800 },
  );
  console.log(`${seen.values} values and ${seen.errors} errors compared`);
  // A generator that only made errors would agree trivially.
  expect(seen.values).toBeGreaterThan(seen.errors);
});

test('string literals come back as written', () => {
  fc.assert(
    fc.property(fc.string({ unit: ANY_CHARACTER }), (text) => {
      expect(compileValue(quote(text))({})).toBe(text);
      expect(run(quote(text))).toBe(text);
    }),
    { seed, numRuns: 300 },
  );
});

function outcome(compute: () => unknown): unknown {
  try {
    return { value: compute() };
  } catch (cause) {
    return cause instanceof EvalError && cause.kind === 'limit' ? 'limit' : 'error';
  }
}

function oracle(source: string): unknown {
  const bindings = { ...BINDINGS, m: new Map(Object.entries(BINDINGS.m)) };
  const result = run(source, bindings, { funcs: strings });
  if (isCelError(result)) throw result;
  return plainOracle(result);
}

/** Types stay visible: an int is not a double. Map order is not part of a value. */
function plain(value: Value): unknown {
  if (typeof value === 'bigint') return `int ${value}`;
  if (typeof value === 'number') return `double ${Object.is(value, -0) ? 0 : value}`;
  if (Array.isArray(value)) return value.map(plain);
  if (!isMap(value)) return value;
  return { map: sorted(mapKeys(ENV, value).map((key) => [plain(key), plain(mapGet(value, key) ?? null)])) };
}

function plainOracle(value: unknown): unknown {
  if (isCelList(value)) return [...value].map(plainOracle);
  if (isCelMap(value)) return { map: sorted([...value].map(([key, item]) => [plainOracle(key), plainOracle(item)])) };
  return plain(value as Value);
}

function sorted(entries: unknown[][]): unknown[][] {
  return entries.sort((a, b) => (String(a[0]) < String(b[0]) ? -1 : 1));
}
