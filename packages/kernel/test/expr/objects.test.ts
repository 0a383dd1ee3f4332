/** The JSON objects in a text. */
import { expect, test } from 'vitest';
import { objectsIn } from '../../src/expr/objects.ts';

test.each<[string, string, readonly string[]]>([
  ['the whole text', ' {"a": 1} ', ['{"a": 1}']],
  ['a fence', 'So:\n```json\n{"a": 1}\n```\nDone.', ['{"a": 1}']],
  ['prose', 'I say {"a": {"b": 2}}.', ['{"a": {"b": 2}}']],
  ['braces in strings', 'x {"a": "}{", "b": "\\"}"} y', ['{"a": "}{", "b": "\\"}"}']],
  ['the same object twice', '{"a": 1, "b": 2} or {"b":2,"a":1}', ['{"b":2,"a":1}']],
  ['different objects', '{"a": 1} {"a": 2}', ['{"a": 1}', '{"a": 2}']],
  ['braces of prose', 'set {x} and {"a": 1} and {', ['{"a": 1}']],
  ['an object inside other braces', '{ note: {"a": 1} }', ['{"a": 1}']],
  ['a quote that does not close', '{say "hi} and {"a": 1}', ['{"a": 1}']],
  ['nothing', 'none at all', []],
  ['JSON that is not an object', '[1, 2]', []],
  ['single quotes', "{'a': 1}", []],
])('%s', (_, text, expected) => {
  expect(objectsIn(text)).toEqual(expected);
});

test('a text of a megabyte of open braces takes little time', () => {
  const started = performance.now();
  expect(objectsIn('{'.repeat(1_000_000))).toEqual([]);
  expect(objectsIn('{"a": '.repeat(200_000))).toEqual([]);
  expect(performance.now() - started).toBeLessThan(30_000);
});
