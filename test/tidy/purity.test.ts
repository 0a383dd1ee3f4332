/** The core and the compiler have no clock, no randomness and no I/O; what the compiler of types cannot see is looked for here. */
import { expect, test } from 'vitest';
import { PURE } from '../../architecture.ts';
import { packageFiles } from './tree.ts';
import { tokensOf } from './tokens.ts';

const files = packageFiles(...PURE);
const BANNED_WORDS = new Set([
  'console',
  'process',
  'fetch',
  'performance',
  'setTimeout',
  'setInterval',
  'setImmediate',
  'queueMicrotask',
  'globalThis',
  'Intl',
  'eval',
]);
const BANNED_MEMBERS = new Set(['Date.now', 'Math.random', 'Date.parse']);

test('core and compile call nothing that depends on the machine', () => {
  const found = files.flatMap(({ path, text }) => {
    const tokens = tokensOf(text);
    return tokens.flatMap((token, index) => {
      if (token.kind !== 'word') return [];
      const before = tokens[index - 1]?.text;
      const after = tokens[index + 1]?.text;
      // A property or a parameter may be called so; the global may not be used.
      const isGlobal = before !== '.' && after !== ':' && before !== '#';
      const member = after === '.' ? `${token.text}.${tokens[index + 2]?.text ?? ''}` : '';
      const isClock = token.text === 'Date' && before === 'new' && after === '(' && tokens[index + 2]?.text === ')';
      return (BANNED_WORDS.has(token.text) && isGlobal) || BANNED_MEMBERS.has(member) || isClock
        ? [`${path}:${token.line}: ${member || token.text}`]
        : [];
    });
  });
  expect(found).toEqual([]);
});

test('core and compile import no module of Node', () => {
  const found = files.flatMap(({ path, text }) =>
    tokensOf(text)
      .filter(({ kind, text: said }) => kind === 'string' && /^['"]node:/.test(said))
      .map(({ line }) => `${path}:${line}`),
  );
  expect(found).toEqual([]);
});
