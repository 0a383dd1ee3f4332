import { expect, test } from 'vitest';
import { tokensOf, withoutComments } from './tokens.ts';

test('words and strings are told apart, comments are left out, and lines are counted', () => {
  const tokens = tokensOf("const a = 'x // y'; // z\n/* b\n */ f(`t ${g(`u`)} v`, /[/'] q/.test(h));\n");
  expect(tokens.filter(({ kind }) => kind === 'word').map(({ text, line }) => `${text}:${line}`)).toEqual([
    'const:1',
    'a:1',
    'f:3',
    'g:3',
    'test:3',
    'h:3',
  ]);
  expect(tokens.filter(({ kind }) => kind === 'string').map(({ text }) => text)).toEqual([
    "'x // y'",
    '`t ${',
    '`u`',
    '} v`',
    "/[/'] q/",
  ]);
});

test('code without comments stays on its lines', () => {
  expect(
    withoutComments('a; // b\n/* c */ d;')
      .split('\n')
      .map((line) => line.trim()),
  ).toEqual(['a;', 'd;']);
});
