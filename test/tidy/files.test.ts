/** What every file of the project keeps to, whatever it is about. */
import { describe, expect, test } from 'vitest';
import { codeFiles, pathsIn, read } from './tree.ts';
import { tokensOf, withoutComments } from './tokens.ts';

/** Tools that read a default export, and nothing else. */
/** The settings of the test runner, and the package, which is the library and more. */
const OTHER_EXPORT = new Set(['vitest.config.ts', 'packages/server/src/sluice.ts']);
/** Written so that they do not find themselves. */
const MARKS = /\b(T[O]DO|F[I]XME|X[X]X|H[A]CK)\b/;
const SILENCED = /@ts-[i]gnore|@ts-[n]ocheck/;

const files = codeFiles();
/** The files without comments, and with empty strings. */
const code = files.map(({ path, text }) => ({ path, text: codeOnly(text) }));

describe('code files', () => {
  test('are there', () => {
    expect(files.length).toBeGreaterThan(100);
  });

  test.each([
    ['spec/interpreter.ts', 300],
    ['spec/controls.ts', 220],
    ['spec/forks.ts', 40],
    ['spec/values.ts', 150],
  ])(
    'that say what a flow means are short enough to be read at once: %s has fewer than %i lines of code',
    (path, most) => {
      const code = withoutComments(read(path)).replaceAll(/^ import[ {][^;]*;$/gm, '');
      expect(code.split('\n').filter((line) => line.trim() !== '').length).toBeLessThan(most);
    },
  );

  test('begin with a comment that says what they promise', () => {
    const mute = files
      .filter(({ path, text }) => !path.endsWith('.test.ts') && !/^(#!.*\n)?(\/\*|\/\/)/.test(text))
      .map(({ path }) => path);
    expect(mute).toEqual([]);
  });

  test('have kebab-case names', () => {
    const odd = files
      .filter(({ path }) => !/^([a-z0-9.-]+\/)*[a-z0-9]+(-[a-z0-9]+)*(\.test)?\.tsx?$/.test(path))
      .map(({ path }) => path);
    expect(odd).toEqual([]);
  });

  test('import relative files by their full name', () => {
    const bare = files.flatMap(({ path, text }) =>
      importsOf(text)
        .filter((from) => /^\.\.?(\/|$)/.test(from) && !/\.(tsx?|js|mjs|json)$/.test(from))
        .map((from) => `${path}: ${from}`),
    );
    expect(bare).toEqual([]);
  });

  test.each([
    ['a default export', /\bexport\s+default\b/],
    ['a wildcard export', /\bexport\s*\*/],
    ['a cast to any', /\bas\s+any\b|:\s*any\b|<\s*any\s*>/],
  ])('have no %s', (_, pattern) => {
    const found = code
      .filter(({ path }) => !OTHER_EXPORT.has(path))
      .flatMap(({ path, text }) => linesWith(pattern, text).map((line) => `${path}:${line}`));
    expect(found).toEqual([]);
  });

  test('create folders one level at a time: `recursive` never returns in a place such as `/proc/none`', () => {
    const found = code
      .filter(({ path }) => path.includes('/src/'))
      .flatMap(({ path, text }) => linesWith(/\bmkdir(Sync)?\([^;]*recursive/, text).map((line) => `${path}:${line}`));
    expect(found).toEqual([]);
  });

  test('silence no compiler', () => {
    const found = files.flatMap(({ path, text }) => linesWith(SILENCED, text).map((line) => `${path}:${line}`));
    expect(found).toEqual([]);
  });

  test('leave nothing for later', () => {
    const found = files.flatMap(({ path, text }) => linesWith(MARKS, text).map((line) => `${path}:${line}`));
    expect(found).toEqual([]);
  });

  test('skip or single out no test', () => {
    const found = code
      .filter(({ path }) => path.endsWith('.test.ts'))
      .flatMap(({ path, text }) =>
        linesWith(/\b(test|describe|it)\s*\.\s*(skip|only|todo|skipIf|runIf)\b/, text).map((line) => `${path}:${line}`),
      );
    expect(found).toEqual([]);
  });
});

describe('no file of any kind', () => {
  const text = /\.(ts|js|json|md|ya?ml|sh|npmrc)$|^\.ci\/run$|^\.[a-z]+rc(\.json)?$/;
  const tracked = pathsIn('.').filter((path) => text.test(path) && path !== 'test/tidy/files.test.ts');

  test('names a machine', () => {
    const found = tracked.flatMap((path) =>
      linesWith(/(^|[\s"'`(=])\/(work|root|home\/\w+|Users\/\w+)\//, read(path)).map((line) => `${path}:${line}`),
    );
    expect(found).toEqual([]);
  });

  test('names a package registry', () => {
    const found = tracked.flatMap((path) =>
      linesWith(/https?:\/\/[^\s"']*\bregistry\b|\bregistry\.npmjs|"resolved": "(?!packages\/)/, read(path)).map(
        (line) => `${path}:${line}`,
      ),
    );
    expect(found).toEqual([]);
  });
});

/** Strings become empty, so that a pattern for code does not find what is only quoted. */
function codeOnly(text: string): string {
  let line = 1;
  let code = '';
  for (const token of tokensOf(text)) {
    code += '\n'.repeat(token.line - line);
    line = token.line;
    code += token.kind === 'string' ? " ''" : token.kind === 'word' ? ` ${token.text}` : token.text;
  }
  return code;
}

function linesWith(pattern: RegExp, text: string): number[] {
  // Most texts have no such line.
  if (!new RegExp(pattern, 'm').test(text)) return [];
  return text.split('\n').flatMap((line, index) => (pattern.test(line) ? [index + 1] : []));
}

function importsOf(text: string): string[] {
  return [...withoutComments(text).matchAll(/\b(?:from|import)\s*\(?\s*'([^']+)'/g)].map(([, from]) => from as string);
}
