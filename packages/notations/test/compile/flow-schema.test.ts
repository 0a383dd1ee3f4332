/** The schema for editors knows the flows under `flows`. */
import { readFileSync } from 'node:fs';
import { expect, test } from 'vitest';
import { parse } from 'yaml';
import type { Json } from '@sluice-internal/kernel/expr';
import { documentSchema } from '@sluice-internal/compile/document';
import { pure } from '@sluice-internal/engine/ports';
import { flowSchema } from '../../src/flow/schema.ts';

const text = readFileSync(new URL('../../../../examples/letters.flow.yaml', import.meta.url), 'utf8');
const schema = documentSchema([{ key: 'flow', schema: flowSchema }]);

test('a flow under `flows` has the fields of `flow`', () => {
  expect(pure.validate(schema, parse(text) as Json)).toBeNull();
});

test.each([
  ['a misspelt field of the flow', text.replace('    entry: write', '    entri: write')],
  ['a misspelt field of a node', text.replace('max_visits: 3', 'max_visit: 3')],
])('%s is refused', (_, changed) => {
  expect(changed).not.toBe(text);
  expect(pure.validate(schema, parse(changed) as Json)).not.toBeNull();
});
