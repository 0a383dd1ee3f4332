/** The tolerant reader: a spelling with one meaning is read, any other is refused. */
import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { isEnclosed, mended, withoutReasoning } from '../../src/expr/almost-json.ts';

const FENCE = '```';
const objectIn = (text: string): unknown => {
  const found = mended(text);
  return found === null ? null : JSON.parse(found.object);
};

describe('a spelling with one meaning', () => {
  test.each<readonly [string, unknown, readonly string[]]>([
    ['{"a": "x",}', { a: 'x' }, ['trailing commas']],
    ['{"a": [1, 2,], "b": {"c": 1,},}', { a: [1, 2], b: { c: 1 } }, ['trailing commas']],
    ['{"a": 1, // why\n "b": 2 /* how */ # so\n}', { a: 1, b: 2 }, ['comments']],
    ["{'a': 'x'}", { a: 'x' }, ['single quotation marks']],
    ['{“a”: “x”}', { a: 'x' }, ['other quotation marks']],
    ['{`a`: «x»}', { a: 'x' }, ['other quotation marks']],
    ['{a: "x", $b-c: 1}', { a: 'x', '$b-c': 1 }, ['names without quotation marks']],
    [
      '{"a": True, "b": None, "c": FALSE, "d": undefined}',
      { a: true, b: null, c: false, d: null },
      ['constants of another language'],
    ],
    ['{"a": "x\ny\tz"}', { a: 'x\ny\tz' }, ['line breaks inside a text']],
    ['{"a": {"b": [1, "x"', { a: { b: [1, 'x'] } }, ['missing closing brackets']],
    ['{"a": [1, 2}', { a: [1, 2] }, ['missing closing brackets']],
    ['{"a": .5, "b": +3}', { a: 0.5, b: 3 }, ['numbers of another form']],
    ['{"a": refund}', { a: 'refund' }, ['texts without quotation marks']],
    [String.raw`{\"a\": \"x\"}`, { a: 'x' }, ['escaped quotation marks']],
    [JSON.stringify('{"a": "x"}'), { a: 'x' }, ['escaped quotation marks']],
    ['{\u00A0"a": 1}', { a: 1 }, ['other blanks']],
    [String.raw`{"a": "it\'s"}`, { a: "it's" }, ['other escapes']],
    ['<think>{"a": "y"}</think>{"a": "x"}', { a: 'x' }, ['reasoning before the answer']],
    ['so {"a": 1} or not</think>\n{"a": 2}', { a: 2 }, ['reasoning before the answer']],
    [`Here it is:\n${FENCE}json\n{'a': 1}\n${FENCE}\nDone.`, { a: 1 }, ['single quotation marks']],
  ])('%j', (text, value, how) => {
    expect(objectIn(text)).toEqual(value);
    expect(mended(text)?.how).toEqual(how);
  });
});

test.each([
  '{"a": "ref',
  '{"a": "x" "b": "y"}',
  '{"a": "he said "hi" to me"}',
  "{'a': 'it's'}",
  '{a: 1, a: 2}',
  '{a: x} or {a: y}',
  '{"a": 1,000}',
  '{"a": 007}',
  '{"a": NaN}',
  '{"a": not sure}',
  '{name}',
  'a: x',
  '<think>{"a": 1}',
  '',
])('refused: %j', (text) => {
  expect(mended(text)).toBeNull();
});

test('the text around the object stays', () => {
  expect(mended("First: {'a': 1}. Then rest.")?.text).toBe('First: {"a":1}. Then rest.');
});

test('a strict object beside one that is almost JSON is the answer, as before', () => {
  expect(mended('not {a: 1} but {"a": 2}')).toMatchObject({ object: '{"a": 2}', how: [] });
});

test('an object inside braces that cannot be read is a part, and never the answer', () => {
  const text = `{"category": it's, "details": {"category": "b"}}`;
  expect([mended(text), isEnclosed(text)]).toEqual([null, true]);
  const code = 'function f() { return {"a": 1} }';
  expect([objectIn(code), isEnclosed(code)]).toEqual([{ a: 1 }, false]);
});

test('reasoning is no part of a reply', () => {
  expect(withoutReasoning('a <think>b</think> c')).toBe('a  c');
  expect(withoutReasoning('b</thinking>c')).toBe('c');
  expect(withoutReasoning('a<reasoning>b')).toBe('a');
});

test('strict JSON stays as it is', () => {
  fc.assert(
    fc.property(fc.dictionary(fc.string(), fc.jsonValue({ maxDepth: 3 })), (value) => {
      const text = JSON.stringify(value);
      expect(mended(text)).toEqual({ text, object: text, how: [] });
    }),
  );
});

test('what was mended is strict, and is not mended again', () => {
  const piece = fc.constantFrom(
    '{',
    '}',
    '[',
    ']',
    '"',
    "'",
    ':',
    ',',
    'a',
    '1',
    'True',
    '//',
    '\n',
    '\\',
    '“',
    '<think>',
    ' ',
  );
  fc.assert(
    fc.property(fc.array(piece, { maxLength: 30 }), (pieces) => {
      const found = mended(pieces.join(''));
      if (found === null) return;
      expect(typeof JSON.parse(found.object)).toBe('object');
      expect(mended(found.text)?.object).toBe(found.object);
      expect(mended(found.text)?.how).toEqual([]);
    }),
    { numRuns: 3000 },
  );
});

test.each(['{', '{"', '{«', '{a:', '{/*', "{'a':'", '<think>', '{a:{'])(
  'a text of very many %j is given up after a limited amount of work',
  (piece) => {
    expect(mended(piece.repeat(100_000))).toBeNull();
  },
);
