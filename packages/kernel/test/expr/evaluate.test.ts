/**
 * The table of the evaluator's header, row by row, over plain JSON.
 */
import { describe, expect, test } from 'vitest';
import { EvalError } from '../../src/expr/error.ts';
import { compileExpr, pathOf } from '../../src/expr/evaluate.ts';
import type { Json } from '../../src/expr/json.ts';

const SCOPE = {
  event: { payload: { amount: 250, count: 7, text: 'Please refund' } },
  triage: {
    output: { category: 'refund', score: 0.9, items: [{ p: 1 }, { p: 2 }], tags: ['a', 'b'], none: null, 'a-b': 5 },
  },
  plain: 'just text',
  empty: {},
  '0': 'zero',
};

const run = (source: string): Json => compileExpr(source)(SCOPE);

function rows(list: readonly (readonly [source: string, expected: Json])[]): void {
  test.each(list)('%s', (source, expected) => {
    expect(run(source)).toEqual(expected);
  });
}

describe('JSON numbers mix with int literals', () => {
  rows([
    ['event.payload.amount > 100', true],
    ['100 >= event.payload.amount', false],
    ['event.payload.amount == 250', true],
    ['event.payload.amount == 250.0', true],
    ['event.payload.amount in [1, 250]', true],
    ['event.payload.count + 1', 8],
    ['1 + event.payload.count', 8],
    ['event.payload.count - 1.5', 5.5],
    ['event.payload.count / 2', 3.5],
    ['event.payload.count % 2 == 1', true],
    ['7 / 2', 3],
    ['-event.payload.count', -7],
    ['event.payload.count * 2 == 14', true],
    ['size(triage.output.items) == 2', true],
    ['size(triage.output.items) * event.payload.count', 14],
    ['triage.output.tags[event.payload.count - 6]', 'b'],
  ]);
});

describe('access never fails', () => {
  rows([
    ['missing', null],
    ['missing.field.deeper', null],
    ['triage.output.missing.deeper', null],
    ['triage.output.category.deeper', null],
    ['triage.output.items[9]', null],
    ['triage.output.items[9].p', null],
    ['triage.output.items[-1]', null],
    ['triage.output.items[0].p', 1],
    ['triage.output.items["p"]', null],
    ['triage.output.items.length', null],
    ['triage.output.items.p', null],
    ['triage.output["a-b"]', 5],
    ['triage.output[missing]', null],
    ['plain.length', null],
    ['plain[0]', null],
    ['null.a', null],
    ['empty.constructor', null],
    ['empty.toString', null],
    ['empty["__proto__"]', null],
    ['constructor', null],
    ['hasOwnProperty', null],
    ['{"a": 1}.b', null],
    ['[1, 2][5]', null],
  ]);
});

describe('comparing with null', () => {
  rows([
    ['missing == null', true],
    ['missing != null', false],
    ['triage.output.none == null', true],
    ['null == triage.output.category', false],
    ['missing == "x"', false],
    ['missing != "x"', true],
    ['missing < 1', false],
    ['missing >= 0', false],
    ['1 <= missing', false],
    ['null < null', false],
    ['null <= null', false],
    ['"a" < 1', false],
    ['1 > "a"', false],
    ['[1] < [2]', false],
    ['missing in ["a"]', false],
    ['"a" in missing', false],
    ['null in [null]', true],
    ['"category" in triage.output', true],
    ['"nope" in triage.output', false],
    ['"toString" in empty', false],
  ]);
});

describe('null counts as false', () => {
  rows([
    ['missing && true', false],
    ['true && missing', false],
    ['missing || true', true],
    ['missing || false', false],
    ['false || missing', false],
    ['!missing', true],
    ['!missing && triage.output.category == "refund"', true],
    ['missing ? 1 : 2', 2],
    ['[true, null].filter(x, x)', [true]],
  ]);
});

describe('has', () => {
  rows([
    ['has(triage.output.category)', true],
    ['has(triage.output.none)', true],
    ['has(triage.output.missing)', false],
    ['has(missing.a)', false],
    ['has(missing.a.b)', false],
    ['has(plain.length)', false],
    ['has({"a": 1}.a)', true],
  ]);
});

describe('macros', () => {
  rows([
    ['triage.output.items.map(i, i.p)', [1, 2]],
    ['triage.output.items.filter(i, i.p > 1)', [{ p: 2 }]],
    ['triage.output.items.map(i, i.p > 1, i.p * 10)', [20]],
    ['triage.output.items.exists(i, i.p == 2)', true],
    ['triage.output.items.exists_one(i, i.p > 0)', false],
    ['triage.output.items.all(i, i.p > 0)', true],
    ['triage.output.items.all(i, i.q > 0)', false],
    ['triage.output.tags.exists(t, triage.output.items.exists(i, i.p == 2 && t == "b"))', true],
    ['{"b": 1, "a": 2}.map(k, k)', ['b', 'a']],
    ['missing.all(x, false)', true],
    ['missing.exists(x, true)', false],
    ['missing.map(x, x)', []],
    ['missing.filter(x, true)', []],
    ['missing.exists_one(x, true)', false],
    // The inner variable hides the outer one, and the outer one is back afterwards.
    ['[1, 2].map(x, [10].map(x, x + 1)[0] + x)', [12, 13]],
    ['[1].map(event, event)', [1]],
    ['cel.bind(n, event.payload.count, n + n)', 14],
  ]);
});

test('a name that is compared with `type(…)` is a type, also if there is data of that name', () => {
  const scope = { list: [1], map: { a: 1 }, string: 'x' };
  const sources = ['type(list) == list', 'list == type(list)', 'type(map) != list', 'type(string) == string'];
  for (const source of sources) expect([source, compileExpr(source)(scope)]).toEqual([source, true]);
  expect(compileExpr('[1].exists(map, type(map) == map)')(scope)).toBe(false);
});

describe('results are plain JSON', () => {
  rows([
    ['1', 1],
    ['2u', 2],
    ['[1, 2.5, "a", null, true]', [1, 2.5, 'a', null, true]],
    ['{"a": 1, "b": [event.payload.amount, 2], "c": {"d": 3}}', { a: 1, b: [250, 2], c: { d: 3 } }],
    ['{1: "one", true: "yes"}', { 1: 'one', true: 'yes' }],
    ['timestamp("2026-11-15T10:00:00.5Z")', '2026-11-15T10:00:00.5Z'],
    ['timestamp("2026-11-15T00:30:00+01:00") + duration("1h30m")', '2026-11-15T01:00:00Z'],
    ['duration("90m")', '5400s'],
    ['b"hello"', 'aGVsbG8='],
    ['type(1)', 'int'],
    ['type(event.payload.amount) == double', true],
    ['missing ? 1 : {"x": 2}', { x: 2 }],
  ]);
});

describe('failures', () => {
  test.each([
    ['missing + 1', 'type'],
    ['"a" + 1', 'type'],
    ['1 / 0', 'other'],
    ['"text" && true', 'type'],
    ['!1', 'type'],
    ['1 ? 2 : 3', 'type'],
    ['1 in "text"', 'type'],
    ['plain.all(x, true)', 'type'],
    ['event.payload.count % 0.5 == 0', 'type'],
    ['9007199254740992 + 1', 'other'],
    ['[9007199254740993]', 'other'],
    ['9223372036854775807 + 1', 'other'],
    ['1.0 / 0.0', 'other'],
    ['{"a": 1, "a": 2}', 'other'],
    ['timestamp("tomorrow")', 'other'],
    ['int("x")', 'other'],
  ] as const)('%s is a failure of kind %s', (source, kind) => {
    expect(failure(() => run(source)).kind).toBe(kind);
  });

  test('the failure of one operand is forgotten when the other decides', () => {
    expect(run('1 / 0 > 1 || true')).toBe(true);
    expect(run('false && 1 / 0 > 1')).toBe(false);
    expect(run('[0, 1].exists(x, 1 / x > 0)')).toBe(true);
    expect(failure(() => run('1 / 0 > 1 && true')).message).toBe('division by zero');
  });

  test.each([
    ['', 'other'],
    ['a +', 'other'],
    ['a b', 'other'],
    ['nope(1)', 'missing-function'],
    ['a.nope()', 'missing-function'],
    ['a.matches(b)', 'other'],
    ['matches(a)', 'missing-function'],
    ['size()', 'type'],
    ['99999999999999999999', 'other'],
    ['has(a)', 'missing-function'],
  ] as const)('%j does not compile: %s', (source, kind) => {
    expect(failure(() => compileExpr(source)).kind).toBe(kind);
  });
});

test('a value that only passes through is not copied', () => {
  expect(run('triage.output')).toBe(SCOPE.triage.output);
  expect((run('{"x": triage.output}') as { x: Json }).x).toBe(SCOPE.triage.output);
  expect(run('missing ? 1 : triage.output')).toBe(SCOPE.triage.output);
});

test('paths are recognised', () => {
  expect(pathOf('a')).toEqual(['a']);
  expect(pathOf(' a.b.c ')).toEqual(['a', 'b', 'c']);
  expect(pathOf('a["b-c"].d')).toEqual(['a', 'b-c', 'd']);
  for (const other of ['a[0]', 'a.b()', '"a"', 'a + b', '1', 'a.b == c', 'a[b]', 'int', '', 'a.', '{'])
    expect(pathOf(other)).toBeNull();
});

function failure(act: () => unknown): EvalError {
  try {
    act();
  } catch (cause) {
    if (cause instanceof EvalError) return cause;
    throw cause;
  }
  throw new Error('nothing failed');
}
