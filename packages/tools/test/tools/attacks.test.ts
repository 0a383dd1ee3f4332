/** Attacks through arguments, headers, secrets and patterns (issue 18). */
import { createServer } from 'node:http';
import { createServer as createTcpServer } from 'node:net';
import { describe, expect, onTestFinished, test } from 'vitest';
import { redactText, redactValue } from '@sluice-internal/platform';
import { pure } from '@sluice-internal/engine/ports';
import { tools } from './call.ts';

describe('headers of http.request', () => {
  const RESERVED = ['Host', 'host', 'Idempotency-Key', 'Content-Length', 'Transfer-Encoding', 'Connection'];
  // Some servers take the method or the path from such a header, so a read would become a deletion.
  const OVERRIDES = ['X-HTTP-Method-Override', 'x-method-override', 'X-Original-URL', 'X-Forwarded-Host'];
  test.each([...RESERVED, ...OVERRIDES])('%s cannot be set by the model', async (header) => {
    let requests = 0;
    const server = createTcpServer((socket) => {
      requests += 1;
      socket.destroy();
    }).listen(0, '127.0.0.1');
    onTestFinished(() => void server.close());
    await new Promise((resolve) => server.once('listening', resolve));
    const url = `http://127.0.0.1:${(server.address() as { port: number }).port}/`;
    const { ask } = tools({ http: { hosts: ['127.0.0.1'], privateHosts: ['127.0.0.1'] } });
    const expected = { ok: false, class: 'policy', type: 'HeaderError', message: expect.stringContaining(header) };
    expect(await ask('http.request', { method: 'POST', url, headers: { [header]: 'x' } })).toMatchObject(expected);
    expect(await ask('http.get', { url, headers: { [header]: 'x' } })).toMatchObject(expected);
    expect(requests).toBe(0);
  });

  test('the key of the call is sent', async () => {
    const keys: unknown[] = [];
    const server = createServer((request, response) => {
      keys.push(request.headers['idempotency-key']);
      response.end('{}');
    }).listen(0, '127.0.0.1');
    onTestFinished(() => void server.close());
    await new Promise((resolve) => server.once('listening', resolve));
    const url = `http://127.0.0.1:${(server.address() as { port: number }).port}/`;
    const { ask } = tools({ http: { hosts: ['127.0.0.1'], privateHosts: ['127.0.0.1'] } });
    expect(await ask('http.request', { method: 'POST', url }, { key: 'key-1' })).toMatchObject({ ok: true });
    expect(keys).toEqual(['key-1']);
  });
});

describe('a secret is removed', () => {
  const secret = 'pässword /+?&=x"y';
  const forms: [string, string][] = [
    ['as it is', secret],
    ['as JSON', JSON.stringify({ k: secret })],
    ['as base64', Buffer.from(secret).toString('base64')],
    ['as base64 without padding', Buffer.from(secret).toString('base64').replace(/=+$/, '')],
    ['as base64url', Buffer.from(secret).toString('base64url')],
    ['as base64 after a name', Buffer.from(`user:${secret}`).toString('base64')],
    ['as base64 after another name', Buffer.from(`u:${secret}@host`).toString('base64')],
    ['as base64 between other text', Buffer.from(`abc${secret}abcd`).toString('base64url')],
    ['as hex', Buffer.from(secret).toString('hex')],
    ['as upper-case hex', Buffer.from(secret).toString('hex').toUpperCase()],
    ['in a URL', encodeURIComponent(secret)],
    ['in a URL with lower-case escapes', encodeURIComponent(secret).replace(/%../g, (escape) => escape.toLowerCase())],
    ['in a form', new URLSearchParams({ k: secret }).toString()],
  ];

  test.each(forms)('%s', (_, text) => {
    for (const clean of [redactText(`got ${text}.`, secret), redactValue({ got: [`got ${text}.`] }, secret).got[0]]) {
      expect(clean).toContain('[redacted]');
      expect(clean).toMatch(/^got /);
      expect(clean).not.toContain(text);
      const left = String(clean).replaceAll('[redacted]', '');
      expect(Buffer.from(left, 'base64').toString('utf8')).not.toContain('ssword');
    }
  });

  test('and other text stays', () => {
    const value = { a: 'nothing to see', b: [1, null, 'YWJjZGVmZ2g='] };
    expect(redactValue(value, secret)).toBe(value);
    expect(redactText('short', 'short')).toBe('short');
  });

  test('from the result of a tool that repeats it in base64', async () => {
    const { ask } = tools({ env: { TOKEN: 'super-secret-token' } });
    const outcome = await ask(
      'leak',
      {},
      {
        tool: {
          implementation: { shell: { command: 'printf %s "$T" | base64', env: { T: '{{env.TOKEN}}' } } },
        },
      },
    );
    expect(outcome).toEqual({ ok: true, value: '[redacted]' });
  });
});

describe('a pattern that makes other engines backtrack', () => {
  const evil = { type: 'string', pattern: '^(a+)+$' };
  const text = `${'a'.repeat(5_000)}b`;

  test('takes no time in a schema', () => {
    const started = performance.now();
    expect(pure.validate(evil, text)).toContain('must match pattern');
    expect(
      pure.validate({ type: 'object', patternProperties: { '^(b+)+$': false } }, { [`${'b'.repeat(5_000)}c`]: 1 }),
    ).toBeNull();
    expect(performance.now() - started).toBeLessThan(30_000);
  });

  test('takes no time in the arguments of a tool', async () => {
    const { ask } = tools();
    const started = performance.now();
    expect(await ask('t', text, { tool: { input: evil, implementation: { code: { source: '1' } } } })).toMatchObject({
      ok: false,
      type: 'ArgumentError',
    });
    expect(performance.now() - started).toBeLessThan(30_000);
  });

  test('means what it means in JavaScript', () => {
    for (const [pattern, good, bad] of [
      ['^\\u0041+$', 'AA', 'B'],
      ['^[^]$', '\n', ''],
      ['^\\d{3}-\\p{L}$', '123-é', '12-é'],
      ['^a.c$', 'abc', 'a\nc'],
      ['^\\S+@\\S+$', 'a@b', 'a b'],
    ] as const) {
      expect(pure.validate({ type: 'string', pattern }, good), pattern).toBeNull();
      expect(pure.validate({ type: 'string', pattern }, bad), pattern).not.toBeNull();
    }
  });
});
