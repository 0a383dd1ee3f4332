/** Nothing lies around: each file is part of the product, of the tests, or of a command in package.json. */
import { existsSync } from 'node:fs';
import { basename, dirname, join } from 'node:path';
import { expect, test } from 'vitest';
import { importEdges, namedInStrings, reachable } from './imports.ts';
import { codeFiles, filesIn, packageFiles, packageNames, read, root } from './tree.ts';

const ENTRIES = [
  'packages/server/src/sluice.ts',
  'packages/testing/src/testing.ts',
  'packages/cli/src/main.ts',
  'packages/client/src/index.ts',
  'packages/client/src/fold.ts',
  'packages/studio/src/main.tsx',
];
const scripts = Object.values(
  (JSON.parse(read('package.json')) as { scripts: { [name: string]: string } }).scripts,
).join(' ');
const all = codeFiles();
const edges = importEdges(all);

test('each import finds its file', () => {
  expect(
    edges.filter(({ to }) => !existsSync(join(root, to))).map(({ from, to, line }) => `${from}:${line}: ${to}`),
  ).toEqual([]);
});

test('each source file is reachable from an entry', () => {
  const alive = reachable(ENTRIES, edges);
  expect(
    packageFiles()
      .filter(({ path }) => !alive.has(path))
      .map(({ path }) => path),
  ).toEqual([]);
});

test('each other file is a test, a command, or used by one', () => {
  const named = namedInStrings(all);
  const commands = all.filter(({ path }) => scripts.includes(path)).map(({ path }) => path);
  const tests = all.filter(({ path }) => path.endsWith('.test.ts')).map(({ path }) => path);
  const isStarted = (path: string): boolean =>
    named.has(basename(path)) ||
    read('vitest.config.ts').includes(`./${path}`) ||
    (dirname(path) === 'bench/peers' && named.has(basename(path, '.ts')));
  const started = all.map(({ path }) => path).filter((path) => isStarted(path) && !isSource(path));
  const configured = [...read('vitest.config.ts').matchAll(/test\/[\w/-]+\.ts/g)].map(([path]) => path);
  const alive = reachable([...ENTRIES, ...commands, ...tests, ...started, ...configured], edges);
  expect(all.filter(({ path }) => !isSource(path) && !alive.has(path)).map(({ path }) => path)).toEqual([]);
});

test('each command in package.json that names a file finds it', () => {
  const named = [...scripts.matchAll(/[\w./-]+\.ts\b/g)].map(([path]) => path);
  expect(named.length).toBeGreaterThan(0);
  expect(named.filter((path) => !existsSync(join(root, path)))).toEqual([]);
});

test('what the tests and the tools share with the product goes one way', () => {
  expect(edges.filter(({ from, to }) => isSource(from) && !isSource(to))).toEqual([]);
  const sources = packageNames().map((name) => `packages/${name}/src`);
  expect(
    filesIn(sources)
      .filter(({ path }) => !/\.tsx?$/.test(path))
      .map(({ path }) => path),
  ).toEqual([]);
});

function isSource(path: string): boolean {
  return /^packages\/[^/]+\/src\//.test(path);
}
