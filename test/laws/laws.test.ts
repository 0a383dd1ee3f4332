/** The laws and their tests belong together: none without the other. */
import { readdirSync, readFileSync, statSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { expect, test } from 'vitest';

const root = fileURLToPath(new URL('../..', import.meta.url));
const text = readFileSync(join(root, 'spec/LAWS.md'), 'utf8');
const laws = [...text.matchAll(/^\*\*L(\d+)\. [^]*?(?=^\*\*L|(?![^]))/gm)].map(([body, number]) => ({
  number: Number(number),
  reserved: body.includes('*Reserved:*'),
  places: [...body.matchAll(/`(test\/[^`]+)`/g)].map(([, place]) => place as string),
}));
const tests = readdirSync(join(root, 'test'), { recursive: true, encoding: 'utf8' })
  .filter((name) => name.endsWith('.test.ts'))
  .map((name) => ({ name: `test/${name}`, titles: titlesIn(readFileSync(join(root, 'test', name), 'utf8')) }));

test('there are fifteen laws, in order', () => {
  expect(laws.map(({ number }) => number)).toEqual([1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15]);
});

test('every law that is not reserved is cited by the name of a test, and reserved ones by none', () => {
  const cited = new Set(tests.flatMap(({ titles }) => titles.flatMap(lawsIn)));
  expect(laws.map(({ number }) => ({ number, cited: cited.has(number) }))).toEqual(
    laws.map(({ number, reserved }) => ({ number, cited: !reserved })),
  );
});

test('the tests that a law names exist and cite it', () => {
  const wrong = laws.flatMap(({ number, places }) =>
    places.filter((place) => !cites(place, number)).map((place) => `L${number}: ${place}`),
  );
  expect(wrong).toEqual([]);
});

function cites(place: string, law: number): boolean {
  if (statSync(join(root, place), { throwIfNoEntry: false }) === undefined) return false;
  return tests.some(
    ({ name, titles }) =>
      (name === place || name.startsWith(`${place}/`)) && titles.some((title) => lawsIn(title).includes(law)),
  );
}

function titlesIn(source: string): string[] {
  return [...source.matchAll(/\btest(?:\.each\([^]*?\))?\(\s*(['"`])([^]*?)\1/g)].map(([, , title]) => title as string);
}

/** `L2, L3: …` at the beginning of a title. */
function lawsIn(title: string): number[] {
  const lead = /^((?:L\d+(?:, )?)+): /.exec(title)?.[1] ?? '';
  return [...lead.matchAll(/L(\d+)/g)].map(([, number]) => Number(number));
}
