/** The map of the architecture and the README of each package say what is there. */
import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { MAY_IMPORT } from '../../architecture.ts';
import { packageOf } from './imports.ts';
import { packageNames, read, root } from './tree.ts';

const FOLDERS = Object.keys(MAY_IMPORT);

test('the map of the architecture names every package with its folders', () => {
  const map = read('docs/ARCHITECTURE.md');
  for (const name of packageNames()) {
    const [row = ''] = map.split('\n').filter((line) => line.startsWith(`| \`${name}\` |`));
    const [, , named = ''] = row.split('|');
    const inner = FOLDERS.filter((folder) => folder.startsWith(`${name}/`)).map((folder) => folder.split('/')[1] ?? '');
    expect({ name, folders: quoted(named) }).toEqual({ name, folders: inner.toSorted() });
  }
});

test('each function that the map names is in the file that it names', () => {
  const calls = [...read('docs/ARCHITECTURE.md').matchAll(/`([\w.]+)`\s\((?:`\w+` in )?`([\w/-]+\.ts)`\)/g)];
  expect(calls.length).toBeGreaterThan(30);
  const missing = calls.filter(([, name = '', path = '']) => {
    const text = read(`packages/${path}`);
    return !name.split('.').every((part) => new RegExp(`\\b${part}\\b`).test(text));
  });
  expect(missing.map(([text]) => text)).toEqual([]);
});

test('a package has a readme of at most ten lines: its job, its imports, where to begin', () => {
  for (const name of packageNames()) {
    const text = read(`packages/${name}/README.md`);
    expect({ name, isShort: text.trimEnd().split('\n').length <= 10 }).toEqual({ name, isShort: true });
    const [, imports = ''] = /^Imports: (.*)\.$/m.exec(text) ?? [];
    expect({ name, imports: quoted(imports) }).toEqual({ name, imports: importsOf(name) });
    const [, begin = ''] = /^Begin with ([^]*)$/m.exec(text) ?? [];
    const paths = [...begin.matchAll(/`((?:\w[\w-]*\/)*src\/[\w./-]+)`/g)].map(([, path = '']) => path);
    expect(paths.length, name).toBeGreaterThan(0);
    const dead = paths.filter(
      (path) => !existsSync(join(root, 'packages', path)) && !existsSync(join(root, 'packages', name, path)),
    );
    expect({ name, dead }).toEqual({ name, dead: [] });
  }
});

/** The words in backticks, in the order of the alphabet. */
function quoted(text: string): readonly string[] {
  return [...text.matchAll(/`([^`]+)`/g)].map(([, word = '']) => word).toSorted();
}

/** The packages that a package may import, from the table. */
function importsOf(name: string): readonly string[] {
  const rows = FOLDERS.filter((folder) => packageOf(folder) === name).flatMap((folder) => MAY_IMPORT[folder] ?? []);
  return [...new Set(rows.map(packageOf))].filter((other) => other !== name).toSorted();
}
