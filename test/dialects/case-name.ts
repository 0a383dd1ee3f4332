/** What a golden case is called: its folder, and the rows of the specification that it shows. */
import { readFileSync } from 'node:fs';
import { parse } from 'yaml';

export function caseName(folder: URL): string {
  const name = folder.pathname.split('/').at(-2) ?? '';
  const text = readFileSync(new URL('expected.yaml', folder), 'utf8');
  const { shows = [] } = (/^shows:/m.test(text) ? parse(text) : {}) as { shows?: readonly string[] };
  return [name, ...shows.map((row) => `§${row}`)].join(' ');
}
