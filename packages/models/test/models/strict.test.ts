/** The schemas that OpenAI's strict mode accepts. */
import { expect, test } from 'vitest';
import type { Json } from '@sluice-internal/kernel/expr';
import { allowsStrict } from '../../src/request.ts';

const closed = (properties: { [name: string]: Json }, more: object = {}): Json => ({
  type: 'object',
  properties,
  required: Object.keys(properties),
  additionalProperties: false,
  ...more,
});

test.each<[string, Json]>([
  [
    'text, numbers and enums',
    closed({ a: { type: 'string', format: 'email' }, b: { type: 'integer', minimum: 1 }, c: { enum: [1, 'x'] } }),
  ],
  ['a field that may be null', closed({ a: { type: ['string', 'null'], description: 'A.' } })],
  [
    'nested objects and lists',
    closed({ a: { type: 'array', items: closed({ b: { type: 'boolean' } }), maxItems: 3 } }),
  ],
  ['alternatives', closed({ a: { anyOf: [{ type: 'string' }, closed({})] } })],
  ['definitions', closed({ a: { $ref: '#/$defs/b' } }, { $defs: { b: closed({ c: { const: 1 } }) } })],
])('accepted: %s', (_, schema) => {
  expect(allowsStrict(schema)).toBe(true);
});

test.each<[string, Json]>([
  ['no object', { type: 'string' }],
  ['no schema', true],
  ['alternatives at the root', { anyOf: [closed({})] }],
  ['an optional field', closed({ a: { type: 'string' } }, { required: [] })],
  ['further fields', closed({ a: { type: 'string' } }, { additionalProperties: true })],
  ['an open object inside', closed({ a: { type: 'object', properties: {} } })],
  ['an open object in a list', closed({ a: { type: 'array', items: { type: 'object' } } })],
  ['a keyword outside the subset', closed({ a: { type: 'string', minLength: 2 } })],
  ['a default', closed({ a: { type: 'string', default: 'x' } })],
  ['allOf', closed({ a: { allOf: [{ type: 'string' }] } })],
  ['another format', closed({ a: { type: 'string', format: 'uri' } })],
  ['a reference to another document', closed({ a: { $ref: 'https://example.org/a' } })],
  [
    'more than ten levels',
    Array.from({ length: 11 }).reduce<Json>((inner) => closed({ a: inner }), { type: 'string' }),
  ],
  [
    '5,001 properties',
    closed(Object.fromEntries(Array.from({ length: 5001 }, (_, n) => [`p${n}`, { type: 'string' }]))),
  ],
])('not accepted: %s', (_, schema) => {
  expect(allowsStrict(schema)).toBe(false);
});
