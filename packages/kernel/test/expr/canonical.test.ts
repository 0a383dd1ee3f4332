/** The canonical text of JSON, compared with another implementation of RFC 8785. */
import canonicalize from 'canonicalize';
import fc from 'fast-check';
import { expect, test } from 'vitest';
import { canonical } from '../../src/expr/canonical.ts';

test('any JSON value has the text that another implementation gives', () => {
  fc.assert(fc.property(fc.jsonValue(), (value) => canonical(value) === canonicalize(value)));
  expect(canonical({ b: [1, 'x'], a: null })).toBe('{"a":null,"b":[1,"x"]}');
});

test.each([
  ['keys in the order of their UTF-16 units', { '\u20ac': 1, '\r': 2, '\ud83d\ude00': 3, 1: 4, a: 5 }],
  ['escapes', { text: '"\\\u0000\u001f\u007f\u2028é€😀' }],
  ['an absent field', { a: undefined, b: [undefined] }],
  ['numbers', [-0, 1e21, 1e-7, 0.1, 333333333.3333333]],
])('%s', (_, value) => {
  expect(canonical(value)).toBe(canonicalize(value));
});

test.each([[Number.NaN], [Infinity], ['\ud800'], [{ '\udc00': 1 }]])('%j has no canonical form', (value) => {
  expect(() => canonical([value])).toThrow('no canonical form');
});
