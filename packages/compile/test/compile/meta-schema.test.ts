/** The table of the meta-schema finds the faults that a validator finds which compiles the meta-schema itself. */
import { Ajv2020, type ErrorObject } from 'ajv/dist/2020.js';
import fc from 'fast-check';
import { expect, test } from 'vitest';
import { KEYWORDS, metaFaults } from '../../src/document/shape/meta-schema.ts';
import type { Json } from '@sluice-internal/kernel/expr';

const ajv = new Ajv2020({ allErrors: true, strict: false, logger: false, validateFormats: false });
const validate = ajv.getSchema('https://json-schema.org/draft/2020-12/schema');

/** One fault per place, and only the innermost. */
function faultsByLibrary(schema: Json): readonly string[] {
  if (validate?.(schema) === true) return [];
  const byPlace = new Map<string, ErrorObject>();
  for (const error of validate?.errors ?? [])
    if (!byPlace.has(error.instancePath) || error.keyword === 'enum') byPlace.set(error.instancePath, error);
  const places = [...byPlace.keys()];
  return [...byPlace]
    .filter(([place]) => !places.some((other) => other.startsWith(`${place}/`)))
    .map(([place, { message }]) => `${place} ${message}`)
    .toSorted();
}

function faultsByTable(schema: Json): readonly string[] {
  return metaFaults(schema)
    .map(
      ({ path, message }) =>
        `${path.map((part) => `/${String(part).replaceAll('~', '~0').replaceAll('/', '~1')}`).join('')} ${message}`,
    )
    .toSorted();
}

// Of a list in `dependencies`, the library says that it is no schema; the table says what is wrong with the list.
const keywords = Object.values(KEYWORDS)
  .flat()
  .filter((keyword) => keyword !== 'dependencies');

const { schema } = fc.letrec<{ schema: Json; value: Json }>((tie) => ({
  schema: fc.oneof(
    {
      weight: 6,
      arbitrary: fc.dictionary(fc.constantFrom(...keywords), tie('value'), { maxKeys: 4, noNullPrototype: true }),
    },
    { weight: 1, arbitrary: fc.boolean() },
  ),
  value: fc.oneof(
    { depthSize: 'small' },
    fc.constantFrom<Json>('string', 'integer', 'strin', '#', 'a#b', '9', '', 0, 1, -1, 1.5, -1.5, null, true, false),
    fc.array(fc.constantFrom<Json>('string', 'null', 'string', 'x', 5), { maxLength: 3 }),
    tie('schema'),
    fc.array(tie('schema'), { maxLength: 2 }),
    fc.dictionary(fc.constantFrom('a', 'b/c', '~'), tie('schema'), { maxKeys: 2, noNullPrototype: true }),
    fc.dictionary(fc.constantFrom('a', 'b'), fc.array(fc.constantFrom('x', 'y'), { maxLength: 3 }), {
      maxKeys: 2,
      noNullPrototype: true,
    }),
  ),
}));

test('agree on generated schemas', () => {
  fc.assert(
    fc.property(schema, (given) => {
      expect(faultsByTable(given)).toEqual(faultsByLibrary(given));
    }),
    { numRuns: 2_000 },
  );
});

test.each<[Json, string[]]>([
  [{ type: 'strin' }, ['/type must be equal to one of the allowed values']],
  [{ minLength: -1 }, ['/minLength must be >= 0']],
  [{ required: ['a', 'a'] }, ['/required must NOT have duplicate items (items ## 1 and 0 are identical)']],
  [{ properties: { a: { anyOf: [] } } }, ['/properties/a/anyOf must NOT have fewer than 1 items']],
  [{ properties: { a: 5 } }, ['/properties/a must be object,boolean']],
  [
    { dependencies: { a: ['y', 'y'] } },
    ['/dependencies/a must NOT have duplicate items (items ## 1 and 0 are identical)'],
  ],
  [{ dependencies: { a: { type: 5 }, b: ['x'] } }, ['/dependencies/a/type must be equal to one of the allowed values']],
  [5, [' must be object,boolean']],
])('%j', (given, faults) => {
  expect(faultsByTable(given)).toEqual(faults);
});
