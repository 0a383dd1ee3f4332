/** Requests to services of the document by name: below their address, with their headers, and nowhere else. */
import { describe, expect, test } from 'vitest';
import type { Json } from '@sluice-internal/kernel/expr';
import { tools } from './call.ts';
import { json, serve } from './http-server.ts';

describe('profiles of the Http plugin', () => {
  const profiled = (port: number, headers: { [name: string]: string } = {}, env: { [name: string]: string } = {}) => {
    const profiles = { crm: { url: `http://127.0.0.1:${port}/api/`, headers, timeoutMs: 5000 } };
    const { ask } = tools({ env });
    return (args: { readonly [name: string]: Json }) =>
      ask('http.get', args, { tool: { implementation: { http: { method: 'GET', profiles } } } });
  };

  test('send the request below the address of the profile, with its headers', async () => {
    const { port, seen } = await serve((_, response) => json(response, { ok: true }));
    const call = profiled(port, { Authorization: 'Bearer {{env.CRM}}', Accept: 'a/b' }, { CRM: 'secret-token' });
    const result = await call({ url: '/contacts?limit=1', profile: 'crm', headers: { accept: 'c/d' } });
    expect(result).toMatchObject({ ok: true, value: { status: 200, body: { ok: true } } });
    expect(seen[0]).toMatchObject({
      url: '/api/contacts?limit=1',
      headers: { authorization: 'Bearer secret-token', accept: 'c/d' },
    });
  });

  test.each(['/../admin', 'https://elsewhere.example.com/api/x', '..%2f..%2f/../../x', '\\\\elsewhere.example.com'])(
    'refuse %s, which is not below it',
    async (url) => {
      const { port, seen } = await serve((_, response) => void response.end('x'));
      const result = await profiled(port)({ url, profile: 'crm' });
      expect(result).toMatchObject({ ok: false, class: 'policy', type: 'AddressError' });
      expect(seen).toHaveLength(0);
    },
  );

  test('are known by name, and requests without one follow the list of hosts', async () => {
    const { port } = await serve((_, response) => void response.end('x'));
    const call = profiled(port);
    expect(await call({ url: '/x', profile: 'erp' })).toMatchObject({ ok: false, type: 'ArgumentError' });
    expect(await call({ url: `http://127.0.0.1:${port}/api/x` })).toMatchObject({ ok: false, class: 'policy' });
  });

  test('requests without one stay on the hosts of the document, behind redirects too', async () => {
    const other = await serve((_, response) => void response.end('there'));
    const first = await serve(
      (_, response) => void response.writeHead(302, { location: `http://other.test:${other.port}/x` }).end(),
    );
    const hosts = ['first.test', 'other.test'];
    const { ask } = tools({ http: { hosts, privateHosts: hosts, resolve: () => Promise.resolve(['127.0.0.1']) } });
    const call = (allowed: string[]) =>
      ask(
        'http.get',
        { url: `http://first.test:${first.port}/` },
        { tool: { implementation: { builtin: 'http.get', http: { method: 'GET', profiles: {}, hosts: allowed } } } },
      );
    expect(await call(['*.test'])).toMatchObject({ ok: true, value: { body: 'there' } });
    expect(await call(['first.test'])).toMatchObject({ ok: false, class: 'policy', type: 'HostError' });
    expect(other.seen).toHaveLength(1);
  });
});
