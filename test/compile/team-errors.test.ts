/** The pages of the errors that only teams have: each example gives its error, and nothing else. */
import { hash } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { expect, test } from 'vitest';
import { compile } from '../../src/compile/compile.ts';

const CODES = [
  'unknown-validator',
  'unknown-contract',
  'unknown-sub-graph',
  'no-termination',
  'ignored-termination',
  'shadowed-keyword',
  'same-role',
  'bad-parallel',
  'unequal-arms',
];

test.each(CODES)('%s', (code) => {
  const page = readFileSync(new URL(`../../docs/errors/${code}.md`, import.meta.url), 'utf8');
  const example = /```yaml\n([\s\S]+?)```/.exec(page)?.[1] ?? '';
  const { diagnostics } = compile(example, { hash: (text) => hash('sha256', text, 'hex') });
  expect(diagnostics.map((each) => each.code)).toEqual([code]);
});
