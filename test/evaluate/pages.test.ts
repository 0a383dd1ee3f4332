/** The generated pages are those of the tables. `node scripts/evaluation-pages.ts` writes them. */
import { readFileSync } from 'node:fs';
import { expect, test } from 'vitest';
import { evaluationPages } from '../../scripts/evaluation-pages.ts';

test.each([...evaluationPages()])('%s is up to date', (path, text) => {
  expect(readFileSync(new URL(`../../${path}`, import.meta.url), 'utf8')).toBe(text);
});
