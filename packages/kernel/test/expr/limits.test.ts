/**
 * No expression, however hostile it or its data, takes unbounded time or memory; exceeding a bound is a failure of kind
 * `limit`. Completion is the assertion: an exponential case would never finish.
 */
import { describe, expect, test } from 'vitest';
import { EvalError } from '../../src/expr/error.ts';
import { compileExpr } from '../../src/expr/evaluate.ts';
import { LIMITS } from '../../src/expr/error.ts';
import type { Json } from '../../src/expr/json.ts';

const numbers = (n: number): number[] => Array.from({ length: n }, (_, i) => i);

describe('at compile time', () => {
  test.each([
    ['a long source', `"${'x'.repeat(LIMITS.sourceMax)}"`],
    ['many nodes', `[${'[1,1,1,1,1,1,1,1,1,1],'.repeat(LIMITS.nodesMax / 10)}]`],
    ['deep parentheses', `${'('.repeat(5_000)}1${')'.repeat(5_000)}`],
    ['deep lists', `${'['.repeat(1_000)}${']'.repeat(1_000)}`],
    ['a deep chain', `a${'.b'.repeat(5_000)}`],
    ['a long sum', `1${'+1'.repeat(5_000)}`],
    ['many negations', `${'!'.repeat(100_000)}true`],
    ['three macros deep', '[1].map(a, [1].map(b, [1].map(c, 1)))'],
    ['a long pattern', `re("a", "${'a'.repeat(LIMITS.patternMax + 1)}")`],
  ])('%s', (_, source) => {
    expect(kindOf(() => compileExpr(source))).toBe('limit');
  });

  test('what is large but reasonable compiles', () => {
    expect(compileExpr('[1].map(a, [2].map(b, a + b))')({})).toEqual([[3]]);
    expect(compileExpr(Array.from({ length: 150 }, (_, i) => `x == ${i}`).join(' || '))({ x: 149 })).toBe(true);
    expect(compileExpr(`"${'x'.repeat(200_000)}"`)({})).toHaveLength(200_000);
  });
});

describe('at run time', () => {
  const cases: readonly (readonly [title: string, source: string, scope: { [name: string]: Json }])[] = [
    ['a long list in a macro', 'l.map(x, x)', { l: numbers(LIMITS.macroListMax + 1) }],
    ['nested macros over long lists', 'l.all(x, l.all(y, x >= 0 && y >= 0))', { l: numbers(LIMITS.macroListMax) }],
    ['doubling by bind', doubling(60), {}],
    ['doubling lists by bind', doubling(60).replace('"0123456789"', '[1, 2, 3]'), {}],
    ['growth by replace', 's.replace("", s).replace("", s)', { s: 'x'.repeat(20_000) }],
    ['growth by join', 'l.join(s)', { l: numbers(10_000), s: 'x'.repeat(100_000) }],
    ['growth by a template in a macro', 'l.map(x, text(s, s, s, s))', { l: numbers(10_000), s: 'x'.repeat(100_000) }],
    [
      'equality in a macro',
      'l.exists(x, big == other)',
      { l: numbers(10_000), big: numbers(10_000), other: [...numbers(9_999), -1] },
    ],
    ['membership in a macro', 'l.exists(x, -1 in big)', { l: numbers(10_000), big: numbers(10_000) }],
    ['a search in a macro', 'l.exists(x, re(s, "(a|aa)+$"))', { l: numbers(10_000), s: 'a'.repeat(10_000) + 'b' }],
    ['a quadratic search', 's.indexOf(t) >= 0', { s: 'a'.repeat(100_000), t: `${'a'.repeat(50_000)}b` }],
    ['deeply nested data', 'a == b', { a: nested(100_000), b: nested(100_000) }],
  ];
  test.each(cases)('%s', (_, source, scope) => {
    const program = compileExpr(source);
    expect(kindOf(() => program(scope))).toBe('limit');
  });

  test('a limit is not forgiven by || or by exists', () => {
    const scope = { l: numbers(LIMITS.macroListMax + 1) };
    expect(kindOf(() => compileExpr('l.all(x, true) || true')(scope))).toBe('limit');
    expect(kindOf(() => compileExpr('[1].exists(y, l.all(x, true))')(scope))).toBe('limit');
  });

  test('a large but reasonable evaluation passes', () => {
    expect(compileExpr('l.filter(x, x % 2 == 0).size()')({ l: numbers(LIMITS.macroListMax) })).toBe(5_000);
    expect(compileExpr('l.all(x, m.exists(y, y == x))')({ l: numbers(300), m: numbers(300) })).toBe(true);
    expect(compileExpr('text("<", s, ">")')({ s: 'x'.repeat(5_000_000) })).toHaveLength(5_000_002);
  });
});

describe('patterns that ruin a backtracking engine finish on 100,000 characters', () => {
  const text = `${'a'.repeat(100_000)}!`;
  test.each(['(a+)+$', '(a|aa)+$', '(a*)*b', '([a-z]+)*\\\\d', '^(a?){50}a{50}$', '(.*)(.*)(.*)(.*)(.*)x'])(
    '%s',
    (pattern) => {
      expect(compileExpr(`re(s, "${pattern}")`)({ s: text })).toBe(false);
    },
  );
});

test.each([
  ['contains', 's.contains(t)', false],
  ['containsIgnoreCase', 's.containsIgnoreCase(t)', false],
  ['split', 's.split(t).size()', 1],
  ['replace', 's.replace(t, "x") == s', true],
])('a search text made to be slow finishes: %s', (_, source, expected) => {
  const half = 'a'.repeat(250_000);
  expect(compileExpr(source)({ s: 'a'.repeat(1_000_000), t: `${half}b${half}` })).toBe(expected);
});

test('a long search text is found, as often as it is there', () => {
  const part = `${'ab'.repeat(3_000)}c`;
  const text = `${'ab'.repeat(10)}${part}-${part}${part}`;
  expect(compileExpr('s.contains(t)')({ s: text, t: part })).toBe(true);
  expect(compileExpr('s.split(t)')({ s: text, t: part })).toEqual(text.split(part));
});

describe('data is never code', () => {
  const hostile = [
    '{{x}}',
    '") || true || ("',
    '\\", x, "',
    '${x}',
    '__proto__',
    'constructor',
    '\u0000',
    '}}{{',
    "'; drop",
  ];
  test.each(hostile)('%j is only text', (value) => {
    expect(compileExpr('s == "never"')({ s: value })).toBe(false);
    expect(compileExpr('text("<", s, ">")')({ s: value })).toBe(`<${value}>`);
    expect(compileExpr('{"a": {"b": 1}}[s]')({ s: value })).toBeNull();
    expect(compileExpr('m[s]')({ s: value, m: {} })).toBeNull();
  });

  test('a key called __proto__ is a key', () => {
    const made = compileExpr('{"__proto__": {"polluted": true}, "a": 1}')({}) as { [key: string]: Json };
    expect(Object.keys(made)).toEqual(['__proto__', 'a']);
    expect(Object.getPrototypeOf(made)).toBe(Object.prototype);
    expect(({} as { polluted?: boolean }).polluted).toBeUndefined();
  });
});

function kindOf(act: () => unknown): string {
  try {
    act();
  } catch (cause) {
    if (cause instanceof EvalError) return cause.kind;
    throw cause;
  }
  return 'none';
}

function doubling(times: number): string {
  const start = 'cel.bind(v, "0123456789", ';
  return `${start}${'cel.bind(v, v + v, '.repeat(times)}v${')'.repeat(times)}).size()`;
}

function nested(depth: number): Json {
  let value: Json = 1;
  for (let i = 0; i < depth; i++) value = [value];
  return value;
}
