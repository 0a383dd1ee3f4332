/** An HTTP server that wants OAuth: client credentials, a token that expires, wrong credentials. */
import { generateKeyPairSync, hash, verify } from 'node:crypto';
import { readFileSync, readdirSync, statSync } from 'node:fs';
import { createServer } from 'node:http';
import type { IncomingMessage, ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { join } from 'node:path';
import { describe, expect, onTestFinished, test } from 'vitest';
import { folder, start as spawned } from '../cli/cli.ts';
import { sluice } from '../cli/in-process.ts';

const SECRET = 'oauth-client-secret-0001';
const REFRESH = 'refresh-token-0001-of-ann';
const KEYS = generateKeyPairSync('rsa', { modulusLength: 2048 });

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
  let challenge = '';
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
        registration_endpoint: `${origin}/register`,
        grant_types_supported: ['client_credentials', 'authorization_code', 'refresh_token'],
        token_endpoint_auth_methods_supported: ['client_secret_basic', 'client_secret_post', 'private_key_jwt', 'none'],
        code_challenge_methods_supported: ['S256'],
      });
    if (pathname === '/register')
      return send(response, 201, { ...(JSON.parse(body) as object), client_id: 'registered' });
    if (pathname === '/authorize') return authorize(response, new URL(request.url ?? '/', origin).searchParams);
    if (pathname === '/token') return token(request, response, new URLSearchParams(body));
    if (!valid.includes(request.headers.authorization?.replace('Bearer ', '') ?? '')) {
      const where = `Bearer resource_metadata="${origin}/.well-known/oauth-protected-resource"`;
      return send(response, 401, { error: 'invalid_token' }, { 'www-authenticate': where });
    }
    return answer(response, request.method ?? '', body);
  }

  /** A person agrees at once. */
  function authorize(response: ServerResponse, asked: URLSearchParams): void {
    challenge = asked.get('code_challenge') ?? '';
    const back = new URL(asked.get('redirect_uri') ?? '');
    for (const [name, value] of Object.entries({ code: 'code-1', state: asked.get('state') ?? '', iss: origin }))
      back.searchParams.set(name, value);
    response.writeHead(302, { location: back.href }).end();
  }

  function isGranted(grant: URLSearchParams, secret: string | undefined): boolean {
    const assertion = grant.get('client_assertion');
    if (grant.get('grant_type') === 'authorization_code')
      return (
        hash('sha256', grant.get('code_verifier') ?? '', 'base64url') === challenge && grant.get('code') === 'code-1'
      );
    if (grant.get('grant_type') === 'refresh_token') return grant.get('refresh_token') === REFRESH;
    if (assertion === null) return secret === SECRET;
    const [head = '', claims = '', signature = ''] = assertion.split('.');
    return verify('sha256', Buffer.from(`${head}.${claims}`), KEYS.publicKey, Buffer.from(signature, 'base64url'));
  }

  function token(request: IncomingMessage, response: ServerResponse, grant: URLSearchParams): void {
    grants.push(grant);
    const basic = Buffer.from(request.headers.authorization?.replace('Basic ', '') ?? '', 'base64').toString();
    const secret = grant.get('client_secret') ?? basic.split(':')[1];
    if (!isGranted(grant, secret))
      return send(response, 401, { error: 'invalid_client', error_description: 'wrong secret' });
    const issued = `token-${tokens.length + 1}-of-the-server`;
    tokens.push(issued);
    valid.push(issued);
    const more = grant.get('grant_type') === 'client_credentials' ? {} : { refresh_token: REFRESH };
    send(response, 200, { access_token: issued, token_type: 'Bearer', expires_in: 3600, ...more });
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

const PLAIN = 'client_id: "{{env.TICKETS_ID}}", client_secret: "{{env.TICKETS_SECRET}}", scope: "tickets:read"';
const document = (url: string, issuer = '', oauth = PLAIN) => `mcp:
  tickets:
    url: ${url}
    oauth: { ${issuer === '' ? '' : `issuer: "${issuer}", `} ${oauth} }
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

  test('a server cannot make the engine look at another host of its network', async () => {
    const asked: string[] = [];
    const inside = createServer((request, response) => void (asked.push(request.url ?? ''), response.end('{}')));
    await new Promise<void>((resolve) => inside.listen(0, '127.0.0.2', resolve));
    onTestFinished(() => void (inside.closeAllConnections(), inside.close()));
    const server = await start(`http://127.0.0.2:${(inside.address() as AddressInfo).port}`);
    const cwd = folder({ 'a.flow.yaml': document(server.url) });
    const ran = await sluice(['run', 'a.flow.yaml'], { cwd, env });
    expect([ran.status === 0, asked]).toEqual([false, []]);
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

describe('a client with a private key', () => {
  const pem = KEYS.privateKey.export({ type: 'pkcs8', format: 'pem' }) as string;
  const text = 'client_id: sluice-client, private_key: "{{env.TICKETS_KEY}}"';

  test.each([pem, pem.replaceAll('\n', '\\n')])('signs for a token, and the key is not stored', async (TICKETS_KEY) => {
    const server = await start();
    const cwd = folder({ 'a.flow.yaml': document(server.url, '', text) });
    const ran = await sluice(['run', 'a.flow.yaml', '--json'], { cwd, env: { TICKETS_KEY } });
    expect([ran.status, ran.stdout]).toEqual([0, expect.stringContaining('ticket 7')]);
    expect(server.grants[0]?.get('client_assertion')).toMatch(/^ey/);
    expect(ran.stdout + ran.stderr + readFileSync(join(cwd, '.sluice/sluice.db'), 'latin1')).not.toContain(
      pem.slice(60, 90),
    );
  });

  test('one way to get a token is enough', async () => {
    const cwd = folder({
      'a.flow.yaml': document('http://127.0.0.1:9/mcp', '', `${text}, login: true`),
      'b.flow.yaml': document('http://127.0.0.1:9/mcp', '', 'scope: x'),
    });
    for (const [file, message] of [
      ['a.flow.yaml', 'another way to get a token'],
      ['b.flow.yaml', '`oauth` needs a `client_id`'],
    ] as const) {
      const checked = await sluice(['check', file], { cwd });
      expect([checked.status, checked.stdout + checked.stderr]).toEqual([1, expect.stringContaining(message)]);
    }
  });
});

describe('a server that wants a person to log in', () => {
  const scene = async (oauth: string, issuer = '') => {
    const server = await start();
    const cwd = folder({ 'a.flow.yaml': document(server.url, issuer, oauth) });
    return { server, cwd, env: { SLUICE_MCP_DIR: join(cwd, 'logins') } };
  };
  /** Opens the page that the command shows, as a browser would. `change` changes the address first. */
  const logIn = async (
    cwd: string,
    env: { [name: string]: string },
    { change = (url: string) => url, seconds = 50 } = {},
  ) => {
    const child = spawned(['mcp', 'login', 'a.flow.yaml', '--timeout', String(seconds)], { cwd, env });
    let text = '';
    let isOpen = false;
    const listen = (chunk: Buffer): void => {
      text += String(chunk);
      const page = /http:\S+authorize\S+(?=\n)/.exec(text)?.[0];
      if (page === undefined || isOpen) return;
      isOpen = true;
      void fetch(change(page)).catch(() => undefined);
    };
    child.stdout?.on('data', listen);
    child.stderr?.on('data', listen);
    const status = await new Promise((resolve) => child.once('close', resolve));
    return { status, text };
  };

  test('a run says so, a login is stored for the user, and is renewed', async () => {
    const { server, cwd, env } = await scene('login: true, scope: "tickets:read"');
    const refused = await sluice(['run', 'a.flow.yaml'], { cwd, env });
    expect([refused.status, refused.stderr]).toEqual([2, expect.stringContaining('sluice mcp login')]);
    expect(await logIn(cwd, env)).toMatchObject({ status: 0, text: expect.stringContaining('logged in to tickets') });
    const [file = ''] = readdirSync(join(cwd, 'logins'));
    expect(statSync(join(cwd, 'logins', file)).mode & 0o777).toBe(0o600);
    const ran = await sluice(['run', 'a.flow.yaml', '--json'], { cwd, env });
    expect([ran.status, ran.stdout]).toEqual([0, expect.stringContaining('ticket 7')]);
    server.expire();
    expect((await sluice(['run', 'a.flow.yaml'], { cwd, env })).status).toBe(0);
    expect(server.grants.map((grant) => grant.get('grant_type'))).toEqual(['authorization_code', 'refresh_token']);
    const db = readFileSync(join(cwd, '.sluice/sluice.db'), 'latin1');
    for (const secret of [REFRESH, ...server.tokens]) expect(db).not.toContain(secret);
  });

  test('an answer with another state is ignored', async () => {
    const { server, cwd, env } = await scene('login: true, client_id: own');
    const change = (url: string): string => url.replace(/state=[^&]+/, 'state=forged');
    const ended = await logIn(cwd, env, { change, seconds: 2 });
    expect(ended).toMatchObject({ status: 2, text: expect.stringContaining('no one logged in within 2 s') });
    expect(server.grants).toEqual([]);
  });

  test('an authorization server that the document does not name is refused', async () => {
    const { server, cwd, env } = await scene('login: true', 'https://login.example.com');
    expect(await logIn(cwd, env)).toMatchObject({
      status: 2,
      text: expect.stringContaining('https://login.example.com'),
    });
    expect(server.grants).toEqual([]);
  });

  test('a wrong name of a server gets the nearest one', async () => {
    const { cwd, env } = await scene('login: true');
    const ran = await sluice(['mcp', 'login', 'a.flow.yaml', 'ticket'], { cwd, env });
    expect([ran.status, ran.stderr]).toEqual([2, expect.stringContaining('Did you mean `tickets`?')]);
  });
});
