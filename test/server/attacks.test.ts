/** What a hostile caller sends. Each case shows the status, and that nothing was read, started or changed. */
import { rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { basename, join } from 'node:path';
import { connect as dial } from 'node:net';
import { request as send } from 'node:http';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { place, refund, type Answered, type Place } from './kit.ts';
import { ROWS } from './rows.ts';

let here: Place;
let known: { readonly run: string; readonly question: string; readonly payload: string };
const tokens: { [name: string]: string } = {};

beforeAll(async () => {
  here = await place({ limits: { burst: 100_000, perSecond: 100_000 } });
  known = await refund(here);
  const add = async (name: string, more: object): Promise<void> => {
    const { body } = await here.ask('POST', '/v1/tokens', { body: { name, ...more } });
    tokens[name] = String(body['token']);
  };
  await add('viewer', { access: ['viewer'] });
  await add('operator', { access: ['operator'] });
  await add('approver', { access: ['approver'] });
  await add('stranger', { access: ['admin'], tenant: 'globex' });
  await add('expired', { access: ['admin'], days: 0.000_000_1 });
  await add('revoked', { access: ['admin'] });
  await add('anna', { access: ['admin'], person: 'anna' });
  await here.ask('DELETE', '/v1/tokens/revoked');
});
afterAll(() => here.end());

interface Route {
  readonly method: string;
  /** With the ids of the run that is known. */
  readonly path: string;
  /** With braces. */
  readonly described: string;
  readonly access: string | null;
  /** Null: it takes none. */
  readonly body: object | null;
}

/** Every route of the description, with its row. */
async function routes(): Promise<readonly Route[]> {
  return (await operations()).map(({ method, path, access, hasBody }) => {
    const { body = null, binary = false, ...row } = ROWS[`${method} ${path}`] ?? { access: 'no row' };
    expect([`${method} ${path}`, row.access, body !== null || binary]).toEqual([`${method} ${path}`, access, hasBody]);
    return { method, described: path, path: filled(path), access: access === 'open' ? null : access, body };
  });
}

async function operations() {
  const { body } = await here.ask('GET', '/openapi.json');
  const paths = body['paths'] as { readonly [path: string]: { readonly [method: string]: Operation } };
  return Object.entries(paths).flatMap(([path, methods]) =>
    Object.entries(methods).map(([method, { description, requestBody }]) => ({
      ...{ method: method.toUpperCase(), path, hasBody: requestBody !== undefined },
      access: /`(\w+)`/.exec(description)?.[1] ?? 'open',
    })),
  );
}
interface Operation {
  readonly description: string;
  readonly requestBody?: object;
}

test('every route has a row, and every row a route', async () => {
  const described = (await operations()).map(({ method, path }) => `${method} ${path}`);
  expect(described.toSorted()).toEqual(Object.keys(ROWS).toSorted());
});

function filled(path: string): string {
  return path
    .replace('{flow}', 'refunds')
    .replace('{run}', known.run)
    .replace('{other}', known.run)
    .replace('{id}', known.question)
    .replace('{key}', '0%230')
    .replace('{name}', 'none')
    .replace('{hash}', `sha256-${'0'.repeat(64)}`)
    .replace('/stream', '/stream?topics=runs');
}

/** Runs, questions, tokens and the place in the log: whatever a request may change. */
async function everything(): Promise<string> {
  const parts = await Promise.all(
    ['/v1/runs?limit=200', '/v1/questions', `/v1/runs/${known.run}`, '/v1/tokens'].map((path) => here.ask('GET', path)),
  );
  return JSON.stringify(
    parts.map(({ body }) => body),
    (key, value: unknown) => (key === 'usedAt' ? null : value),
  );
}

/** The callers of the test that may not use a route. */
function lacking(access: string): readonly string[] {
  const all = {
    viewer: ['operator', 'approver', 'admin'],
    operator: ['approver', 'admin'],
    approver: ['operator', 'admin'],
  };
  return Object.entries(all).flatMap(([name, missing]) => (missing.includes(access) ? [name] : []));
}

test('every route answers the id of another tenant as one that does not exist', async () => {
  const before = await everything();
  const about = (await routes()).filter(({ described }) => /\{(run|id)\}/.test(described));
  expect(about.length).toBeGreaterThan(12);
  const unknown = 'r_00000000000000000000';
  for (const { method, path, described, body } of about) {
    const other = path.replaceAll(known.run, unknown);
    const ask = async (to: string, own: object | null): Promise<readonly unknown[]> => {
      const given = own === null ? {} : { body: own };
      const { status, body: problem } = await here.ask(method, to, { ...given, token: tokens['stranger'] ?? '' });
      const { request: _, ...said } = problem;
      return [status, JSON.stringify(said).replaceAll(known.run, unknown)];
    };
    // The stranger may do everything, in another tenant.
    expect(await ask(path, body), `${method} ${described}`).toEqual(await ask(other, body));
    expect((await ask(path, body))[0], `${method} ${described}`).toBe(404);
  }
  expect(await everything()).toBe(before);
});

test('every route with an id answers one that does not exist with 404, and nothing changes', async () => {
  const before = await everything();
  for (const { method, described, body } of await routes()) {
    if (!described.includes('{')) continue;
    for (const id of [
      'none',
      'r_none',
      'a_r_none.0.1',
      '__proto__',
      'constructor',
      '%00',
      '..%2f..',
      '0',
      'ü'.repeat(90),
    ]) {
      const path = described.replaceAll(/\{\w+\}/g, encodeURI(id));
      const { status, body: problem } = await here.ask(method, path, body === null ? {} : { body });
      expect([404, 400], `${method} ${path} ${JSON.stringify(problem)}`).toContain(status);
    }
  }
  expect(await everything()).toBe(before);
});

test('every route refuses every caller who may not, and nothing changes', async () => {
  const all = await routes();
  expect(all.length).toBeGreaterThan(30);
  const before = await everything();
  for (const route of all) {
    const { method, path, access, body } = route;
    const ask = async (token: string | null, headers: { readonly [name: string]: string } = {}): Promise<Answered> =>
      here.ask(method, path, { token, headers, ...(body === null ? {} : { body }) });
    const where = `${method} ${path}`;
    expect((await ask(tokens['operator'] ?? '', { host: 'evil.example' })).status, `${where} host`).toBe(421);
    expect((await ask(null, { origin: 'https://evil.example' })).status, `${where} origin`).toBe(403);
    expect((await ask(null, { 'sec-fetch-site': 'cross-site' })).status, `${where} site`).toBe(403);
    expect((await ask(null, { 'sec-fetch-site': 'same-site' })).status, `${where} neighbour`).toBe(403);
    expect((await ask(null, { 'sluice-version': '99.0' })).status, `${where} version`).toBe(426);
    if (access === null) continue;
    for (const name of ['expired', 'revoked'])
      expect([(await ask(tokens[name] ?? '')).status, name, where]).toEqual([401, name, where]);
    for (const wrong of [null, '', 'x', 'slk_', `slk_${'A'.repeat(43)}`, 'eyJhbGciOiJub25lIn0.e30.', 'a'.repeat(5000)])
      expect([(await ask(wrong)).status, wrong, where]).toEqual([401, wrong, where]);
    expect((await ask(tokens['anna'] ?? '')).status, `${where}: a person without that login`).toBe(403);
    for (const name of lacking(access)) expect((await ask(tokens[name] ?? '')).status, `${where} as ${name}`).toBe(403);
  }
  expect(await everything()).toBe(before);
});

test('every route with a body refuses what is no JSON, and nothing changes', async () => {
  const before = await everything();
  for (const { method, path, body } of await routes()) {
    if (body === null) continue;
    const where = `${method} ${path}`;
    const raw = async (text: string | Uint8Array, type = 'application/json') =>
      (await here.ask(method, path, { raw: text, headers: { 'content-type': type } })).status;
    expect(await raw('{"why":"x"}', 'text/plain'), where).toBe(415);
    expect(await raw('why=x', 'application/x-www-form-urlencoded'), where).toBe(415);
    expect(await raw('{"why":"x"}', 'application/json+x'), where).toBe(415);
    expect(await raw('{', 'application/json'), where).toBe(400);
    expect(await raw(''), where).toBe(400);
    expect(await raw('[]'), where).toBe(400);
    expect(await raw('null'), where).toBe(400);
    // A text alone is the source of a flow; this server changes none.
    expect(await raw('"x"'), where).toBe(path.endsWith('/source') ? 403 : 400);
    expect(await raw('{"nobodyKnowsThis":1}'), where).toBe(400);
    expect(await raw(new Uint8Array([0x7b, 0xff, 0xfe, 0x7d])), where).toBe(400);
    expect(await raw(`{"input":${'['.repeat(500)}${']'.repeat(500)}}`), where).toBe(400);
    expect(await raw(`{"why":"${'x'.repeat(2_000_000)}"}`), where).toBe(413);
  }
  expect(await everything()).toBe(before);
});

test('identity in a body, a query or a header is refused or ignored', async () => {
  const before = await everything();
  const start = '/v1/flows/refunds/runs';
  for (const field of [
    'tenant',
    'origin',
    'by',
    'proof',
    'roles',
    'access',
    'run',
    'pins',
    '__proto__',
    'constructor',
  ]) {
    const raw = `{"input":{"message":"x"},"${field}":{"tenant":"globex"}}`;
    const type = { 'content-type': 'application/json' };
    // `__proto__` sets nothing: what is left has no other field.
    const { status } = await here.ask('POST', start, { raw, headers: type, token: tokens['viewer'] ?? '' });
    expect(status, field).toBe(403);
    const answer = `/v1/questions/${known.question}/answer`;
    const body = `{"choice":"approve","payload":"${known.payload}","${field}":"anna"}`;
    if (field === '__proto__') continue;
    expect((await here.ask('POST', answer, { raw: body, headers: type })).status, field).toBe(400);
    expect((await here.ask('GET', `/v1/runs?${field}=x`)).status, field).toBe(400);
    expect((await here.ask('POST', start, { raw, headers: type })).status, field).toBe(400);
  }
  for (const header of ['x-tenant', 'x-user', 'x-forwarded-user', 'x-forwarded-host', 'forwarded', 'tenant'])
    expect((await here.ask('GET', '/v1/me', { headers: { [header]: 'globex' } })).body['tenant'], header).toBeNull();
  expect((await here.ask('GET', `/v1/me?token=${here.token}`, { token: null })).status).toBe(401);
  expect((await here.ask('GET', `/v1/me?access_token=${here.token}`, { token: null })).status).toBe(401);
  expect(await everything()).toBe(before);
});

test('an id of another tenant is answered as one that does not exist', async () => {
  const about = async (id: string, path: (id: string) => string) => {
    const { status, body } = await here.ask('GET', path(encodeURIComponent(id)), { token: tokens['stranger'] ?? '' });
    return [status, body['code'], String(body['title']).replaceAll(id, 'ID')];
  };
  const ofRun = ['', '/events', '/state', '/audit', '/export', '/children', '/calls/0%239'];
  for (const rest of ofRun) {
    const path = (id: string): string => `/v1/runs/${id}${rest}`;
    expect(await about(known.run, path), rest).toEqual(await about('r_none', path));
  }
  const question = (id: string): string => `/v1/questions/${id}`;
  expect(await about(known.question, question)).toEqual(await about('a_r_none.0.3', question));
  const { status } = await here.ask('GET', `/v1/stream?topics=run:${known.run}`, { token: tokens['stranger'] ?? '' });
  expect(status).toBe(404);
  expect((await here.ask('GET', '/v1/runs', { token: tokens['stranger'] ?? '' })).body['items']).toEqual([]);
  expect((await here.ask('GET', '/v1/questions', { token: tokens['stranger'] ?? '' })).body['items']).toEqual([]);
  const named = (await here.ask('GET', '/v1/tokens', { token: tokens['stranger'] ?? '' })).body['items'];
  expect((named as readonly { readonly name: string }[]).map(({ name }) => name)).toEqual(['stranger']);
  expect((await here.ask('DELETE', '/v1/tokens/viewer', { token: tokens['stranger'] ?? '' })).status).toBe(404);
  const made = { name: 'mine', access: ['admin'], tenant: 'acme' };
  expect((await here.ask('POST', '/v1/tokens', { body: made, token: tokens['stranger'] ?? '' })).status).toBe(403);
});

test('the idempotency key of one tenant says nothing to another', async () => {
  const start = async (token: string) =>
    here.ask('POST', '/v1/flows/refunds/runs', {
      ...{ body: { input: { message: 'k' }, script: 'refunds' }, headers: { 'idempotency-key': 'shared' } },
      token,
    });
  const [own, other] = [await start(here.token), await start(tokens['stranger'] ?? '')];
  expect([own.status, other.status]).toEqual([201, 201]);
  expect(own.body['run']).not.toBe(other.body['run']);
});

test('100 starts at once with one key are one run', async () => {
  const answers = await Promise.all(
    Array.from({ length: 100 }, () =>
      here.ask('POST', '/v1/flows/refunds/runs', {
        body: { input: { message: 'k' }, script: 'refunds' },
        headers: { 'idempotency-key': 'hundred' },
      }),
    ),
  );
  expect(new Set(answers.map(({ body }) => body['run'])).size).toBe(1);
  expect(answers.filter(({ status }) => status === 201)).toHaveLength(1);
  expect(answers.filter(({ status }) => status === 200)).toHaveLength(99);
});

test('of two answers at once one wins, and the other reads who was first', async () => {
  const { question, payload } = await refund(here);
  const path = `/v1/questions/${question}/answer`;
  const [first, second] = await Promise.all(
    ['approve', 'reject'].map((choice) => here.ask('POST', path, { body: { choice, payload } })),
  );
  const [won, lost] = first?.status === 200 ? [first, second] : [second, first];
  expect([won?.status, lost?.status]).toEqual([200, 409]);
  expect(lost?.body).toMatchObject({ code: 'approval-closed', by: 'local', at: expect.any(String) });
  const stale = await refund(here);
  const old = { choice: 'approve', payload: 'of another question' };
  const refused = await here.ask('POST', `/v1/questions/${stale.question}/answer`, { body: old });
  expect([refused.status, refused.body['code'], refused.body['payload']]).toEqual([
    412,
    'stale-payload',
    stale.payload,
  ]);
});

describe('paths', () => {
  test('tricks lead nowhere', async () => {
    for (const path of [
      '//v1/me',
      '/v1//me',
      '/v1/me/',
      '/V1/me',
      '/v1/%6de/x',
      '/v1/..%2fv1/me%00',
      '/.sluice/sluice.db',
      '/..%2f..%2fetc/passwd',
      '/%2e%2e/%2e%2e/etc/passwd',
      '/refunds.flow.yaml',
      '/v1/runs/..%2f..%2fme',
      '/v1/runs/%00',
      '/v1/runs/%E0%A4%A',
      `/v1/runs/${'r'.repeat(5000)}`,
      '/index.html%00.js',
      '/\\evil.example',
    ]) {
      const { status } = await here.ask('GET', path);
      expect([400, 404], path).toContain(status);
    }
  });

  test('a script is a name in a served folder', async () => {
    for (const script of ['../refunds', '/etc/passwd', 'refunds.script.yaml', '.hidden', 'a/b', '', 'none']) {
      const { status } = await here.ask('POST', '/v1/flows/refunds/runs', { body: { input: {}, script } });
      expect(status, script).toBe(422);
    }
  });

  test('an input names no file of the machine', async () => {
    const input = { message: 'x', photo: { attachment: '/etc/passwd' }, path: { path: '/etc/passwd' } };
    const started = await here.ask('POST', '/v1/flows/refunds/runs', {
      ...{ body: { input, script: 'refunds' }, headers: { prefer: 'wait=20' } },
    });
    const run = String(started.body['run']);
    const events = JSON.stringify((await here.ask('GET', `/v1/runs/${run}/events`)).body);
    expect(events).not.toContain('root:');
  });
});

/** The raw answer to raw bytes, until the server closes the connection. */
function wire(text: string, { end = false, waitMs = 15_000 } = {}): Promise<string> {
  return new Promise((resolve) => {
    const { port, hostname } = new URL(here.serving.url);
    const socket = dial(Number(port), hostname, () => (end ? socket.end(text) : socket.write(text)));
    let got = '';
    const timer = setTimeout(() => socket.destroy(), waitMs);
    socket.on('data', (part) => (got += part.toString()));
    socket.on('error', () => undefined);
    socket.on('close', () => {
      clearTimeout(timer);
      resolve(got);
    });
  });
}

describe('the wire', () => {
  const host = (): string => new URL(here.serving.url).host;

  test('two lengths, a length and chunks, and broken chunks are refused', async () => {
    const head = `POST /v1/session HTTP/1.1\r\nHost: ${host()}\r\nContent-Type: application/json\r\nConnection: close\r\n`;
    for (const rest of [
      'Content-Length: 2\r\nContent-Length: 5\r\n\r\n{}',
      'Content-Length: 2\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\nGET /v1/me HTTP/1.1\r\n\r\n',
      'Transfer-Encoding: chunked\r\n\r\nzz\r\n{}\r\n0\r\n\r\n',
      'Transfer-Encoding: gzip, chunked\r\n\r\n2\r\n{}\r\n0\r\n\r\n',
    ])
      expect(await wire(head + rest), rest).toMatch(/^HTTP\/1\.1 (400|501) /);
  });

  test('headers of 1 MB and a request without a host are refused', async () => {
    expect(await wire(`GET /v1/me HTTP/1.1\r\nHost: ${host()}\r\nX: ${'x'.repeat(1_000_000)}\r\n\r\n`)).toMatch(
      /^HTTP\/1\.1 431 |^$/,
    );
    expect(await wire('GET /v1/me HTTP/1.1\r\nConnection: close\r\n\r\n')).toMatch(/^HTTP\/1\.1 400 /);
    expect(
      await wire(`GET /v1/me HTTP/1.1\r\nHost: ${host()}\r\nHost: evil.example\r\nConnection: close\r\n\r\n`),
    ).toMatch(/^HTTP\/1\.1 (400|421) |401/);
    expect(
      await wire(`GET http://evil.example/v1/me HTTP/1.1\r\nHost: evil.example\r\nConnection: close\r\n\r\n`),
    ).toMatch(/^HTTP\/1\.1 421 /);
  });

  test('a connection that sends its headers slowly is closed, and others are served', async () => {
    const slow = wire(`GET /v1/me HTTP/1.1\r\nHost: ${host()}\r\nX-Slow:`, { waitMs: 30_000 });
    expect((await here.ask('GET', '/healthz')).status).toBe(200);
    expect(await slow).toMatch(/^HTTP\/1\.1 408 |^$/);
  });

  test('an upgrade to a WebSocket opens nothing', async () => {
    const answer = await wire(
      `GET /v1/stream?topics=runs HTTP/1.1\r\nHost: ${host()}\r\nUpgrade: websocket\r\nConnection: Upgrade, close\r\nSec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\nSec-WebSocket-Version: 13\r\nOrigin: https://evil.example\r\n\r\n`,
      { waitMs: 3000 },
    );
    expect(answer).not.toMatch(/^HTTP\/1\.1 101/);
  });

  test('a body without an end, whose length nobody said, is cut at the limit', async () => {
    const status = await new Promise<number>((resolve, reject) => {
      const { port, hostname } = new URL(here.serving.url);
      const headers = { authorization: `Bearer ${here.token}`, 'content-type': 'application/json' };
      const request = send({ port, hostname, method: 'POST', path: '/v1/check', headers }, (response) => {
        resolve(response.statusCode ?? 0);
        request.destroy();
      });
      request.on('error', reject);
      const part = Buffer.alloc(64_000, 0x20);
      const more = (): void => {
        while (!request.destroyed && request.write(part)) continue;
        request.once('drain', more);
      };
      more();
    });
    expect(status).toBe(413);
  });
});

test('answers carry the headers of a page that nobody can frame or sniff, and errors no secret', async () => {
  for (const path of ['/v1/me', '/openapi.json', '/none', '/healthz']) {
    const { headers } = await here.ask('GET', path);
    expect(headers.get('content-security-policy'), path).toContain("default-src 'none'");
    expect(headers.get('content-security-policy'), path).toContain("frame-ancestors 'none'");
    expect([headers.get('x-content-type-options'), headers.get('referrer-policy')], path).toEqual([
      'nosniff',
      'no-referrer',
    ]);
    expect(headers.get('access-control-allow-origin'), path).toBeNull();
  }
  const { body } = await here.ask('GET', '/v1/me', { token: 'slk_secretsecretsecret' });
  expect(JSON.stringify(body)).not.toContain('secretsecret');
  expect(here.lines.map((line) => JSON.stringify(line)).join('\n')).not.toContain(here.token);
});

test('a page of another origin needs to be named, and gets no cookie', async () => {
  const other = await place({ origins: ['https://app.example'] });
  try {
    const headers = { origin: 'https://app.example', 'sec-fetch-site': 'cross-site' };
    const preflight = await other.ask('OPTIONS', '/v1/runs', { headers, token: null });
    expect([preflight.status, preflight.headers.get('access-control-allow-origin')]).toEqual([
      204,
      'https://app.example',
    ]);
    const read = await other.ask('GET', '/v1/runs', { headers });
    expect([read.status, read.headers.get('access-control-allow-origin')]).toEqual([200, 'https://app.example']);
    expect(read.headers.get('access-control-allow-credentials')).toBeNull();
    const evil = await other.ask('OPTIONS', '/v1/runs', { headers: { origin: 'https://evil.example' }, token: null });
    expect([evil.status, evil.headers.get('access-control-allow-origin')]).toEqual([403, null]);
  } finally {
    await other.end();
  }
});

test('a caller who asks too much waits, and others do not', async () => {
  const other = await place({ limits: { burst: 20, perSecond: 1, streamsPerCaller: 2 } });
  try {
    const { body } = await other.ask('POST', '/v1/tokens', { body: { name: 'loud', access: ['viewer'] } });
    const token = String(body['token']);
    const all = await Promise.all(Array.from({ length: 40 }, () => other.ask('GET', '/v1/me', { token })));
    const refused = all.filter(({ status }) => status === 429);
    expect(refused.length).toBeGreaterThanOrEqual(15);
    expect(Number(refused[0]?.headers.get('retry-after'))).toBeGreaterThan(0);
    expect((await other.ask('GET', '/v1/me')).status).toBe(200);
    const guesses = await Promise.all(Array.from({ length: 60 }, () => other.ask('GET', '/v1/me', { token: 'slk_x' })));
    expect(new Set(guesses.map(({ status }) => status))).toEqual(new Set([401, 429]));
    const stop = new AbortController();
    const open = async () =>
      fetch(`${other.serving.url}/v1/stream?topics=runs`, {
        ...{ headers: { authorization: `Bearer ${other.token}` }, signal: stop.signal },
      });
    expect([(await open()).status, (await open()).status]).toEqual([200, 200]);
    const third = await open();
    expect([third.status, third.headers.get('retry-after')]).toEqual([429, '5']);
    stop.abort();
  } finally {
    await other.end();
  }
});

describe('streams that nobody reads', () => {
  const streams = async (): Promise<unknown> =>
    /^sluice_http_streams (\d+)$/m.exec(String((await here.ask('GET', '/metrics')).body['text']))?.[1];

  test('HEAD, a wrong place and a wrong topic open none', async () => {
    const accept = { accept: 'text/event-stream' };
    const events = `/v1/runs/${known.run}/events`;
    for (let round = 0; round < 10; round += 1) {
      expect((await here.ask('HEAD', '/v1/stream?topics=runs')).status).toBe(200);
      expect((await here.ask('HEAD', events, { headers: accept })).status).toBe(200);
      const lost = await here.ask('GET', events, { headers: { ...accept, 'last-event-id': 'nonsense' } });
      expect(lost.status).toBe(400);
      expect((await here.ask('GET', '/v1/stream?topics=runs,nonsense')).status).toBe(400);
      expect((await here.ask('GET', '/v1/stream?topics=runs,run:r_none')).status).toBe(404);
    }
    expect(await streams()).toBe('0');
  });
});

describe('a text that is checked', () => {
  const checked = async (nodes: string): Promise<string> => {
    const text = `flow:\n  id: a\n  entry: s\n  nodes:\n    - ${nodes}\n`;
    const { status, body } = await here.ask('POST', '/v1/check', { body: { file: 'a.yaml', text } });
    expect(status).toBe(200);
    return JSON.stringify(body['diagnostics']);
  };

  test('reads other documents of the folders, and no other file of the machine', async () => {
    const outside = join(here.dir, '..', `sluice-outside-${process.pid}.yaml`);
    const secret = 'flow: { id: b, entry: t, topsecret: 7, nodes: [{ id: t, type: set, values: { a: 1 } }] }';
    writeFileSync(outside, secret);
    writeFileSync(join(here.dir, 'beside.yaml'), secret);
    writeFileSync(join(here.dir, '.hidden.yaml'), secret);
    symlinkSync(outside, join(here.dir, 'link.yaml'));
    try {
      expect(await checked('{ id: s, type: flow, flow: ./beside.yaml }')).toContain('topsecret');
      const files = [
        outside,
        `../${basename(outside)}`,
        './.hidden.yaml',
        './link.yaml',
        '/etc/passwd',
        '/dev/zero',
        '.',
      ];
      for (const file of [...files, `.sluice/serve-${new URL(here.serving.url).port}.token`, 'none.yaml'])
        expect(await checked(`{ id: s, type: flow, flow: "${file}" }`), file).not.toMatch(
          /topsecret|root:|slk_|"a map with/,
        );
    } finally {
      for (const file of [outside, ...['beside.yaml', '.hidden.yaml', 'link.yaml'].map((name) => join(here.dir, name))])
        rmSync(file);
    }
  });
});

test('names of prototypes are no agents, slots, budgets, keys or tokens, and no key is lost on the way', async () => {
  const before = await everything();
  const type = { 'content-type': 'application/json' };
  const run = `/v1/runs/${known.run}`;
  for (const name of ['__proto__', 'constructor', 'toString', 'hasOwnProperty']) {
    for (const [path, body] of [
      [`${run}/fork`, `{"at":3,"agents":{"${name}":{"model":"x"}}}`],
      [`${run}/fork`, `{"at":3,"set":{"${name}":1}}`],
      [`${run}/fork`, `{"at":3,"answers":{"${name}":"approve"}}`],
      [`${run}/resume`, `{"budget":{"${name}":1}}`],
      ['/v1/tokens', `{"name":"x y","access":["${name}"]}`],
      ['/v1/check', `{"text":"","${name}":1}`],
    ] as const) {
      const { status } = await here.ask('POST', path, { raw: body, headers: type });
      expect([400, 404, 422], `${path} ${body}`).toContain(status);
    }
    expect((await here.ask('GET', `/v1/runs/${known.run}/calls/${name}`)).status).toBe(404);
  }
  expect(await everything()).toBe(before);
});

test('a cursor that was made up, and one of another list, is refused', async () => {
  const { body } = await here.ask('GET', '/v1/runs?limit=1');
  for (const cursor of [
    'a',
    '%00',
    "'%20OR%201=1",
    'eyJhIjoxfQ',
    'bnVsbA',
    '9'.repeat(30),
    '',
    `${String(body['next'])}x`,
  ])
    for (const list of ['runs', 'questions'])
      expect((await here.ask('GET', `/v1/${list}?cursor=${cursor}`)).body, `${list} ${cursor}`).toMatchObject({
        ...{ status: 400, code: 'bad-cursor' },
      });
  for (const q of ['%25', '_', '%27', 'r%25'])
    expect((await here.ask('GET', `/v1/runs?q=${q}`)).body['items'], q).toEqual([]);
});

test('an empty key is no key, and a key of two tenants, flows or cases is another run', async () => {
  const start = (key: string) =>
    here.ask('POST', '/v1/flows/refunds/runs', {
      ...{ body: { input: { message: 'x' }, script: 'refunds' }, headers: { 'idempotency-key': key } },
    });
  for (const key of ['', ' ', 'k'.repeat(256)]) expect((await start(key)).status, key).toBe(400);
  const made = await Promise.all(['Key', 'key', 'key ', '["key"]'].map(start));
  // Blanks around the value of a header are not part of it.
  expect(new Set(made.map(({ body }) => body['run'])).size).toBe(3);
});

test('guesses of a code or a token are counted before they are looked at', async () => {
  const other = await place({ limits: { burst: 5, perSecond: 0.001 } });
  try {
    const guess = () => other.ask('POST', '/v1/session', { body: { code: 'x' }, token: null });
    const all = [];
    for (let round = 0; round < 10; round += 1) all.push((await guess()).status);
    expect(all).toEqual([401, 401, 401, 401, 401, 429, 429, 429, 429, 429]);
  } finally {
    await other.end();
  }
});

test('behind a proxy nobody is at this machine: no scripts, and figures need a token', async () => {
  const other = await place({ trustProxy: true, hostNames: ['sluice.example.com'] });
  try {
    const headers = { 'x-forwarded-host': 'sluice.example.com', 'x-forwarded-proto': 'https' };
    expect((await other.ask('GET', '/metrics', { headers, token: null })).status).toBe(401);
    const body = { input: { message: 'x' }, script: 'refunds' };
    const started = await other.ask('POST', '/v1/flows/refunds/runs', { body, headers });
    expect([started.status, started.body['code']]).toEqual([422, 'bad-input']);
  } finally {
    await other.end();
  }
});
