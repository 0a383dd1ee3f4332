/** An HTTP server that wants OAuth: client credentials, a token that expires, wrong credentials. */
import { createServer } from 'node:http';
import type { IncomingMessage, ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { describe, expect, onTestFinished, test } from 'vitest';
import { folder } from '../cli/cli.ts';
import { sluice } from '../cli/in-process.ts';

const SECRET = 'oauth-client-secret-0001';

interface Started {
  readonly url: string;
  /** The tokens that were given out. */
  readonly tokens: string[];
  readonly grants: URLSearchParams[];
  /** Every token up to now is refused. */
  expire(): void;
}

/** An MCP server and its authorization server in one. */
async function start(authorization?: string): Promise<Started> {
  const tokens: string[] = [];
  const grants: URLSearchParams[] = [];
  let valid: string[] = [];
  const server = createServer((request, response) => void handle(request, response));
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  onTestFinished(() => void (server.closeAllConnections(), server.close()));
  const origin = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  const send = (
    response: ServerResponse,
    status: number,
    body: object,
    headers: { [name: string]: string } = {},
  ): void =>
    void response.writeHead(status, { 'content-type': 'application/json', ...headers }).end(JSON.stringify(body));

  async function handle(request: IncomingMessage, response: ServerResponse): Promise<void> {
    let body = '';
    for await (const chunk of request) body += String(chunk);
    const { pathname } = new URL(request.url ?? '/', origin);
    if (pathname.startsWith('/.well-known/oauth-protected-resource'))
      return send(response, 200, { resource: `${origin}/mcp`, authorization_servers: [authorization ?? origin] });
    if (pathname.startsWith('/.well-known/'))
      return send(response, 200, {
        issuer: origin,
        authorization_endpoint: `${origin}/authorize`,
        token_endpoint: `${origin}/token`,
        response_types_supported: ['code'],
        grant_types_supported: ['client_credentials'],
        token_endpoint_auth_methods_supported: ['client_secret_basic', 'client_secret_post'],
      });
    if (pathname === '/token') return token(request, response, new URLSearchParams(body));
    if (!valid.includes(request.headers.authorization?.replace('Bearer ', '') ?? '')) {
      const where = `Bearer resource_metadata="${origin}/.well-known/oauth-protected-resource"`;
      return send(response, 401, { error: 'invalid_token' }, { 'www-authenticate': where });
    }
    return answer(response, request.method ?? '', body);
  }

  function token(request: IncomingMessage, response: ServerResponse, grant: URLSearchParams): void {
    grants.push(grant);
    const basic = Buffer.from(request.headers.authorization?.replace('Basic ', '') ?? '', 'base64').toString();
    const secret = grant.get('client_secret') ?? basic.split(':')[1];
    if (grant.get('grant_type') !== 'client_credentials' || secret !== SECRET)
      return send(response, 401, { error: 'invalid_client', error_description: 'wrong secret' });
    const issued = `token-${tokens.length + 1}-of-the-server`;
    tokens.push(issued);
    valid.push(issued);
    send(response, 200, { access_token: issued, token_type: 'Bearer', expires_in: 3600 });
  }

  function answer(response: ServerResponse, method: string, body: string): void {
    if (method !== 'POST') return send(response, 405, {});
    const {
      id,
      method: called,
      params,
    } = JSON.parse(body) as {
      id?: number;
      method: string;
      params?: { protocolVersion?: string };
    };
    if (id === undefined) return void response.writeHead(202).end();
    const results: { [method: string]: object } = {
      initialize: {
        protocolVersion: params?.protocolVersion,
        capabilities: { tools: {} },
        serverInfo: { name: 'tickets', version: '1' },
      },
      'tools/list': { tools: [{ name: 'find', description: 'Finds tickets.', inputSchema: { type: 'object' } }] },
      'tools/call': { content: [{ type: 'text', text: 'ticket 7' }] },
      ping: {},
    };
    const result = results[called];
    const failed = { code: -32601, message: 'no such method' };
    send(response, 200, { jsonrpc: '2.0', id, ...(result === undefined ? { error: failed } : { result }) });
  }

  return { url: `${origin}/mcp`, tokens, grants, expire: () => void (valid = []) };
}

const document = (url: string, issuer = '') => `mcp:
  tickets:
    url: ${url}
    oauth: { ${issuer === '' ? '' : `issuer: "${issuer}", `} client_id: "{{env.TICKETS_ID}}", client_secret: "{{env.TICKETS_SECRET}}", scope: "tickets:read" }
tools:
  tickets.find: { mcp: tickets/find, effect: read }
flow:
  id: find
  entry: one
  nodes:
    - { id: one, type: tool, tool: tickets.find, routes: [{ to: end }] }
`;
const env = { TICKETS_ID: 'sluice-client', TICKETS_SECRET: SECRET };

describe('a server that wants OAuth', () => {
  test('gets a token for the credentials, and neither secret nor token is stored', async () => {
    const server = await start();
    const cwd = folder({ 'a.flow.yaml': document(server.url) });
    const locked = await sluice(['mcp', 'lock', 'a.flow.yaml'], { cwd, env });
    expect([locked.status, locked.stderr]).toEqual([0, '']);
    const ran = await sluice(['run', 'a.flow.yaml', '--json'], { cwd, env });
    expect([ran.status, ran.stdout]).toEqual([0, expect.stringContaining('ticket 7')]);
    const { run } = JSON.parse(ran.stdout) as { run: string };
    expect(server.grants[0]?.get('scope')).toBe('tickets:read');
    const traced = await sluice(['trace', run, '--json', '--events'], { cwd, env });
    for (const secret of [SECRET, ...server.tokens]) expect(traced.stdout + ran.stderr).not.toContain(secret);
  });

  test('a token that is refused later is renewed', async () => {
    const server = await start();
    const cwd = folder({ 'a.flow.yaml': document(server.url) });
    await sluice(['mcp', 'lock', 'a.flow.yaml'], { cwd, env });
    server.expire();
    const before = server.tokens.length;
    expect((await sluice(['run', 'a.flow.yaml'], { cwd, env })).status).toBe(0);
    expect(server.tokens.length).toBeGreaterThan(before);
  });

  test('a server cannot send the credentials elsewhere, unless the document names the place', async () => {
    const other = await start();
    const { origin } = new URL(other.url);
    const server = await start(origin);
    const cwd = folder({ 'a.flow.yaml': document(server.url), 'b.flow.yaml': document(server.url, origin) });
    const ran = await sluice(['mcp', 'lock', 'a.flow.yaml'], { cwd, env });
    expect([ran.status, other.grants]).toEqual([2, []]);
    await sluice(['mcp', 'lock', 'b.flow.yaml'], { cwd, env });
    expect(other.tokens).toHaveLength(1);
  });

  test('wrong credentials stop the run before anything is spent, with the reason', async () => {
    const server = await start();
    const cwd = folder({ 'a.flow.yaml': document(server.url) });
    const ran = await sluice(['run', 'a.flow.yaml'], { cwd, env: { ...env, TICKETS_SECRET: 'wrong-secret-0002' } });
    expect([ran.status, ran.stderr]).toEqual([2, expect.stringContaining('mcp-unreachable')]);
    expect(ran.stderr).not.toContain('wrong-secret-0002');
    expect(server.tokens).toEqual([]);
    const unset = await sluice(['run', 'a.flow.yaml'], { cwd, env: { TICKETS_ID: 'x' } });
    expect([unset.status, unset.stderr]).toEqual([2, expect.stringContaining('TICKETS_SECRET')]);
  });
});
