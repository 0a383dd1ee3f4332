/** The command starts fast because its entry loads neither the compiler nor the engine: each command imports what it needs. */
import { spawnSync } from 'node:child_process';
import { readFileSync, readdirSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { root } from './tree.ts';

const BUNDLE = join(root, 'dist/bundle');
const chunks = readdirSync(BUNDLE).filter((file) => file.endsWith('.cjs'));

/** The files of the bundle that a process has loaded after `code`. */
function loadedBy(code: string): readonly string[] {
  const program = `${code};console.log(JSON.stringify(Object.keys(require.cache)))`;
  const { stdout, stderr } = spawnSync(process.execPath, ['-e', program], { cwd: BUNDLE, encoding: 'utf8' });
  expect(stderr).toBe('');
  return (JSON.parse(stdout.trim().split('\n').at(-1) ?? '') as string[]).map((file) => file.slice(BUNDLE.length + 1));
}

/** The files of the bundle that define a function of this name. */
function definers(name: string): readonly string[] {
  return chunks.filter((file) => readFileSync(join(BUNDLE, file), 'utf8').includes(`\nfunction ${name}(`));
}

/** The compiler, the engine, the calls to the outside and the stores. */
const SLOW = ['compile', 'createRuntime', 'createWorld', 'openStore'];

const loaded = loadedBy("require('./cli.cjs')");

test.each(SLOW)('the entry of the command does not load `%s`', (name) => {
  expect(definers(name)).not.toEqual([]);
  expect(loaded.length).toBeGreaterThan(3);
  expect(loaded.filter((file) => definers(name).includes(file))).toEqual([]);
});

test('the compiler is found where it is loaded', () => {
  const library = loadedBy(
    "require(require('fs').readFileSync('index.js', 'utf8').match(/'(.*\\.cjs)'|\"(.*\\.cjs)\"/).slice(1).find(Boolean))",
  );
  expect(library.some((file) => definers('compile').includes(file))).toBe(true);
});
