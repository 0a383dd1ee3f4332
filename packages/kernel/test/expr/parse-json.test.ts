/** Keys with escapes, which V8 reads wrongly after it has read certain others. */
import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import type { Json } from '../../src/expr/json.ts';
import { checkedJson, jsonOr, parseJson } from '../../src/expr/parse-json.ts';
import { oneObject, reply } from '../../src/expr/reply.ts';

/** After this, `JSON.parse` reads keys such as `\n` and `"` as a backslash, if they follow `h`. */
function mislead(): void {
  JSON.parse('{"h":[],"\\\\":0}');
  JSON.parse('{"h":[],"\\\\n":0}');
}

describe('parseJson', () => {
  test.each([
    ['a line break', '{"h":1,"\\n":2}', { h: 1, '\n': 2 }],
    ['a quotation mark', '{"h":1,"\\"":2}', { h: 1, '"': 2 }],
    ['a code', '{"h":1,"\\u000a":2}', { h: 1, '\n': 2 }],
    ['a backslash at the end', '{"h":1,"a\\\\":2}', { h: 1, 'a\\': 2 }],
    ['an escape and a letter', '{"h":1,"\\na":2}', { h: 1, '\na': 2 }],
    ['spaces before the colon', '{"h" : 1, "\\n" : 2}', { h: 1, '\n': 2 }],
    [
      'in a list of objects',
      '[{"h":1,"\\n":2},{"h":1,"\\t":{"h":0,"\\r":0}}]',
      [
        { h: 1, '\n': 2 },
        { h: 1, '\t': { h: 0, '\r': 0 } },
      ],
    ],
    ['beside text that looks like a key', '{"h":"\\":","\\n":":","x":"\\\\"}', { h: '":', '\n': ':', x: '\\' }],
    ['the same key twice', '{"\\n":1,"\\u000a":2}', { '\n': 2 }],
    ['the same key with and without an escape', '{"a":1,"\\u0061":2,"a":3}', { a: 3 }],
    ['keys that look like the names in their place', '{"k1":1,"\\n":2,"k0":3}', { k1: 1, '\n': 2, k0: 3 }],
  ])('%s', (_, text, expected) => {
    mislead();
    expect(parseJson(text)).toEqual(expected);
  });

  test('`__proto__` is a key like any other, also beside escaped keys', () => {
    mislead();
    for (const text of ['{"__proto__":{"a":1},"\\n":2}', '{"__proto__":1,"b":[{"__proto__":null}]}']) {
      const value = parseJson(text) as { [key: string]: Json };
      expect(Object.getPrototypeOf(value)).toBe(Object.prototype);
      expect(JSON.stringify(value)).toBe(text);
    }
  });

  test('gives back every value, whatever its keys are', () => {
    const key = fc.oneof(fc.constantFrom('\\', '"', '\n', '\\n', 'h', '__proto__', '\uE0000', ':', '":'), fc.string());
    const { value: values } = fc.letrec<{ value: Json }>((tie) => ({
      value: fc.oneof(
        { maxDepth: 3 },
        fc.constantFrom<Json[]>(0, 'x', '\\', '":', null),
        fc.array(tie('value'), { maxLength: 3 }),
        fc.array(fc.tuple(key, tie('value')), { maxLength: 4 }).map((entries) => Object.fromEntries(entries)),
      ),
    }));
    fc.assert(
      fc.property(values, fc.constantFrom(0, 2), (value, indent) => {
        const text = JSON.stringify(value, null, indent);
        expect(JSON.stringify(parseJson(text), null, indent)).toBe(text);
      }),
      { numRuns: 2000 },
    );
  });

  test('a text with millions of escapes beside such a key', () => {
    const long = 'a\n"'.repeat(2_500_000);
    expect((parseJson(JSON.stringify({ '\n': 1, long })) as { long: string }).long === long).toBe(true);
  });

  test('a mistake is reported as by `JSON.parse`', () => {
    expect(() => parseJson('{"\\n":}')).toThrow(SyntaxError);
  });
});

test.each(['{"a":1e400}', '[-1E+309]', `{"a":{"b":[1${'0'.repeat(309)}]}}`])(
  'a number that is too large for JavaScript is not JSON: %s',
  (text) => {
    expect(() => checkedJson(text)).toThrow('a number is too large');
    expect(jsonOr(text, 'text')).toBe('text');
    expect([reply(text), oneObject(text)]).toEqual([text, text]);
  },
);

test.each(['{"a":1e308}', '"1e400"', `"${'9'.repeat(400)}"`, '{"1e999":1}', '[1e-400]'])('%s is JSON', (text) => {
  expect(checkedJson(text)).toEqual(JSON.parse(text));
});
