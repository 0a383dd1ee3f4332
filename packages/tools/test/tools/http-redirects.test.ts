/** HTTP tools: where a redirect may lead. */
import { describe, expect, test } from 'vitest';
import type { HttpOptions } from '@sluice-internal/tools/calls';
import { tools } from './call.ts';
import { serve } from './http-server.ts';

/** Every name leads to this machine, and only `api.test` may. */
const LOCAL: HttpOptions = {
  hosts: ['api.test', '*.inside.test'],
  privateHosts: ['api.test'],
  resolve: () => Promise.resolve(['127.0.0.1']),
};

describe('redirects', () => {
  test('are followed where they may be, and lose what was meant for the first origin', async () => {
    const other = await serve((_, response) => void response.end('there'));
    const first = await serve(
      (_, response) => void response.writeHead(307, { location: `http://api.test:${other.port}/x` }).end(),
    );
    const { ask } = tools({ http: LOCAL });
    expect(
      await ask('http.request', {
        method: 'POST',
        url: `http://api.test:${first.port}/`,
        headers: { authorization: 'Bearer t', accept: 'text/plain' },
        body: 'b',
      }),
    ).toMatchObject({ value: { body: 'there', url: `http://api.test:${other.port}/x` } });
    expect(other.seen[0]).toMatchObject({ method: 'POST', body: 'b', headers: { accept: 'text/plain' } });
    expect(other.seen[0]?.headers.authorization).toBeUndefined();
  });

  test('go to allowed hosts only, and not for ever', async () => {
    const { port } = await serve(
      (request, response) =>
        void response.writeHead(302, { location: request.url === '/away' ? 'http://evil.test/' : '/again' }).end(),
    );
    const { ask } = tools({ http: LOCAL });
    expect(await ask('http.get', { url: `http://api.test:${port}/away` })).toMatchObject({
      class: 'policy',
      type: 'HostError',
    });
    expect(await ask('http.get', { url: `http://api.test:${port}/again` })).toMatchObject({
      class: 'fatal',
      type: 'RedirectError',
    });
  });

  test('to no address fail with the address', async () => {
    const { port } = await serve((_, response) => void response.writeHead(302, { location: 'http://[' }).end());
    const { ask } = tools({ http: LOCAL });
    expect(await ask('http.get', { url: `http://api.test:${port}/` })).toMatchObject({
      class: 'fatal',
      type: 'RedirectError',
      message: expect.stringContaining('redirects to `http://[`') as string,
    });
  });
});
