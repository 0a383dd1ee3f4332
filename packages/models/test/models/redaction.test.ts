/** Keys stay out of everything that is recorded, shown or passed on, even where a server sends them back. */
import { generateKeyPairSync } from 'node:crypto';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { StreamRedactor, redactText, redactValue } from '@sluice-internal/platform';
import { tools } from '../../../tools/test/tools/call.ts';
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
  told.push(await call({ models, onText: (delta) => heard.push(delta) }));
  expect(told).toHaveLength(5);
  expect(told[0]).toMatchObject({ ok: false, error: { type: 'AuthenticationError' } });
  expect(told[3]).toMatchObject({ ok: true, value: { text: 'You are [redacted].' } });
  expect(JSON.stringify(told)).not.toContain(key);
  expect(heard.some((delta) => delta.includes(key))).toBe(false);
  expect(JSON.stringify(served.asked.map(({ body }) => body))).not.toContain(key);
});

test.each(PROTOCOLS)('$provider: a key that is streamed character by character is not shown', async (protocol) => {
  const key = KEY_OF[protocol.provider];
  await using served = await serve(sse(protocol.stream({ text: `It is ${key}, keep it` })));
  const models = { m: { provider: protocol.provider, model: 'm', base_url: served.url } };
  const heard: string[] = [];
  const settled = await call({ models, onText: (delta) => heard.push(delta) });
  expect(heard.join('')).toBe('It is [redacted], keep it');
  expect(settled).toMatchObject({ ok: true, value: { text: 'It is [redacted], keep it' } });
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

describe('a key in another form is removed', () => {
  const key = 'sk-proj/A+b c_0123456789-äöü-XYZxyz"q';
  const bytes = Buffer.from(key);
  const base64 = bytes.toString('base64');
  const lines = (text: string, width: number, end: string): string =>
    text.replaceAll(new RegExp(`.{${width}}`, 'g'), (line) => line + end);
  const mixed = (text: string): string =>
    [...text].map((each, at) => (at % 3 === 0 ? each.toUpperCase() : each)).join('');
  const url = encodeURIComponent(key);

  test.each([
    ['base64 in lines', lines(base64, 10, '\n')],
    ['base64 in lines of a mail', lines(Buffer.from(`user:${key}`).toString('base64'), 16, '\r\n')],
    ['base64 in lines, in JSON', JSON.stringify(lines(base64, 8, '\n'))],
    ['base64 in a URL', encodeURIComponent(base64)],
    ['hex of mixed case', mixed(bytes.toString('hex'))],
    ['hex with colons', lines(bytes.toString('hex'), 2, ':')],
    ['hex with spaces and a line end', lines(lines(bytes.toString('hex'), 2, ' '), 24, '\n')],
    ['a dump in C', [...bytes].map((byte) => `0x${byte.toString(16).padStart(2, '0')}`).join(', ')],
    ['URL encoded', url],
    ['URL encoded twice', encodeURIComponent(url)],
    [
      'URL encoded three times, lower case',
      encodeURIComponent(encodeURIComponent(url)).toLowerCase().replace('sk', 'sk'),
    ],
    ['every byte as %xx', [...bytes].map((byte) => `%${byte.toString(16)}`).join('')],
    ['a form', new URLSearchParams({ key }).toString()],
    [
      'JSON with escapes',
      `"${[...key].map((each) => `\\u${each.charCodeAt(0).toString(16).padStart(4, '0')}`).join('')}"`,
    ],
    ['HTML', [...key].map((each) => `&#${each.charCodeAt(0)};`).join('')],
  ])('%s', (name, text) => {
    const secret = name.includes('lower case') ? key.toLowerCase() : key;
    const found = redactValue({ text: `before ${text} after` }, secret).text;
    const clean = /^before (?:0x|key=|dXNlcjp)?"?\[redacted\][\s\S]{0,7} after$/;
    expect(found).toMatch(clean);
    expect(redactText(text, [secret, 'another-secret'])).toContain('[redacted]');
    for (const size of [1, 2, 3, 7, 40]) {
      const stream = new StreamRedactor<'text'>([secret]);
      const pieces = lines(`before ${text} after`, size, '\0').split('\0');
      const shown =
        pieces.map((piece) => stream.push(piece, 'text')).join('') +
        stream
          .end()
          .map(([each]) => each)
          .join('');
      expect(shown).toMatch(clean);
    }
  });

  test('a stream holds back no more than the start of a key', () => {
    const stream = new StreamRedactor<'text'>([key]);
    expect(stream.push('Hello, ask', 'text')).toBe('Hello, a');
    expect(stream.push('ing for sk-pro', 'text')).toBe('sking for ');
    expect(stream.push('blems', 'text')).toBe('sk-problem');
    expect(stream.end()).toEqual([['s', 'text']]);
  });

  test('a large text is searched in linear time', () => {
    const text = 'c2stcHJvai9BK2IgY18wMTIzNDU2Nz sk-proj/A+b %73%6b 73:6b '.repeat(20_000);
    const started = performance.now();
    expect(redactValue(text, [key, 'another-secret-0001', 'a-third-secret-00001'])).toBe(text);
    expect(performance.now() - started).toBeLessThan(30_000);
  });
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

describe('a private key of 1,700 characters is removed', () => {
  const { privateKey } = generateKeyPairSync('rsa', {
    modulusLength: 2048,
    privateKeyEncoding: { type: 'pkcs8', format: 'pem' },
    publicKeyEncoding: { type: 'spki', format: 'pem' },
  });
  const bytes = Buffer.from(privateKey);

  test.each([
    ['as it is', privateKey],
    ['in JSON', JSON.stringify({ key: privateKey })],
    ['in base64', bytes.toString('base64')],
    ['in base64 of a longer text', Buffer.from(`u:${privateKey}`).toString('base64')],
    ['in hex with spaces', bytes.toString('hex').replaceAll(/../g, '$& ')],
    ['URL encoded', encodeURIComponent(privateKey)],
  ])('%s', (_, text) => {
    const clean = redactText(`before ${text} after`, privateKey);
    expect(clean).toContain('[redacted]');
    expect(clean.length).toBeLessThan(60);
    const stream = new StreamRedactor<'text'>([privateKey]);
    let shown = '';
    for (let from = 0; from < text.length; from += 97) shown += stream.push(text.slice(from, from + 97), 'text');
    expect((shown + stream.end().join('')).length).toBeLessThan(60);
  });

  test('of which only the first part is there: the text stays as it is', () => {
    const text = `before ${privateKey.slice(0, 900)} after`;
    expect(redactText(text, privateKey)).toBe(text);
    const stream = new StreamRedactor<'text'>([privateKey]);
    expect(
      stream.push(text, 'text') +
        stream
          .end()
          .map(([rest]) => rest)
          .join(''),
    ).toBe(text);
  });
});

test('a key at the place where the text of an error is cut', async () => {
  const key = 'cut-secret-0123456789-0123456789';
  await using served = await serve(text(401, `${'x'.repeat(290)}${key}`));
  const { ask } = tools({ env: { CUT_KEY: key } });
  const http = { url: served.url, headers: { authorization: 'Bearer {{env.CUT_KEY}}' } };
  const shell = { command: `printf '%s%s' "$KEY" ${'x'.repeat(490)}; exit 1`, env: { KEY: '{{env.CUT_KEY}}' } };
  const slow = { ...shell, command: shell.command.replace('exit 1', 'sleep 600') };
  const failures = [
    await ask('t', {}, { tool: { implementation: { http } } }),
    await ask('t', {}, { tool: { implementation: { shell } } }),
    await ask('t', {}, { tool: { implementation: { shell: slow }, timeoutMs: 2_000 } }),
  ];
  expect(failures).toMatchObject([{ type: 'HttpError' }, { type: 'ExitError' }, { type: 'TimeoutError' }]);
  for (const part of [key.slice(0, 8), key.slice(-8)]) expect(JSON.stringify(failures)).not.toContain(part);
});
