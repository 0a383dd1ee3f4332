/**
 * Functions: what each does with values, and what each does with null.
 */
import { describe, expect, test } from 'vitest';
import { EvalError } from '../../src/expr/error.ts';
import { compileExpr } from '../../src/expr/evaluate.ts';
import { patternProblem } from '../../src/expr/text-search.ts';
import type { Json } from '../../src/expr/json.ts';

const SCOPE = {
  s: 'Héllo 🐱 World',
  n: 3.5,
  i: 42,
  o: { a: [1, 'x', null] },
  l: ['a', 1, { b: 2 }],
  j: '{"k": [1, 2]}',
  yes: true,
};
const run = (source: string): Json => compileExpr(source)(SCOPE);

function rows(list: readonly (readonly [source: string, expected: Json])[]): void {
  test.each(list)('%s', (source, expected) => {
    expect(run(source)).toEqual(expected);
  });
}

describe('text', () => {
  rows([
    ['text("a")', 'a'],
    ['text(missing)', ''],
    ['text(n)', '3.5'],
    ['text(i)', '42'],
    ['text(7)', '7'],
    ['text(1.0)', '1'],
    ['text(yes)', 'true'],
    ['text(o)', '{"a":[1,"x",null]}'],
    ['text([1, 2u, "b"])', '[1,2,"b"]'],
    ['text({"a": 1})', '{"a":1}'],
    ['text("x = ", n, ", y = ", missing, ".")', 'x = 3.5, y = .'],
    ['s.text()', SCOPE.s],
  ]);
});

describe('json', () => {
  rows([
    ['json(j).k[1]', 2],
    ['json(j).missing', null],
    ['json("not json")', null],
    ['json("")', null],
    ['json(missing)', null],
    ['json(o).a[1]', 'x'],
    ['json("3") + 1', 4],
    ['json("{\\"__proto__\\": {\\"polluted\\": true}}").polluted', null],
    ['j.json().k', [1, 2]],
  ]);
});

describe('strings', () => {
  rows([
    ['lower(s)', 'héllo 🐱 world'],
    ['s.lower()', 'héllo 🐱 world'],
    ['"ÀB".lowerAscii()', 'Àb'],
    ['"àb".upperAscii()', 'àB'],
    ['containsIgnoreCase(s, "WORLD")', true],
    ['s.containsIgnoreCase("wörld")', false],
    ['s.contains("🐱")', true],
    ['s.startsWith("Hé")', true],
    ['s.endsWith("ld")', true],
    ['trim("  a b \\n")', 'a b'],
    ['" x ".trim()', 'x'],
    ['lines("a\\nb\\r\\nc")', ['a', 'b', 'c']],
    ['lines("")', ['']],
    ['join(["a", "b"], ", ")', 'a, b'],
    ['["a", "b"].join()', 'ab'],
    ['join(l, "|")', 'a|1|{"b":2}'],
    ['"a,b,c".split(",")', ['a', 'b', 'c']],
    ['"a,b,c".split(",", 2)', ['a', 'b,c']],
    ['"aXbX".replace("X", "--")', 'a--b--'],
    ['"aaa".replace("a", "b", 2)', 'bba'],
    ['s.size()', 13],
    ['s.substring(6, 7)', '🐱'],
    ['s.charAt(6)', '🐱'],
    ['s.indexOf("World")', 8],
    ['"abcabc".lastIndexOf("c")', 5],
    ['"abc".reverse()', 'cba'],
    ['string(i) + "!"', '42!'],
    ['int("12") + 1', 13],
    ['double("1.5")', 1.5],
    ['bool("true")', true],
    ['timestamp("2026-02-28T12:00:00Z").getDayOfWeek()', 6],
    ['timestamp("2024-12-31T23:30:00Z").getDayOfYear("+01:00")', 0],
    ['timestamp("2024-12-31T23:30:00Z").getDayOfYear()', 365],
    ['duration("90s") > duration("1m")', true],
  ]);
});

describe('null in', () => {
  rows([
    ['size(missing)', 0],
    ['missing.size()', 0],
    ['missing.contains("a")', false],
    ['s.contains(missing)', false],
    ['missing.startsWith("a")', false],
    ['missing.endsWith("a")', false],
    ['containsIgnoreCase(missing, "a")', false],
    ['re(missing, "a")', false],
    ['lower(missing)', null],
    ['trim(missing)', null],
    ['lines(missing)', null],
    ['join(missing, ",")', null],
    ['missing.split(",")', null],
    ['missing.replace("a", "b")', null],
    ['missing.substring(1)', null],
    ['int(missing)', null],
    ['double(missing) > 1', false],
    ['string(missing)', null],
    ['timestamp(missing)', null],
    ['missing.getHours()', null],
    ['type(missing) == null_type', true],
  ]);
});

describe('re searches anywhere in the text', () => {
  rows([
    ['re(s, "w[a-z]+d")', false],
    ['re(s, "(?i)w[a-z]+d")', true],
    ['s.re("World$")', true],
    ['re("TransientError: 503", "^Transient|Timeout")', true],
    ['re("", "")', true],
    [String.raw`re("a.b", "\\.")`, true],
    [String.raw`re("a1", r"\d")`, true],
  ]);
});

describe('patterns', () => {
  test.each([
    ['re(s, "(")', 'missing closing'],
    ['re(s, "(?=a)")', 'cannot be used'],
    [String.raw`re(s, r"(a)\1")`, 'cannot be used'],
    ['re(s, s)', 'string literal'],
    ['re(s, "a" + "b")', 'string literal'],
    ['re(s)', 'takes a text and a pattern'],
  ])('%s does not compile', (source, message) => {
    expect(() => compileExpr(source)).toThrow(EvalError);
    expect(() => compileExpr(source)).toThrow(message);
  });

  test('a pattern can be checked alone', () => {
    expect(patternProblem('^a+$')).toBeNull();
    expect(patternProblem('(')).toContain('cannot be used');
  });
});

test('wrong types are failures that name the function', () => {
  expect(() => run('i.contains("a")')).toThrow('`contains` needs a string, not double');
  expect(() => run('size(i)')).toThrow('`size` needs a string, list or map, not double');
  expect(() => run('re(o, "a")')).toThrow('`re` needs a string, not map');
  expect(() => run('"abc".substring(9)')).toThrow('out of range');
  expect(() => run('timestamp("2026-01-01T00:00:00Z").getHours("Europe/Vienna")')).toThrow('not UTC or an offset');
});

test('matches is what CEL calls re', () => {
  expect(compileExpr('s.matches("b+c$") && matches(s, "^a")')({ s: 'abbc' })).toBe(true);
  expect(compileExpr('missing.matches("a")')({})).toBe(false);
});
