/** An MCP server names pages of an authorization server. It cannot make the engine call a host of its network with that. */
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { expect, onTestFinished, test } from 'vitest';
import { guardedFetch } from '../../src/mcp/guarded-fetch.ts';

interface Started {
  readonly url: URL;
  /** The paths that were asked for. */
  readonly asked: string[];
}

/** Each address of 127.0.0.0/8 is this machine, and another host for a URL. */
async function start(address: string, redirectTo?: () => string): Promise<Started> {
  const asked: string[] = [];
  const server = createServer((request, response) => {
    asked.push(request.url ?? '');
    if (redirectTo !== undefined && request.url === '/moved') response.writeHead(307, { location: redirectTo() }).end();
    else response.writeHead(200, { 'content-type': 'application/json' }).end('{"ok":true}');
  });
  await new Promise<void>((resolve) => server.listen(0, address, resolve));
  onTestFinished(() => void (server.closeAllConnections(), server.close()));
  return { url: new URL(`http://${address}:${(server.address() as AddressInfo).port}/`), asked };
}

test('the server that the document names may be in the own network, and every other host must be public', async () => {
  const server = await start('127.0.0.1');
  const inside = await start('127.0.0.2');
  const ask = guardedFetch(server.url, undefined);
  expect(await (await ask(server.url)).json()).toEqual({ ok: true });
  await expect(ask(inside.url)).rejects.toThrow('not public');
  await expect(ask('http://169.254.169.254/latest/meta-data/')).rejects.toThrow('not public');
  await expect(ask('http://[::1]:1/')).rejects.toThrow('not public');
  expect(inside.asked).toEqual([]);
});

test('a name is checked by every address that it has', async () => {
  const server = await start('127.0.0.1');
  const ask = guardedFetch(server.url, undefined, { resolve: async () => ['93.184.215.14', '10.0.0.5'] });
  await expect(ask('https://auth.example.com/.well-known/oauth-authorization-server')).rejects.toThrow('10.0.0.5');
});

test('the authorization server that the document names may be in the own network too', async () => {
  const server = await start('127.0.0.1');
  const inside = await start('127.0.0.2');
  const ask = guardedFetch(server.url, inside.url.origin);
  const response = await ask(new URL('/token', inside.url), { method: 'POST', body: 'grant_type=x' });
  expect([response.status, await response.json()]).toEqual([200, { ok: true }]);
  expect(inside.asked).toEqual(['/token']);
});

test('a redirect of the server stays with the server', async () => {
  const inside = await start('127.0.0.2');
  const away = await start('127.0.0.1', () => inside.url.href);
  await expect(guardedFetch(away.url, undefined)(new URL('/moved', away.url))).rejects.toThrow('does not name that');
  expect(inside.asked).toEqual([]);
  const here = await start('127.0.0.1', () => '/there');
  expect((await guardedFetch(here.url, undefined)(new URL('/moved', here.url))).status).toBe(200);
  expect(here.asked).toEqual(['/moved', '/there']);
});
