import { readdirSync, readFileSync } from 'node:fs';
import { describe, expect, test } from 'vitest';
import { DIAGNOSTIC_CODES } from '../../src/compile/codes.ts';
import { readDocument } from '../../src/compile/document.ts';
import { parseSource } from '../../src/compile/source.ts';
import { ERROR_CODES } from '../../src/runtime/error-codes.ts';

const folder = new URL('../../docs/errors/', import.meta.url);
const page = (code: string) => readFileSync(new URL(`${code}.md`, folder), 'utf8');
const tables = { ...DIAGNOSTIC_CODES, ...ERROR_CODES };
const codes = Object.keys(tables) as (keyof typeof tables)[];

/** Codes of the front half, whose examples it can judge by itself. */
const FRONT = [
  'empty-document',
  'syntax-error',
  'duplicate-key',
  'bad-key',
  'not-json',
  'unknown-alias',
  'too-many-aliases',
  'too-deep',
  'unknown-key',
  'missing-field',
  'wrong-type',
  'bad-value',
  'bad-schema',
  'no-notation',
  'several-notations',
  'unknown-notation',
  'bad-version',
  'duplicate-id',
  'unknown-tool',
  'unknown-model',
  'unknown-server',
  'several-implementations',
  'not-enforced',
];

describe('the pages of errors', () => {
  test('every code has a page and every page a code', () => {
    const pages = readdirSync(folder)
      .filter((file) => file !== 'README.md')
      .map((file) => file.replace(/\.md$/, ''));
    expect(pages.sort()).toEqual([...codes].sort());
  });

  test('no code is in both tables', () => {
    expect(Object.keys(DIAGNOSTIC_CODES).filter((code) => Object.hasOwn(ERROR_CODES, code))).toEqual([]);
  });

  test.each(codes)('%s: the page says what it means, an example and how to mend it', (code) => {
    const text = page(code);
    const { title, summary } = tables[code];
    expect(text.startsWith(`# ${code}\n\n**${title}.** ${summary}\n`)).toBe(true);
    expect(text).toMatch(/## Example\n\n```\w+\n[\s\S]+?\n```\n\n## How to mend it\n\n\S/);
  });

  test('the index lists every page with its summary', () => {
    const index = page('README');
    for (const code of codes) expect(index).toContain(`| [\`${code}\`](${code}.md) | ${tables[code].summary} |`);
  });

  test.each(FRONT)('%s: the example triggers it, and nothing else', (code) => {
    const example = /```yaml\n([\s\S]+?)```/.exec(page(code))?.[1] ?? '';
    const { doc, report } = parseSource(example, `${code}.yaml`);
    if (doc !== null) readDocument(doc, report);
    expect(report.list().map((each) => each.code)).toEqual([code]);
  });
});
