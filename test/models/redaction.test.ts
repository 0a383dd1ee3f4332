/** Keys stay out of everything that is recorded, shown or passed on, even where a server sends them back. */
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { redactText, redactValue } from '../../src/effects/redact.ts';
import { tools } from '../tools/call.ts';
import { call, KEYS } from './call.ts';
import { PROTOCOLS } from './protocols.ts';
import { serve, sse, text } from './serve.ts';

const KEY_OF = { openai: KEYS.OPENAI_API_KEY, anthropic: KEYS.ANTHROPIC_API_KEY, google: KEYS.GEMINI_API_KEY };

test.each(PROTOCOLS)('$provider: neither failures nor replies nor deltas hold the key', async (protocol) => {
  const key = KEY_OF[protocol.provider];
  await using served = await serve();
  const models = { m: { provider: protocol.provider, model: 'm', base_url: served.url } };
  const heard: string[] = [];
  const told: unknown[] = [];
  for (const answer of [
    text(401, protocol.error('invalid_api_key', `Incorrect API key provided: ${key}`)),
    text(500, `<html>${key}</html>`),
    text(200, `{"${key}`),
    text(200, protocol.body({ text: `You are ${key}.`, call: { id: key, name: 'x', args: `{"k":"${key}"}` } })),
  ]) {
    served.answer = answer;
    told.push(await call({ models }));
  }
  served.answer = sse(protocol.stream({ text: key }).replaceAll(/"(s|A)"/g, `"${key}"`));
  told.push(await call({ models }, { onDelta: (_, __, delta) => heard.push(delta) }));
  expect(told).toHaveLength(5);
  expect(told[0]).toMatchObject({ ok: false, error: { type: 'AuthenticationError' } });
  expect(told[3]).toMatchObject({ ok: true, value: { text: 'You are [redacted].' } });
  expect(JSON.stringify(told)).not.toContain(key);
  expect(heard.some((delta) => delta.includes(key))).toBe(false);
  expect(JSON.stringify(served.asked.map(({ body }) => body))).not.toContain(key);
});

test('what looks like a key is taken out of sentences, and ordinary words are not', () => {
  expect(redactText('Incorrect API key provided: sk-proj-abc***********wxyz.', undefined)).toBe(
    'Incorrect API key provided: [redacted].',
  );
  expect(redactText('ask the skilled pk team about sk-1', 'short')).toBe('ask the skilled pk team about sk-1');
});

describe('a secret with a quote and a line break', () => {
  const secret = 'pass"word\nof\\eight';
  const once = JSON.stringify({ t: secret });
  const twice = JSON.stringify({ body: once });

  test.each([
    ['as it is', { t: secret }, { t: '[redacted]' }],
    ['as the name of a field', { [secret]: 1 }, { '[redacted]': 1 }],
    ['quoted in JSON', { data: once }, { data: '{"t":"[redacted]"}' }],
    ['quoted twice', [twice], [JSON.stringify({ body: '{"t":"[redacted]"}' })]],
  ])('is taken out %s', (_, value, clean) => {
    expect(redactValue(value, secret)).toEqual(clean);
    for (const text of [once, twice]) expect(redactText(text, secret)).not.toContain('word');
  });
});

test('a secret that could be half of an escape, or is a number, breaks nothing', () => {
  expect(redactValue({ a: '\nabcdefgh', b: 'nabcdefgh' }, 'nabcdefgh')).toEqual({ a: '\nabcdefgh', b: '[redacted]' });
  expect(redactValue({ pin: 12345678, other: 1 }, '12345678')).toEqual({ pin: '[redacted]', other: 1 });
});

describe('every configured key', () => {
  const other = 'groq-key-of-another-model-01';
  const header = 'header-token-0000001';
  const forms = (secret: string): string[] => [
    secret,
    Buffer.from(secret).toString('base64'),
    Buffer.from(`user:${secret}`).toString('base64'),
  ];

  test.each(PROTOCOLS)(
    '$provider: keys of other models and of headers are removed, plain and as base64',
    async (protocol) => {
      const said = [KEY_OF[protocol.provider], other, header].flatMap(forms);
      await using served = await serve(text(200, protocol.body({ text: said.join(' and ') })));
      const models = {
        m: {
          provider: protocol.provider,
          model: 'm',
          base_url: served.url,
          headers: { 'x-auth': `Bearer ${header}`, 'x-team': 'support desk' },
        },
        n: { provider: 'local', model: 'n', base_url: served.url, api_key_env: 'OTHER_KEY' },
      };
      const env = { ...KEYS, OTHER_KEY: other };
      const settled = JSON.stringify(await call({ models }, { env }));
      for (const form of said) expect(settled).not.toContain(form.replace(/=+$/, ''));
      served.answer = text(400, protocol.error('bad', `no: ${said.join(' ')} at the support desk`));
      const failed = JSON.stringify(await call({ models }, { env }));
      for (const form of said) expect(failed).not.toContain(form.replace(/=+$/, ''));
      expect(failed).toContain('support desk');
    },
  );

  test('the result of a tool holds no key of a provider', async () => {
    const env = { OPENAI_API_KEY: KEYS.OPENAI_API_KEY };
    const { ask, dir } = tools({ env });
    writeFileSync(join(dir, '.env'), forms(KEYS.OPENAI_API_KEY).join('\n'));
    const read = JSON.stringify(await ask('read_file', { path: '.env' }));
    expect(read).toContain('[redacted]');
    for (const form of forms(KEYS.OPENAI_API_KEY)) expect(read).not.toContain(form.replace(/=+$/, ''));
  });
});
