/** No code without somebody who reports it: a page about an error that cannot happen sends people looking for it. */
import { expect, test } from 'vitest';
import { DIAGNOSTIC_CODES } from '../../packages/compile/src/source/codes.ts';
import { ERROR_CODES } from '../../packages/engine/src/ports/errors.ts';
import { packageFiles, read } from './tree.ts';

const TABLES = ['packages/compile/src/source/codes.ts', 'packages/engine/src/ports/errors.ts'];

test('every code of the tables is reported somewhere', () => {
  const texts = packageFiles()
    .filter(({ path }) => !TABLES.includes(path))
    .map(({ text }) => withoutSets(text));
  const launcher = read('bin/sluice.js');
  const isReported = (code: string): boolean =>
    texts.some((text) => text.includes(`'${code}'`)) || launcher.includes(`error[${code}]`);
  const codes = [...DIAGNOSTIC_CODES, ...ERROR_CODES];
  expect(codes.filter((code) => !isReported(code))).toEqual([]);
});

/** A list of codes sorts them; it reports none. */
function withoutSets(text: string): string {
  return text.replace(/new Set\(\[[\s\S]*?\]\)/g, '');
}
