/** HTTP tools: who may be called, at which address, how much is read, and what an answer that is no success becomes. */
import { gzipSync } from 'node:zlib';
import { describe, expect, test } from 'vitest';
import { isPublicAddress } from '../../src/calls/public-addresses.ts';
import type { HttpOptions } from '@sluice-internal/tools/calls';
import { callOf, tools } from './call.ts';
import { json, serve } from './http-server.ts';

/** Every name leads to this machine, and only `api.test` may. */
const LOCAL: HttpOptions = {
  hosts: ['api.test', '*.inside.test'],
  privateHosts: ['api.test'],
  resolve: () => Promise.resolve(['127.0.0.1']),
};

describe('the built-in tools', () => {
  test('give status, headers and body, as JSON where it is JSON', async () => {
    const { port } = await serve((request, response) =>
      request.url === '/j' ? json(response, { a: 1 }) : void response.end('plain'),
    );
    const { ask } = tools({ http: LOCAL });
    expect(await ask('http.get', { url: `http://api.test:${port}/j` })).toMatchObject({
      ok: true,
      value: { status: 200, body: { a: 1 }, truncated: false },
    });
    expect(await ask('http.get', { url: `http://api.test:${port}/t` })).toMatchObject({ value: { body: 'plain' } });
  });

  test('send a body and the call’s key where something may change §pathologies/idempotency-failure', async () => {
    const { port, seen } = await serve((_, response) => void response.end());
    const { ask } = tools({ http: LOCAL });
    await ask(
      'http.request',
      { method: 'POST', url: `http://api.test:${port}/`, headers: { 'x-a': '1' }, body: { n: 1 } },
      { key: 'k-7' },
    );
    await ask('http.get', { url: `http://api.test:${port}/` }, { key: 'k-8' });
    expect(seen[0]).toMatchObject({
      method: 'POST',
      body: '{"n":1}',
      headers: { 'idempotency-key': 'k-7', 'content-type': 'application/json', 'x-a': '1' },
    });
    expect(seen[1]?.headers['idempotency-key']).toBeUndefined();
  });

  test('call no host that is not on the list, and by default none', async () => {
    const { port, seen } = await serve((_, response) => void response.end());
    for (const http of [LOCAL, undefined]) {
      const { ask } = tools({ http });
      for (const url of [`http://other.test:${port}/`, 'http://inside.test/', `http://api.test.evil.test:${port}/`])
        expect(await ask('http.get', { url })).toMatchObject({
          ok: false,
          class: 'policy',
          type: 'HostError',
          message: expect.stringContaining('not allowed'),
        });
    }
    expect(seen).toEqual([]);
  });

  test('refuse an invalid web address', async () => {
    const { ask } = tools({ http: { hosts: ['*'] } });
    expect(await ask('http.get', { url: 'nonsense' })).toMatchObject({ type: 'ArgumentError' });
    for (const url of ['file:///etc/passwd', 'ftp://api.test/', 'http://user:pass@api.test/'])
      expect(await ask('http.get', { url })).toMatchObject({ class: 'policy', type: 'HostError' });
  });
});

describe('private addresses', () => {
  test.each([
    '127.0.0.1',
    '10.1.2.3',
    '172.16.0.1',
    '172.31.255.255',
    '192.168.1.1',
    '169.254.169.254',
    '100.64.0.1',
    '0.0.0.0',
    '224.0.0.1',
    '255.255.255.255',
    '::1',
    '::',
    'fe80::1',
    'fd00::1',
    '::ffff:127.0.0.1',
    '::ffff:8.8.8.8',
    '64:ff9b::7f00:1',
    '2002:7f00:1::',
    '2001:db8::1',
    'ff02::1',
    'not an address',
  ])('%s is private', (address) => {
    expect(isPublicAddress(address)).toBe(false);
  });
  test.each(['1.1.1.1', '8.8.8.8', '172.15.0.1', '172.32.0.1', '2606:4700:4700::1111'])('%s is public', (address) => {
    expect(isPublicAddress(address)).toBe(true);
  });

  test('are refused however they are written', async () => {
    const { port, seen } = await serve((_, response) => void response.end());
    const { ask } = tools({ http: { hosts: ['*'] } });
    for (const host of [
      '127.0.0.1',
      '2130706433',
      '0x7f.1',
      '0177.0.0.1',
      '[::1]',
      '[::ffff:127.0.0.1]',
      '0',
      'localhost',
    ])
      expect(await ask('http.get', { url: `http://${host}:${port}/` }), host).toMatchObject({
        ok: false,
        class: 'policy',
        type: 'HostError',
      });
    expect(seen).toEqual([]);
  });

  test('are refused when only one of a host’s addresses is private', async () => {
    const { ask } = tools({ http: { hosts: ['*'], resolve: () => Promise.resolve(['1.1.1.1', '10.0.0.1']) } });
    expect(await ask('http.get', { url: 'http://two.test/' })).toMatchObject({
      class: 'policy',
      message: expect.stringContaining('10.0.0.1'),
    });
  });

  test('are refused behind a redirect', async () => {
    const { port, seen } = await serve(
      (_, response) => void response.writeHead(302, { location: `http://127.0.0.1:${port}/secret` }).end(),
    );
    const { ask } = tools({ http: { ...LOCAL, hosts: ['*'] } });
    expect(await ask('http.get', { url: `http://api.test:${port}/start` })).toMatchObject({
      class: 'policy',
      type: 'HostError',
    });
    expect(seen.map(({ url }) => url)).toEqual(['/start']);
  });

  test('cannot be had by a resolver that changes its mind', async () => {
    const { port, seen } = await serve((_, response) => void response.end('inside'));
    let asked = 0;
    // The second answer, which a client that resolves again when it connects would use, leads inside.
    const resolve = (): Promise<string[]> => Promise.resolve([(asked += 1) === 1 ? '1.0.0.1' : '127.0.0.1']);
    const { ask } = tools({ http: { hosts: ['*'], resolve, timeoutMs: 400 } });
    expect(await ask('http.get', { url: `http://rebind.test:${port}/` })).toMatchObject({ ok: false });
    expect(asked).toBe(1);
    expect(seen).toEqual([]);
    expect(await ask('http.get', { url: `http://rebind.test:${port}/` })).toMatchObject({
      class: 'policy',
      type: 'HostError',
    });
    expect(seen).toEqual([]);
  });
});

describe('limits', () => {
  test('50 MB are cut, with a flag, and so is what unpacks to it', async () => {
    const { port } = await serve((request, response) => {
      if (request.url === '/packed')
        response.setHeader('content-encoding', 'GZIP').end(gzipSync(Buffer.alloc(50_000_000, 'x')));
      else response.end(Buffer.alloc(50_000_000, 'x'));
    });
    const { ask } = tools({ http: { ...LOCAL, responseMax: 1000 } });
    for (const path of ['plain', 'packed']) {
      const outcome = await ask('http.get', { url: `http://api.test:${port}/${path}` });
      expect(outcome).toMatchObject({ ok: true, value: { truncated: true } });
      expect((outcome as unknown as { value: { body: string } }).value.body).toHaveLength(1000);
    }
  });

  test('a server that never answers, or never ends, is given up', async () => {
    const { port } = await serve((request, response) => {
      if (request.url === '/half') response.writeHead(200).write('half');
    });
    const { ask } = tools({ http: { ...LOCAL, timeoutMs: 300 } });
    for (const path of ['silent', 'half'])
      expect(await ask('http.get', { url: `http://api.test:${port}/${path}` })).toMatchObject({
        ok: false,
        class: 'timeout',
        type: 'TimeoutError',
      });
  });

  test.each([
    [400, 'fatal', 'HttpError'],
    [401, 'policy', 'HttpError'],
    [404, 'fatal', 'HttpError'],
    [408, 'timeout', 'HttpError'],
    [429, 'rate_limit', 'RateLimitError'],
    [500, 'transient', 'HttpError'],
    [503, 'transient', 'HttpError'],
    [504, 'timeout', 'HttpError'],
  ])('an answer of %i is a failure of class %s §pathologies/tool-credential-expiry', async (status, failure, type) => {
    const { port } = await serve((_, response) => void response.writeHead(status, { 'retry-after': '7' }).end('why'));
    const { ask } = tools({ http: LOCAL });
    expect(await ask('http.get', { url: `http://api.test:${port}/` })).toMatchObject({
      ok: false,
      class: failure,
      type,
      message: expect.stringMatching(new RegExp(`answered ${status} \\(retry after 7\\): why`)),
    });
  });

  test.each([
    ['7', 7_000],
    [new Date(Date.now() + 20_000).toUTCString(), expect.toSatisfy((ms: number) => ms > 0 && ms <= 20_000)],
    ['soon', undefined],
  ])('`Retry-After: %s` is the least time before a retry', async (after, retryAfterMs) => {
    const { port } = await serve((_, response) => void response.writeHead(429, { 'retry-after': after }).end());
    const { performer } = tools({ http: LOCAL });
    const asked = performer.perform(callOf('http.get', { url: `http://api.test:${port}/` }, {}));
    await expect(asked).rejects.toMatchObject({ class: 'rate_limit', retryAfterMs });
  });

  test('a gateway that lost the server does not say whether a request with effects happened', async () => {
    const { port } = await serve((_, response) => void response.writeHead(502).end());
    const { ask } = tools({ http: LOCAL });
    expect(await ask('http.get', { url: `http://api.test:${port}/` })).toMatchObject({ class: 'transient' });
    expect(await ask('http.post', { url: `http://api.test:${port}/` })).toMatchObject({ class: 'timeout' });
  });

  test('a connection that breaks, or is refused, is transient', async () => {
    const { port } = await serve((request, response) => {
      if (request.url === '/cut')
        response.writeHead(200, { 'content-length': '100' }).write('half', () => request.socket.destroy());
      else request.socket.destroy();
    });
    const { ask } = tools({ http: LOCAL });
    for (const path of ['cut', 'drop'])
      expect(await ask('http.get', { url: `http://api.test:${port}/${path}` })).toMatchObject({
        ok: false,
        class: 'transient',
        type: 'ConnectionError',
      });
    expect(await ask('http.get', { url: 'http://api.test:1/' })).toMatchObject({
      class: 'transient',
      type: 'ConnectionError',
    });
  });

  test('a request with effects that was sent and got no whole answer may have happened, as after a timeout', async () => {
    const { port } = await serve((request, response) => {
      if (request.url === '/cut')
        response.writeHead(200, { 'content-length': '100' }).write('half', () => request.socket.destroy());
      else request.socket.destroy();
    });
    const { ask } = tools({ http: LOCAL });
    const lost = { ok: false, class: 'timeout', type: 'ConnectionError' };
    for (const path of ['cut', 'drop'])
      expect(await ask('http.post', { url: `http://api.test:${port}/${path}` })).toMatchObject(lost);
    const http = { method: 'POST', url: `http://127.0.0.1:${port}/drop` };
    expect(await ask('pay', {}, { tool: { effect: 'financial', implementation: { http } } })).toMatchObject({
      ...lost,
      message: expect.stringContaining('closed the connection without an answer'),
    });
    expect(await ask('find', {}, { tool: { effect: 'read', implementation: { http } } })).toMatchObject({
      class: 'transient',
    });
    expect(await ask('http.post', { url: 'http://api.test:1/' })).toMatchObject({
      class: 'transient',
      message: expect.stringContaining('cannot be reached'),
    });
  });
});

describe('declared requests', () => {
  const declared = (port: number, http: object) =>
    ({ tool: { implementation: { http: { url: `http://127.0.0.1:${port}/`, ...http } } } }) as const;

  test('put arguments into address, headers, query and body, once', async () => {
    const { port, seen } = await serve((_, response) => json(response, { sent: true }));
    const { ask } = tools({ env: { TOKEN: 't-1' } });
    const asking = declared(port, {
      method: 'PUT',
      url: `http://127.0.0.1:${port}/users/{{id}}`,
      headers: { authorization: 'Bearer {{env.TOKEN}}' },
      query: { q: '{{args.q}}' },
      body: { text: 'Hi {{name}}', n: '{{n}}' },
    });
    expect(await ask('t', { id: '../a b', q: 'x&y', name: '{{env.TOKEN}}', n: 3 }, asking)).toEqual({
      ok: true,
      value: { sent: true },
    });
    expect(seen[0]).toMatchObject({
      method: 'PUT',
      url: '/users/..%2Fa%20b?q=x%26y',
      headers: { authorization: 'Bearer t-1' },
      body: '{"text":"Hi {{env.TOKEN}}","n":3}',
    });
  });

  test('without a body or a query, arguments go where the method has them', async () => {
    const { port, seen } = await serve((_, response) => void response.end('ok'));
    const { ask } = tools();
    await ask('t', { a: 1 }, declared(port, { method: 'POST' }));
    await ask('t', { a: 1, b: 'x' }, declared(port, { url: `http://127.0.0.1:${port}/{{b}}` }));
    expect(seen).toMatchObject([
      { method: 'POST', body: '{"a":1}' },
      { method: 'GET', url: '/x?a=1', body: '' },
    ]);
    expect(seen[0]?.headers['idempotency-key']).toBeDefined();
  });

  test('a host that an argument chooses must be on the list', async () => {
    const { port, seen } = await serve((_, response) => void response.end('ok'));
    const { ask } = tools();
    expect(await ask('t', { host: '127.0.0.1' }, declared(port, { url: `http://{{host}}:${port}/` }))).toMatchObject({
      class: 'policy',
      type: 'HostError',
    });
    expect(seen).toEqual([]);
  });

  test('a URL that starts with a template gets its scheme and host from there, and the host must be on the list', async () => {
    const { port, seen } = await serve((_, response) => void response.end('ok'));
    const { ask } = tools({ http: LOCAL });
    const api = declared(port, { url: '{{base}}/users/{{id}}' });
    expect(await ask('t', { base: `http://api.test:${port}`, id: 'a/b' }, api)).toMatchObject({ ok: true });
    expect(await ask('t', { base: `http://other.test:${port}`, id: '1' }, api)).toMatchObject({ type: 'HostError' });
    expect(seen.map(({ url }) => url)).toEqual(['/users/a%2Fb']);
  });

  test.each([
    ['/users/{{v}}/echo', '..'],
    ['/users/{{v}}/echo', '.'],
    ['/users/{{ args.v }}', '..'],
    ['/users/.{{v}}/echo', '.'],
    ['/users/%2{{v}}%2E/echo', 'e'],
    ['/users\\{{v}}\\echo', '..'],
    ['/users/{{v}}/echo', '%2e%2e', '/users/%252e%252e/echo'],
    ['/users/{{v}}/echo', '...', '/users/.../echo'],
    ['/users/../{{v}}?at={{v}}', 'a', '/a?at=a'],
    ['/users?at={{v}}', '..', '/users?at=..'],
  ])('no value leads out of its place in the path: %s with %j', async (path, v, called?: string) => {
    const { port, seen } = await serve((_, response) => void response.end('ok'));
    const { ask } = tools();
    const outcome = await ask('t', { v }, declared(port, { url: `http://127.0.0.1:${port}${path}` }));
    expect(outcome).toMatchObject(called === undefined ? { ok: false, type: 'ArgumentError' } : { ok: true });
    expect(seen.map(({ url }) => url)).toEqual(called === undefined ? [] : [called]);
  });

  test('nothing is sent without a variable that it needs', async () => {
    const { port, seen } = await serve((_, response) => void response.end('ok'));
    const { ask } = tools({ env: { EMPTY: '' } });
    const headers = (name: string) => declared(port, { headers: { authorization: `Bearer {{env.${name}}}` } });
    expect(await ask('t', {}, headers('ABSENT'))).toMatchObject({
      ok: false,
      class: 'fatal',
      type: 'NotConfiguredError',
      message: expect.stringContaining('`ABSENT`'),
    });
    expect(seen).toEqual([]);
    expect(await ask('t', {}, headers('EMPTY'))).toMatchObject({ ok: true });
  });

  test('a public name that turns out to be inside is refused, although the author wrote it', async () => {
    const { port, seen } = await serve((_, response) => void response.end('ok'));
    const { ask } = tools({ http: { resolve: () => Promise.resolve(['127.0.0.1']) } });
    expect(await ask('t', {}, declared(port, { url: `http://partner.test:${port}/` }))).toMatchObject({
      class: 'policy',
      type: 'HostError',
    });
    expect(seen).toEqual([]);
  });

  test('a compensation sees what the call had given', async () => {
    const { port, seen } = await serve((_, response) => void response.end('ok'));
    const { ask } = tools();
    await ask(
      't',
      { to: 'a' },
      {
        ...declared(port, { method: 'DELETE', url: `http://127.0.0.1:${port}/messages/{{result.id}}`, query: {} }),
        result: { id: 'm-1' },
      },
    );
    expect(seen).toMatchObject([{ method: 'DELETE', url: '/messages/m-1' }]);
  });
});
