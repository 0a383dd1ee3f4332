/** The command starts fast because its entry loads neither the compiler nor the engine: each command imports what it needs. */
import { readFileSync } from 'node:fs';
import { dirname, join, relative } from 'node:path';
import { expect, test } from 'vitest';

const root = join(import.meta.dirname, '../..');

/** The files that are loaded with a file, by its import statements. Types are erased, and `import()` loads later. */
function loadedWith(file: string, seen = new Set<string>()): ReadonlySet<string> {
  if (seen.has(file)) return seen;
  seen.add(file);
  const text = readFileSync(file, 'utf8');
  for (const [, names = '', path = ''] of text.matchAll(/^import (?!type )([^;]*?) from '(\.[^']+)';/gm)) {
    const values = names
      .replace(/[{}]/g, '')
      .split(',')
      .filter((name) => name.trim() !== '');
    if (values.some((name) => !name.trim().startsWith('type '))) loadedWith(join(dirname(file), path), seen);
  }
  return seen;
}

const SLOW = [
  'compile/compile.ts',
  'compile/notations/registry.ts',
  'runtime/engine/engine.ts',
  'effects/world.ts',
  'stores/open-store.ts',
];

test.each(SLOW)('the entry of the command does not load %s', (slow) => {
  const loaded = [...loadedWith(join(root, 'src/surfaces/cli/main.ts'))].map((file) =>
    relative(join(root, 'src'), file),
  );
  expect(loaded).toContain('surfaces/cli/program.ts');
  expect(loaded).not.toContain(slow);
});

test('the walk finds the compiler where it is loaded', () => {
  const loaded = loadedWith(join(root, 'src/surfaces/cli/commands/check.ts'));
  expect([...loaded].map((file) => relative(join(root, 'src'), file))).toContain('compile/compile.ts');
});
