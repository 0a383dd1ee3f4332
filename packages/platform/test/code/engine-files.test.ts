/** Code of the engine is not pinned with the code of a document; all other files of a checkout are. */
import { realpathSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { isEngineFile } from '../../src/code/closure.ts';

const root = realpathSync(join(import.meta.dirname, '../../../..'));

test.each([
  ['packages/kernel/src/core/settle.ts', true],
  ['dist/bundle/index.js', true],
  ['packages/kernel/test/core/tools.ts', false],
  ['examples/tools.ts', false],
  ['test/support/harness.ts', false],
  ['packages.ts', false],
] as const)('%s: %s', (path, expected) => {
  expect(isEngineFile(join(root, path))).toBe(expected);
});

test('a file with the same path beside the checkout is not code of the engine', () => {
  expect(isEngineFile(join(root, '../other/packages/kernel/src/core/settle.ts'))).toBe(false);
});
