/** Codes, their pages and the index agree, and every example of a page gives that code and no other. */
import { readdirSync, readFileSync } from 'node:fs';
import { describe, expect, test } from 'vitest';
import { DIAGNOSTIC_CODES } from '../../packages/compile/src/source/codes.ts';
import { errorPages } from '../../scripts/error-pages.ts';
import { packageFiles } from '../tidy/tree.ts';
import { compile } from '@sluice-internal/library';
import { readScript } from '@sluice-internal/library/host';
import { ERROR_CODES } from '../../packages/engine/src/ports/errors.ts';

const folder = new URL('../../docs/errors/', import.meta.url);
const page = (code: string) => readFileSync(new URL(`${code}.md`, folder), 'utf8');
const codes: readonly string[] = [...new Set<string>([...DIAGNOSTIC_CODES, ...ERROR_CODES])];
/** The title and the meaning, which a page begins with. */
const opening = (code: string) => /^# (\S+)\n\n\*\*(.+?)\.\*\* (.+)\n/.exec(page(code)) ?? [];

/** The message of an error that no example of YAML gives, with its help line. */
const messageOf = (code: string) =>
  /```yaml/.test(page(code)) ? null : (/```text\nerror\[[\w-]+\]: ([\s\S]+?)\n```/.exec(page(code))?.[1] ?? null);
/** The words of the message and its help line without names, numbers, codes, and the reason after a colon. */
const wordsOf = (message: string) =>
  message
    .split('\n')
    .flatMap((line) =>
      line
        .replace(/^ {2}= help: /, '')
        .replace(/: .*/, '')
        .split(/`[^`]*`|\$?\d[\d.]*|\b[A-Z_]{4,}\b/),
    )
    .flatMap((each) => (each.trim().length < 13 ? [] : [each.trim()]));
const SOURCE = packageFiles()
  .map(({ text }) => text)
  .join('\n');

const examples = codes.flatMap((code) =>
  [...page(code).matchAll(/```yaml\n([\s\S]+?)```/g)].map(([, text = '']) => [code, text] as const),
);

describe('the pages of errors', () => {
  test('every code has a page and every page a code', () => {
    const pages = readdirSync(folder)
      .filter((file) => file !== 'README.md')
      .map((file) => file.replace(/\.md$/, ''));
    expect(pages.sort()).toEqual([...codes].sort());
  });

  test('only a missing prerequisite is in both tables: `check` shows it at its place, and a start is refused with it', () => {
    const errors = new Set<string>(ERROR_CODES);
    expect(DIAGNOSTIC_CODES.filter((code) => errors.has(code))).toEqual(['missing-prerequisite']);
    expect(errors.size).toBe(ERROR_CODES.length);
    expect(new Set(DIAGNOSTIC_CODES).size).toBe(DIAGNOSTIC_CODES.length);
  });

  test.each(codes)('%s: the page says what it means, an example and how to mend it', (code) => {
    const text = page(code);
    expect(opening(code)[1]).toBe(code);
    expect(text).toMatch(/## Example\n\n```\w+\n[\s\S]+?\n```\n\n## How to mend it\n\n\S/);
  });

  test.each(Object.entries(errorPages()))('%s has the message that its example gives', (file, text) => {
    expect(page(file.replace(/\.md$/, ''))).toBe(text);
  });

  test.each(codes.filter((code) => messageOf(code) !== null))(
    '%s: the words of the message are in the source',
    (code) => {
      const words = wordsOf(messageOf(code) ?? '').filter((each) => !SOURCE.includes(each));
      expect(words).toEqual([]);
    },
  );

  test('the index lists every page with its meaning', () => {
    const index = page('README');
    for (const code of codes) expect(index).toContain(`| [\`${code}\`](${code}.md) | ${opening(code)[3]} |`);
  });

  // `sluice check` adds `nobody-approves` itself; packages/cli/test/cli/check.test.ts shows it.
  test.each(examples.filter(([code]) => code !== 'bad-script' && code !== 'nobody-approves'))(
    '%s: the example triggers it, and nothing else',
    (code, text) => {
      expect(compile(text, { file: `${code}.yaml` }).diagnostics.map((each) => each.code)).toEqual([code]);
    },
  );

  test('bad-script: the example triggers it, and nothing else', () => {
    const { flow } = compile('steps: [{ name: sort, agent_name: triage_bot }]');
    const script = examples.find(([code]) => code === 'bad-script')?.[1] ?? '';
    expect(readScript(script, 'demo.script.yaml', flow).diagnostics.map((each) => each.code)).toEqual(['bad-script']);
  });
});
