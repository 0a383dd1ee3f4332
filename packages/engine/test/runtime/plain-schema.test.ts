/** Schemas that are taken as valid without a check are valid, and every other schema is checked. */
import { Ajv2020 } from 'ajv/dist/2020.js';
import addFormats from 'ajv-formats';
import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import type { Json } from '@sluice-internal/kernel/expr';
import { isPlainSchema } from '../../src/ports/pure.ts';
import { pure } from '../../src/ports/pure.ts';

const ajv = new Ajv2020({ strict: false, logger: false });
(addFormats as unknown as (target: Ajv2020) => void)(ajv);

const KEYWORDS = [
  ...['type', 'title', 'description', 'const', 'default', 'enum', 'examples', 'required', 'properties', 'items'],
  ...['additionalProperties', 'not', 'anyOf', 'allOf', 'oneOf', 'minimum', 'exclusiveMaximum', 'minLength', 'maxItems'],
  ...['pattern', 'format', '$ref', 'uniqueItems'],
];

const { schema } = fc.letrec<{ schema: Json; value: Json }>((tie) => ({
  schema: fc.oneof(
    { maxDepth: 3 },
    fc.boolean(),
    fc.dictionary(fc.constantFrom(...KEYWORDS), tie('value'), { maxKeys: 3 }) as fc.Arbitrary<Json>,
  ),
  value: fc.oneof(
    { maxDepth: 3 },
    fc.constantFrom<Json>('string', 'object', 'word', '(', 0, 3, -1, 1.5, 1e300, null, true, [], {}),
    fc.array(fc.oneof(tie('schema'), fc.constantFrom<Json>('a', 'string', 'null', 1)), {
      maxLength: 3,
    }) as fc.Arbitrary<Json>,
    fc.dictionary(fc.constantFrom('a', 'b'), tie('schema'), { maxKeys: 2 }) as fc.Arbitrary<Json>,
    tie('schema'),
  ),
}));

test('a plain schema satisfies the schema of schemas', () => {
  let plain = 0;
  fc.assert(
    fc.property(schema, (each) => {
      if (!isPlainSchema(each)) return;
      plain += 1;
      expect(ajv.validateSchema(each as object), JSON.stringify(each)).toBe(true);
    }),
    { numRuns: 3000 },
  );
  expect(plain).toBeGreaterThan(100);
});

describe('the validator', () => {
  test.each<Json>([
    { type: 'strng' },
    { type: ['string', 'string'] },
    { type: [] },
    { properties: [] },
    { properties: { a: { type: 'text' } } },
    { items: [{ type: 'string' }] },
    { required: 'a' },
    { required: ['a', 'a'] },
    { minLength: -1 },
    { maxItems: 1.5 },
    { minimum: '1' },
    { anyOf: [] },
    { enum: 'a' },
    { additionalProperties: 'no' },
    { title: 1 },
    { pattern: 1 },
    { uniqueItems: 'yes' },
  ])('refuses the schema %j', (each) => {
    expect(isPlainSchema(each)).toBe(false);
    expect(() => pure.validate(each, 'x')).toThrow();
  });

  test('checks values in the same way with both', () => {
    const plain = { type: 'object', required: ['a'], properties: { a: { type: 'integer', minimum: 2 } } };
    for (const each of [plain, { ...plain, $comment: 'checked' }]) {
      expect(isPlainSchema(each)).toBe(each === plain);
      expect(pure.validate(each, { a: 2 })).toBeNull();
      expect(pure.validate(each, {})).toBe("the value must have required property 'a'");
      expect(pure.validate(each, { a: 1 })).toBe('`a` must be >= 2');
    }
  });
});
