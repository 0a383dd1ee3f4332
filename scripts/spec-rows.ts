/**
 * Which rows the tables of the specification have, and which tests show them. A test says so in its name, as `§table/row`;
 * a golden case under `shows` in its `expected.yaml`.
 */
import { existsSync, readFileSync, readdirSync } from 'node:fs';
import { join } from 'node:path';
import { parse } from 'yaml';
import { tokensOf } from '../test/tidy/tokens.ts';
import { root } from './tool.ts';

export interface Table {
  readonly title: string;
  /** By key: what the row asks for. */
  readonly rows: { readonly [key: string]: string };
}
export interface Showing {
  /** `table/row`. */
  readonly row: string;
  /** The test's own words. */
  readonly words: string;
  /** From the root of the project, with forward slashes. */
  readonly file: string;
}

export function specTables(): { readonly [id: string]: Table } {
  return parse(readFileSync(join(root, 'test/tables/rows.yaml'), 'utf8')) as { [id: string]: Table };
}

export function rowIds(): readonly string[] {
  return Object.entries(specTables()).flatMap(([id, { rows }]) => Object.keys(rows).map((key) => `${id}/${key}`));
}

export function showings(): readonly Showing[] {
  const files = testFolders()
    .flatMap((folder) =>
      readdirSync(join(root, folder), { recursive: true, encoding: 'utf8' }).map(
        (path) => `${folder}/${path.replaceAll('\\', '/')}`,
      ),
    )
    .toSorted();
  return files.flatMap((file) => {
    if (file.endsWith('.test.ts')) return inNames(file);
    return /\/dialects\/.*\/expected\.yaml$/.test(file) ? inCase(file) : [];
  });
}

function testFolders(): readonly string[] {
  const packages = readdirSync(join(root, 'packages')).map((name) => `packages/${name}/test`);
  return ['test', ...packages].filter((folder) => existsSync(join(root, folder)));
}

function inNames(file: string): Showing[] {
  const text = readFileSync(join(root, file), 'utf8');
  if (!text.includes('§')) return [];
  return tokensOf(text)
    .filter(({ kind }) => kind === 'string')
    .flatMap(({ text: quoted }) => {
      const words = quoted
        .slice(1, -1)
        .replaceAll(/ ?§[\w/-]+/g, '')
        .replaceAll('\\', '')
        .trim();
      return [...quoted.matchAll(/§([\w/-]+)/g)].map(([, row]) => ({ row: row as string, words, file }));
    });
}

function inCase(file: string): Showing[] {
  const text = readFileSync(join(root, file), 'utf8');
  const { shows = [] } = (/^shows:/m.test(text) ? parse(text) : {}) as { shows?: readonly string[] };
  return shows.map((row) => ({ row, words: file.split('/').at(-2) ?? '', file }));
}
