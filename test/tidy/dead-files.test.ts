/** Nothing lies around: each file is part of the product, of the tests, or of a command in package.json. */
import { existsSync } from 'node:fs';
import { basename, dirname, join } from 'node:path';
import { expect, test } from 'vitest';
import { importEdges, namedInStrings, reachable } from './imports.ts';
import { codeFiles, filesIn, read, root } from './tree.ts';

const ENTRIES = ['src/index.ts', 'src/testing.ts', 'src/surfaces/cli/main.ts'];
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

test('each file of src is reachable from an entry', () => {
  const alive = reachable(ENTRIES, edges);
  expect(
    codeFiles('src')
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
  const started = all.map(({ path }) => path).filter((path) => isStarted(path) && !path.startsWith('src/'));
  const configured = [...read('vitest.config.ts').matchAll(/test\/[\w-]+\.ts/g)].map(([path]) => path);
  const alive = reachable([...ENTRIES, ...commands, ...tests, ...started, ...configured], edges);
  expect(all.filter(({ path }) => !path.startsWith('src/') && !alive.has(path)).map(({ path }) => path)).toEqual([]);
});

test('each command in package.json that names a file finds it', () => {
  const named = [...scripts.matchAll(/[\w./-]+\.ts\b/g)].map(([path]) => path);
  expect(named.length).toBeGreaterThan(0);
  expect(named.filter((path) => !existsSync(join(root, path)))).toEqual([]);
});

test('the map of the architecture names every folder of src', () => {
  const [, map = ''] = /## Map of `src`\n([\s\S]*?)\n## /.exec(read('docs/ARCHITECTURE.md')) ?? [];
  const folders = new Set(codeFiles('src').map(({ path }) => dirname(path).split('/').slice(1, 3).join('/')));
  const isNamed = (folder: string): boolean => {
    const [top = '', inner] = folder.split('/');
    return inner === undefined
      ? new RegExp(`\\| \`${top}[\`/]`).test(map)
      : map.includes(`\`${folder}\``) ||
          map.split('\n').some((row) => row.startsWith(`| \`${top}\``) && row.includes(`\`${inner}\``));
  };
  expect([...folders].filter((folder) => folder !== '' && !isNamed(folder))).toEqual([]);
});

test('a store imports no other store', () => {
  const folder = (path: string): string => path.split('/').slice(0, 3).join('/');
  const isStore = (path: string): boolean => /^src\/stores\/\w+\//.test(path);
  const wrong = edges.filter(({ from, to }) => isStore(from) && isStore(to) && folder(from) !== folder(to));
  expect(wrong).toEqual([]);
});

test('what the tests and the tools share with the product goes one way', () => {
  expect(edges.filter(({ from, to }) => from.startsWith('src/') && !to.startsWith('src/'))).toEqual([]);
  expect(
    filesIn(['src'])
      .filter(({ path }) => !path.endsWith('.ts') && !path.endsWith('tsconfig.json'))
      .map(({ path }) => path),
  ).toEqual([]);
});
