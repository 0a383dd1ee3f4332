/** The sections of a document as settings of a definition. The compiler checks the types of this file. */
import { expect, test } from 'vitest';
import { agent, compile, flow, loop } from '../../src/index.ts';
import type { Settings } from '../../src/index.ts';

const bot = agent('bot', { model: 'own', instructions: 'Answer.' });
const unknownKeys = (settings: Settings): (string | undefined)[] =>
  compile(flow('f', settings).step(bot).document).diagnostics.flatMap(({ message }) => {
    const [, key] = /unknown key `(\w+)`/.exec(message) ?? [];
    return key === undefined ? [] : [key];
  });
const own = { provider: 'openai-compatible', model: 'm' } as const;

test('a misspelt key of a section is a type error, and an error of the compiler', () => {
  // @ts-expect-error no such key of a model
  expect(unknownKeys({ models: { own: { ...own, baseUrl: 'http://127.0.0.1' } } })).toEqual(['baseUrl']);
  // @ts-expect-error no such key of `pii`
  expect(unknownKeys({ models: { own }, pii: { mod: 'tokenize' } })).toEqual(['mod']);
  // @ts-expect-error no such protection
  expect(unknownKeys({ models: { own }, protections: { velocty: false } })).toEqual(['velocty']);
  // @ts-expect-error no such key of a boundary
  expect(unknownKeys({ models: { own }, boundary: { profil: 'support' } })).toEqual(['profil']);
});

test('every section can be written, also of values that cannot be changed', () => {
  const settings = {
    models: {
      own: { ...own, base_url: 'http://127.0.0.1:1/v1', price: { input: 1, output: 2 }, options: { top_k: 4 } },
    },
    boundary: { profile: 'support', tools: { allow: ['orders.*'] } },
    protections: { loop: { window: 5 }, velocity: false },
    pii: { mode: 'tokenize', types: ['email'] },
    people: [{ id: 'anna', roles: ['manager'] }],
    retain: { runs: 5 },
    mcp: { files: { command: 'npx', args: ['server'] } },
  } as const satisfies Settings;
  expect(unknownKeys(settings)).toEqual([]);
  const { diagnostics } = compile(loop('l', { agent: bot, ...settings }).document);
  expect(diagnostics.filter(({ severity }) => severity === 'error')).toEqual([]);
});
