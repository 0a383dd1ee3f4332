/** Who a caller is: tokens of people, sessions of pages, and logins at an issuer. An answer is in the journal with its proof. */
import { createHash, generateKeyPairSync, randomBytes } from 'node:crypto';
import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { spawnSync } from 'node:child_process';
import { chmodSync, readFileSync, readdirSync, statSync, writeFileSync } from 'node:fs';
import { userInfo } from 'node:os';
import { join } from 'node:path';
import { SignJWT, UnsecuredJWT, exportJWK, exportSPKI } from 'jose';
import { afterEach, describe, expect, test } from 'vitest';
import { audit, openSqlite } from '@sluice-internal/library';
import { Sessions } from '../../packages/server/src/auth/sessions.ts';
import { place, refund, REFUNDS, type Place } from './kit.ts';

const open: (() => Promise<unknown>)[] = [];
afterEach(async () => {
  for (const end of open.splice(0).toReversed()) await end();
});

const people = (rows: string): string =>
  `people: [${rows}]\n${REFUNDS.replace('routes: [{ when: "approvals', 'approvers: { roles: [manager] }, routes: [{ when: "approvals')}`;
const ANNA = '{ id: anna, roles: [manager], login: "token:anna" }';
const BEN = '{ id: ben, roles: [manager], login: "token:ben" }';
const EVE = '{ id: eve, roles: [clerk], login: "token:eve" }';

async function placeOf(rows: string, more: Parameters<typeof place>[0] = {}): Promise<Place> {
  const here = await place(more, { 'refunds.flow.yaml': people(rows) });
  open.push(() => here.end());
  return here;
}

async function tokenOf(here: Place, name: string, person: string | null = name): Promise<string> {
  const given = { name, access: ['operator', 'approver'], ...(person === null ? {} : { person }) };
  const { body } = await here.ask('POST', '/v1/tokens', { body: given });
  return String(body['token']);
}

interface Asks {
  readonly run: string;
  readonly question: string;
  readonly payload: string;
}
const answer = (here: Place, { question, payload }: Asks, token: string, choice = 'approve') =>
  here.ask('POST', `/v1/questions/${question}/answer`, { body: { choice, payload }, token });

/** The proofs of the answers in a journal. */
async function proofs({ dir }: Place, run: string): Promise<readonly unknown[]> {
  const store = openSqlite(join(dir, '.sluice/sluice.db'));
  try {
    expect(await audit(store.journal, run)).toMatchObject({ ok: true });
    const text = JSON.stringify(await store.journal.page(run, 0, 1000));
    return [...text.matchAll(/\\"via\\":\\"(\w+)\\"/g)].map(([, via]) => via);
  } finally {
    await store.close();
  }
}

describe('tokens of people', () => {
  test('the answer of a person is in the journal with a proof that is signed', async () => {
    const here = await placeOf(`${ANNA}, ${BEN}, ${EVE}`);
    const [anna, eve, robot] = [
      await tokenOf(here, 'anna'),
      await tokenOf(here, 'eve'),
      await tokenOf(here, 'robot', null),
    ];
    const asks = await refund(here);
    expect(await answer(here, asks, robot)).toMatchObject({ status: 403, body: { code: 'identity-unproven' } });
    expect(await answer(here, asks, here.token)).toMatchObject({ status: 403, body: { code: 'identity-unproven' } });
    expect(await answer(here, asks, eve)).toMatchObject({ status: 403, body: { code: 'not-an-approver' } });
    expect((await here.ask('GET', '/v1/questions?for=me', { token: eve })).body['items']).toEqual([]);
    expect((await here.ask('GET', '/v1/questions?for=me', { token: anna })).body['items']).toMatchObject([
      { mayAnswer: true },
    ]);
    expect(await answer(here, asks, anna)).toMatchObject({ status: 200 });
    const report = await here.ask('GET', `/v1/runs/${asks.run}?wait=20`);
    expect(report.body).toMatchObject({ code: 'SUCCESS', receipts: [{ tool: 'payments.refund', approvedBy: 'anna' }] });
    expect((await here.ask('GET', `/v1/runs/${asks.run}/audit`)).body).toMatchObject({ ok: true });
    expect(await proofs(here, asks.run)).toContain('token');
    expect(await proofs(here, asks.run)).not.toContain('os_user');
  });

  test('a token whose person has another login, or none, is refused on every route', async () => {
    const here = await placeOf(
      `${ANNA}, { id: carl, roles: [manager], login: "token:other" }, { id: dora, roles: [manager] }`,
    );
    for (const [name, person] of [
      ['carl', 'carl'],
      ['dora', 'dora'],
      ['anna2', 'anna'],
      ['nobody', 'nobody'],
    ] as const) {
      const { status, body } = await here.ask('GET', '/v1/me', { token: await tokenOf(here, name, person) });
      expect([status, body['code']], name).toEqual([403, 'identity-unproven']);
    }
  });

  test('the person who starts a run may not approve it, in any spelling', async () => {
    const here = await placeOf(`${ANNA}, ${BEN}`);
    const anna = await tokenOf(here, 'anna');
    const start = { input: { message: 'x' }, script: 'refunds' };
    const started = await here.ask('POST', '/v1/flows/refunds/runs', {
      body: start,
      token: anna,
      headers: { prefer: 'wait=20' },
    });
    const run = String(started.body['run']);
    for (const user of ['ben', 'Anna ', 'ANNA'])
      expect(await here.ask('POST', '/v1/flows/refunds/runs', { body: { ...start, user }, token: anna })).toMatchObject(
        {
          status: 400,
          body: { code: 'user-not-allowed' },
        },
      );
    const { body } = await here.ask('GET', '/v1/questions', { token: anna });
    const [question] = body['items'] as readonly { readonly id: string; readonly payload: string }[];
    const asks = { run, question: question?.id ?? '', payload: question?.payload ?? '' };
    expect(await answer(here, asks, anna)).toMatchObject({ status: 403, body: { code: 'self-approval' } });
    expect(await answer(here, asks, await tokenOf(here, 'ben'))).toMatchObject({ status: 200 });
  });

  test('a person who is taken from the document is out at once', async () => {
    const here = await placeOf(`${ANNA}, ${BEN}`);
    const anna = await tokenOf(here, 'anna');
    const session = await here.ask('POST', '/v1/session', { body: { token: anna }, token: null });
    const cookie = String(session.headers.get('set-cookie')).split(';')[0] ?? '';
    const me = () => here.ask('GET', '/v1/me', { token: null, headers: { cookie } });
    expect((await me()).body).toMatchObject({ person: 'anna' });
    writeFileSync(join(here.dir, 'refunds.flow.yaml'), people(BEN));
    await expect.poll(async () => (await here.ask('GET', '/v1/me', { token: anna })).status).toBe(403);
    expect((await me()).status).toBe(401);
  });

  test('`--as` stands for a person who logs in as the token of this machine', async () => {
    const here = await placeOf('{ id: anna, roles: [manager], login: "token:local" }', { as: 'anna' });
    expect((await here.ask('GET', '/v1/me')).body).toMatchObject({ person: 'anna' });
    const run = await here.ask('POST', '/v1/flows/refunds/runs', {
      body: { input: { message: 'x' }, script: 'refunds' },
    });
    expect(run.status).toBe(201);
    await expect(place({ as: 'anna' }, { 'refunds.flow.yaml': people(ANNA) })).rejects.toMatchObject({
      code: 'identity-unproven',
    });
    await expect(place({ as: 'zoe' })).rejects.toMatchObject({ code: 'identity-unproven' });
  });

  test('two servers on one database: one asks, the other takes the answer, and its proof is verified', async () => {
    const here = await placeOf(`${ANNA}, ${BEN}`);
    const second = await here.beside();
    open.push(() => second.serving.close());
    const anna = await tokenOf(here, 'anna');
    const asks = await refund(here);
    expect((await second.ask('GET', `/v1/questions/${asks.question}`, { token: anna })).body).toMatchObject({
      payload: asks.payload,
    });
    expect(await answer(second, asks, anna)).toMatchObject({ status: 200 });
    expect((await second.ask('GET', `/v1/runs/${asks.run}?wait=20`)).body).toMatchObject({ code: 'SUCCESS' });
    expect((await here.ask('GET', `/v1/runs/${asks.run}?wait=20`)).body).toMatchObject({ code: 'SUCCESS' });
    await here.ask('DELETE', '/v1/tokens/anna');
    await expect.poll(async () => (await second.ask('GET', '/v1/me', { token: anna })).status).toBe(401);
  });
});

describe('another user of the machine', () => {
  const command = join(import.meta.dirname, '../../bin/sluice.js');
  /** Only root starts a process of somebody else. Without root, what it may read is tested by the modes of the files alone. */
  const isRoot = process.getuid?.() === 0;
  const nobody = { ...(isRoot ? { uid: 65534 } : {}), encoding: 'utf8' } as const;

  test('reads no key and no token, and forges no answer in an open database', async () => {
    const here = await placeOf(ANNA);
    await tokenOf(here, 'anna');
    const asks = await refund(here);
    const folder = join(here.dir, '.sluice');
    // An administrator who lets everybody write to the database must not let everybody approve.
    for (const path of [here.dir, folder]) chmodSync(path, 0o777);
    for (const file of readdirSync(folder)) if (file.startsWith('sluice.db')) chmodSync(join(folder, file), 0o666);
    const secrets = readdirSync(folder).filter((file) => /\.(key|token)$/.test(file));
    expect(secrets.length).toBeGreaterThan(0);
    for (const file of secrets) {
      const read = isRoot ? spawnSync('cat', [join(folder, file)], nobody).stdout : '';
      expect([file, statSync(join(folder, file)).mode & 0o077, read]).toEqual([file, 0, '']);
    }
    const env = { ...process.env, HOME: here.dir, SLUICE_SERVER_KEY: '', USER: 'anna', LOGNAME: 'anna' };
    for (const more of [[], ['--key', 'anna']]) {
      const args = [command, 'answer', asks.question, 'approve', '--as', 'anna', ...more];
      const { status } = spawnSync(process.execPath, args, { ...nobody, cwd: here.dir, env, timeout: 30_000 });
      expect(status, args.join(' ')).not.toBe(0);
    }
    expect((await here.ask('GET', `/v1/runs/${asks.run}`)).body).toMatchObject({ state: 'suspended', receipts: [] });
  });

  test('the user of the machine is nobody over HTTP, whoever runs the server', async () => {
    const own = userInfo().username;
    const here = await placeOf(`{ id: anna, roles: [manager], os_user: "${own}" }`);
    const asks = await refund(here);
    const robot = await tokenOf(here, 'robot', null);
    const refused = [await answer(here, asks, robot), await answer(here, asks, here.token)];
    for (const { status, body } of refused)
      expect([status, body['code']]).toEqual([403, expect.stringMatching(/identity-unproven|not-an-approver/)]);
    expect((await here.ask('GET', '/v1/me', { token: await tokenOf(here, 'anna') })).status).toBe(403);
    expect((await here.ask('GET', `/v1/runs/${asks.run}`)).body).toMatchObject({ state: 'suspended', receipts: [] });
  });
});

describe('sessions', () => {
  test('a code begins one session, whose cookie no script and no other site has', async () => {
    const here = await placeOf(ANNA);
    const [page = '', plain = ''] = here.serving.pageUrls();
    expect([page, plain]).toEqual([
      expect.stringMatching(/^http:\/\/s-[0-9a-f]{12}\.localhost:\d+\/#code=/),
      expect.stringMatching(/^http:\/\/127\.0\.0\.1:/),
    ]);
    const code = new URL(page).hash.slice('#code='.length);
    const first = await here.ask('POST', '/v1/session', { body: { code }, token: null });
    const cookie = String(first.headers.get('set-cookie'));
    expect([first.status, cookie]).toEqual([
      200,
      expect.stringMatching(/^sluice_\d+=\S{43}; Path=\/; HttpOnly; SameSite=Strict; Max-Age=43\d{3}$/),
    ]);
    expect((await here.ask('POST', '/v1/session', { body: { code }, token: null })).status).toBe(401);
    const headers = { cookie: cookie.split(';')[0] ?? '' };
    expect((await here.ask('GET', '/v1/me', { token: null, headers })).status).toBe(200);
    const from = (origin: string) =>
      here.ask('POST', '/v1/flows/refunds/runs', { body: { input: {} }, token: null, headers: { ...headers, origin } });
    expect((await from('https://evil.example')).status).toBe(403);
    expect((await from('http://localhost:9')).status).toBe(403);
    expect((await from('null')).status).toBe(403);
    expect((await here.ask('DELETE', '/v1/session', { token: null, headers })).status).toBe(204);
    expect((await here.ask('GET', '/v1/me', { token: null, headers })).status).toBe(401);
    const host = new URL(page).host;
    expect((await here.ask('GET', '/v1/session', { token: null, headers: { host } })).body).toEqual({
      me: null,
      login: null,
    });
  });

  test('a code ends after a minute, and a session after 12 hours or with its token', () => {
    let now = 0;
    const sessions = new Sessions(() => now);
    const who = {
      name: 'x',
      tenant: null,
      person: null,
      access: [],
      proof: null,
      content: false,
      key: 'x',
      tokenName: null,
      expiresAt: null,
    } as const;
    const code = sessions.code(who);
    now = 60_001;
    expect(sessions.redeem(code)).toBeNull();
    const { secret, maxAge } = sessions.begin(who);
    expect(maxAge).toBe(43_200);
    now += 43_200_001;
    expect(sessions.who(secret)).toBeNull();
    expect(sessions.begin({ ...who, expiresAt: now + 5000 }).maxAge).toBe(5);
  });

  test('the file of the token belongs to the user, and is gone when the server ends', async () => {
    const here = await place();
    const file = here.serving.tokenFile ?? '';
    expect(readFileSync(file, 'utf8')).toMatch(/^slk_\S{43}\n$/);
    await here.serving.close();
    expect(() => readFileSync(file)).toThrow(/ENOENT/);
    await here.end();
  });
});

/** An issuer as small as one can be: discovery, keys, and a token endpoint that checks PKCE. */
async function issuer() {
  let pair = generateKeyPairSync('rsa', { modulusLength: 2048 });
  let kid = 'one';
  const codes = new Map<string, { readonly challenge: string; readonly jwt: string; readonly redirect: string }>();
  const server: Server = createServer((request, response) => {
    const json = (value: unknown, status = 200): void => {
      response.writeHead(status, { 'content-type': 'application/json' }).end(JSON.stringify(value));
    };
    if (request.url === '/.well-known/openid-configuration')
      return json({
        issuer: url,
        authorization_endpoint: `${url}/authorize`,
        token_endpoint: `${url}/token`,
        jwks_uri: `${url}/keys`,
      });
    if (request.url === '/keys')
      return void exportJWK(pair.publicKey).then((key) => json({ keys: [{ ...key, kid, alg: 'RS256' }] }));
    let body = '';
    request.on('data', (part) => (body += String(part)));
    request.on('end', () => {
      const given = new URLSearchParams(body);
      const known = codes.get(given.get('code') ?? '');
      codes.delete(given.get('code') ?? '');
      const challenge = createHash('sha256')
        .update(given.get('code_verifier') ?? '')
        .digest('base64url');
      const isIt = known?.challenge === challenge && known.redirect === given.get('redirect_uri');
      return isIt ? json({ id_token: known.jwt }) : json({ error: 'invalid_grant' }, 400);
    });
    return undefined;
  });
  await new Promise<void>((resolve) => void server.listen(0, '127.0.0.1', resolve));
  const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  open.push(() => new Promise((resolve) => server.close(resolve)));
  const jwt = (
    claims: object = {},
    change: (token: SignJWT) => SignJWT = (token) => token,
    header: object = {},
  ): Promise<string> =>
    change(
      new SignJWT({ tenant: 'acme', access: ['operator', 'approver'], ...claims })
        .setProtectedHeader({ alg: 'RS256', kid, ...header })
        .setIssuer(url)
        .setAudience('sluice')
        .setSubject('u-17')
        .setIssuedAt()
        .setExpirationTime('1h'),
    ).sign(pair.privateKey);
  return {
    ...{ url, jwt, codes },
    publicKey: () => exportSPKI(pair.publicKey),
    rotate: (): void => {
      pair = generateKeyPairSync('rsa', { modulusLength: 2048 });
      kid = 'two';
    },
  };
}

const oidcOf = (url: string) => ({
  oidc: { issuer: url, client: 'page', audience: 'sluice', tenantClaim: 'tenant', accessClaim: 'access' },
});

describe('logins at an issuer', () => {
  test('a person answers, and the journal has the login', async () => {
    const idp = await issuer();
    const here = await placeOf(`{ id: anna, roles: [manager], login: "${idp.url}#u-17" }`, oidcOf(idp.url));
    const token = await idp.jwt();
    const started = await here.ask('POST', '/v1/flows/refunds/runs', {
      ...{ body: { input: { message: 'x' }, script: 'refunds' }, headers: { prefer: 'wait=20' } },
      token: await idp.jwt({}, (given) => given.setSubject('u-18')),
    });
    expect((await here.ask('GET', '/v1/me', { token })).body).toMatchObject({ person: 'anna', tenant: 'acme' });
    const { body } = await here.ask('GET', '/v1/questions?for=me', { token });
    const [asked] = body['items'] as readonly { readonly id: string; readonly payload: string }[];
    const run = String(started.body['run']);
    expect(await answer(here, { run, question: asked?.id ?? '', payload: asked?.payload ?? '' }, token)).toMatchObject({
      status: 200,
    });
    expect(await proofs(here, run)).toContain('oidc');
  });

  test('a token that is forged, old, for another audience or without rights gets nothing', async () => {
    const [idp, other] = [await issuer(), await issuer()];
    const here = await placeOf(ANNA, oidcOf(idp.url));
    const none = new UnsecuredJWT({ tenant: 'acme', access: ['admin'] })
      .setIssuer(idp.url)
      .setAudience('sluice')
      .setSubject('u')
      .setExpirationTime('1h')
      .encode();
    const secret = new TextEncoder().encode(await idp.publicKey());
    const confused = await new SignJWT({ tenant: 'acme', access: ['admin'] })
      .setProtectedHeader({ alg: 'HS256', kid: 'one' })
      .setIssuer(idp.url)
      .setAudience('sluice')
      .setSubject('u')
      .setExpirationTime('1h')
      .sign(secret);
    const cases: { readonly [name: string]: string } = {
      ...{ none, confused },
      'another issuer': await other.jwt({}, (token) => token.setIssuer(idp.url)),
      'a key named by the token': await other.jwt({}, (token) => token.setIssuer(idp.url), {
        jku: `${other.url}/keys`,
      }),
      'no audience': await idp.jwt({}, (token) => token.setAudience('other')),
      expired: await idp.jwt({}, (token) => token.setExpirationTime(Math.floor(Date.now() / 1000) - 120)),
      'not yet': await idp.jwt({}, (token) => token.setNotBefore(Math.floor(Date.now() / 1000) + 300)),
      'no tenant': await idp.jwt({ tenant: undefined }),
      'an empty tenant': await idp.jwt({ tenant: '' }),
      'a list of tenants': await idp.jwt({ tenant: ['acme'] }),
      'no access': await idp.jwt({ access: undefined }),
      'unknown access': await idp.jwt({ access: ['root'] }),
      'no subject': await idp.jwt({}, (token) => token.setSubject('')),
      'another key': `${(await idp.jwt()).slice(0, -8)}AAAAAAAA`,
    };
    for (const [name, token] of Object.entries(cases))
      expect((await here.ask('GET', '/v1/me', { token })).status, name).toBe(401);
    expect((await here.ask('GET', '/v1/me', { token: await idp.jwt() })).status).toBe(200);
  });

  test('the page logs in by a code that only its verifier opens, at its own address', async () => {
    const idp = await issuer();
    const here = await placeOf(ANNA, oidcOf(idp.url));
    const { body: session } = await here.ask('GET', '/v1/session', { token: null });
    expect(session).toEqual({
      me: null,
      login: { issuer: idp.url, client: 'page', authorization: `${idp.url}/authorize` },
    });
    const verifier = randomBytes(32).toString('base64url');
    const redirect = `${here.serving.url}/`;
    const challenge = createHash('sha256').update(verifier).digest('base64url');
    const login = async (given: object) => here.ask('POST', '/v1/session', { body: { login: given }, token: null });
    const code = async (): Promise<string> => {
      const made = randomBytes(8).toString('hex');
      idp.codes.set(made, { challenge, redirect, jwt: await idp.jwt() });
      return made;
    };
    expect((await login({ code: await code(), verifier: 'x'.repeat(43), redirect })).status).toBe(401);
    expect((await login({ code: await code(), verifier, redirect: 'https://evil.example/' })).status).toBe(400);
    const won = await login({ code: await code(), verifier, redirect });
    expect([won.status, won.body['tenant']]).toEqual([200, 'acme']);
    const cookie = String(won.headers.get('set-cookie')).split(';')[0] ?? '';
    expect((await here.ask('GET', '/v1/me', { token: null, headers: { cookie } })).body).toMatchObject({
      access: ['operator', 'approver'],
    });
  });

  test('an issuer that is away is named, and nobody gets in', async () => {
    const here = await placeOf(ANNA, oidcOf('http://127.0.0.1:9'));
    expect(await here.ask('GET', '/v1/me', { token: 'eyJ.e30.x' })).toMatchObject({
      status: 502,
      body: { code: 'bad-issuer' },
    });
  });
});

test('a server on a network refuses to start while nobody has to log in', async () => {
  await expect(place({ host: '0.0.0.0' })).rejects.toMatchObject({ code: 'serve-open' });
});
