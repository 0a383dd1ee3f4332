/** `engine.fetch`: the routes in a server of the program, with its own knowledge of who calls. */
import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { Readable } from 'node:stream';
import { afterEach, expect, test } from 'vitest';
import { SluiceError, agent, flow, openMemory, text, tool } from '@sluice-internal/library';
import { createEngine, type Engine, type FetchOptions, type Identity } from '@sluice-internal/server/sluice';
import { connect } from '@sluice-internal/client';
import { z } from 'zod';

const triage = agent('triage', { instructions: 'Sort.', output: z.object({ amount: z.number() }) });
const refund = tool('payments.refund', {
  effect: 'financial',
  input: z.object({ amount: z.number() }),
  run: ({ amount }) => ({ paid: amount }),
});
const refunds = flow('refunds', { input: z.object({ message: z.string() }) })
  .step(triage, ({ input }) => input.message)
  .approve('gate', ({ triage: sorted }) => text`Refund ${sorted.amount}?`)
  .step(refund, ({ triage: sorted }) => ({ amount: sorted.amount }));

const open: (() => Promise<void>)[] = [];
afterEach(async () => {
  for (const end of open.splice(0).toReversed()) await end();
});

function engineWith(): Engine {
  const script = { agents: { triage: ['{"amount": 20}'] } };
  const engine = createEngine({ flows: [refunds], journal: openMemory(), script });
  open.push(() => engine.close());
  return engine;
}

/** The identity is in a header: this program is its own proxy. */
const identify: FetchOptions['identify'] = ({ headers }) => {
  const given = headers.get('x-user');
  return given === null ? null : (JSON.parse(given) as Identity);
};
const OPERATOR: Identity = { tenant: 'acme', person: null, access: ['operator', 'approver'], proof: null };

/** Ten lines that mount the routes in a server of Node, as in Express. */
async function mounted(engine: Engine, options: FetchOptions): Promise<string> {
  const handle = async (incoming: IncomingMessage, outgoing: ServerResponse): Promise<void> => {
    const url = `http://${incoming.headers.host ?? ''}${incoming.url ?? ''}`;
    const hasBody = incoming.method !== 'GET' && incoming.method !== 'HEAD';
    const stop = new AbortController();
    outgoing.on('close', () => stop.abort());
    const request = new Request(url, {
      ...{ method: incoming.method ?? 'GET', headers: incoming.headers as Record<string, string>, signal: stop.signal },
      ...(hasBody ? { body: Readable.toWeb(incoming) as ReadableStream, duplex: 'half' as const } : {}),
    });
    const response = await engine.fetch(request, options);
    outgoing.writeHead(response.status, Object.fromEntries(response.headers));
    for await (const part of response.body ?? []) outgoing.write(part);
    outgoing.end();
  };
  const server: Server = createServer((incoming, outgoing) => void handle(incoming, outgoing));
  await new Promise<void>((resolve) => void server.listen(0, '127.0.0.1', resolve));
  open.push(
    () =>
      new Promise((resolve) => {
        server.close(() => resolve());
        server.closeAllConnections();
      }),
  );
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
}

async function asked(
  engine: Engine,
  path: string,
  given: Partial<FetchOptions> & RequestInit & { user?: Identity } = {},
) {
  const { user, prefix, hostNames, trust, identify: own = identify, ...init } = given;
  const headers = { ...(init.headers as object), ...(user === undefined ? {} : { 'x-user': JSON.stringify(user) }) };
  const options = { identify: own, prefix, hostNames, trust };
  const present = Object.fromEntries(Object.entries(options).filter(([, value]) => value !== undefined));
  const response = await engine.fetch(new Request(`http://localhost${path}`, { ...init, headers }), present as never);
  return { status: response.status, body: (await response.json()) as { readonly [field: string]: unknown } };
}
const START = { method: 'POST', headers: { 'content-type': 'application/json' }, body: '{"input":{"message":"x"}}' };

test('the client works with the routes of a program, under a prefix', async () => {
  const engine = engineWith();
  const url = await mounted(engine, { identify, prefix: '/agents' });
  const given = {
    fetch: (to: string, init: RequestInit) =>
      fetch(to, { ...init, headers: { ...init.headers, 'x-user': JSON.stringify(OPERATOR) } }),
  };
  const sluice = connect(`${url}/agents`, given);
  const run = await sluice.flow<typeof refunds>('refunds').start({ message: 'money back' }, { key: 'order-1042' });
  for await (const event of run.events()) {
    if (event.type !== 'question.asked') continue;
    const question = await sluice.question(event.question);
    await question.answer('approve', { text: 'checked' });
  }
  const { output } = await run.result();
  expect(output).toEqual({ paid: 20 });
  expect(await engine.list()).toMatchObject([{ run: run.id, tenant: 'acme' }]);
});

test('nobody, a stranger and a viewer are refused, and nothing runs', async () => {
  const engine = engineWith();
  const start = '/v1/flows/refunds/runs';
  expect(await asked(engine, start, START)).toMatchObject({ status: 401, body: { code: 'unauthenticated' } });
  const viewer = { ...OPERATOR, access: ['viewer'] } as const;
  expect(await asked(engine, start, { ...START, user: viewer })).toMatchObject({ status: 403 });
  expect(await asked(engine, '/v1/tokens', { user: { ...OPERATOR, access: ['admin'] } })).toMatchObject({
    status: 404,
  });
  const throws = () => {
    throw new Error('the directory is away');
  };
  expect(await asked(engine, start, { ...START, identify: throws })).toMatchObject({
    status: 500,
    body: { code: 'internal-error' },
  });
  const half = { ...OPERATOR, person: 'anna', proof: { via: 'oidc', issuer: 'https://i.example' } } as Identity;
  expect((await asked(engine, start, { ...START, user: half })).status).toBe(400);
  const made = { ...OPERATOR, access: 'admin' as never };
  expect((await asked(engine, start, { ...START, user: made })).status).toBe(500);
  expect(await engine.list()).toEqual([]);
});

test('a run of another tenant is unknown', async () => {
  const engine = engineWith();
  const { body } = await asked(engine, '/v1/flows/refunds/runs', { ...START, user: OPERATOR });
  const other = { ...OPERATOR, tenant: 'globex', access: ['admin'] } as const;
  expect((await asked(engine, `/v1/runs/${String(body['run'])}`, { user: other })).status).toBe(404);
  expect((await asked(engine, `/v1/runs/${String(body['run'])}`, { user: OPERATOR })).status).toBe(200);
});

test('the checks of the door stay on unless the program has its own', async () => {
  const engine = engineWith();
  const evil = { headers: { host: 'evil.example' }, user: OPERATOR };
  expect((await asked(engine, '/v1/me', evil)).status).toBe(421);
  expect((await asked(engine, '/v1/me', { ...evil, hostNames: ['evil.example'] })).status).toBe(200);
  expect((await asked(engine, '/v1/me', { ...evil, trust: 'outer' })).status).toBe(200);
  const foreign = { headers: { origin: 'https://evil.example' }, user: OPERATOR };
  expect((await asked(engine, '/v1/me', foreign)).status).toBe(403);
  const large = { ...START, body: JSON.stringify({ input: { message: 'x'.repeat(2_000_000) } }), user: OPERATOR };
  expect((await asked(engine, '/v1/flows/refunds/runs', large)).status).toBe(413);
  const wrong = { ...START, body: '{"input":{"message":7}}', user: OPERATOR };
  expect(await asked(engine, '/v1/flows/refunds/runs', wrong)).toMatchObject({
    status: 422,
    body: { code: 'bad-input' },
  });
});

test('a path outside of the prefix is no route', async () => {
  const engine = engineWith();
  for (const path of ['/v1/me', '/agentsx/v1/me', '/agents/../v1/me', '/agents//v1/me', '/agents'])
    expect((await asked(engine, path, { prefix: '/agents', user: OPERATOR })).status, path).toBe(404);
  expect((await asked(engine, '/agents/v1/me', { prefix: '/agents/', user: OPERATOR })).status).toBe(200);
});

test('options that would make everybody somebody are refused', async () => {
  const engine = engineWith();
  const request = new Request('http://localhost/v1/me');
  for (const wrong of [undefined, {}, { identify: null }, { identify, trusted: true }, { identify, trust: 'inner' }])
    await expect(engine.fetch(request, wrong as never), JSON.stringify(wrong)).rejects.toMatchObject({
      code: 'bad-start',
    });
});

test('a full disk is 507, and the server is not ready until it was restarted', async () => {
  const store = openMemory();
  let isFull = false;
  const { journal } = store;
  const full: typeof journal = {
    ...journal,
    commit: async (...given) => {
      if (isFull) throw new SluiceError('disk-full', 'the disk is full', 'Free some space.');
      return journal.commit(...given);
    },
  };
  const script = { agents: { triage: ['{"amount": 20}'] } };
  const engine = createEngine({ flows: [refunds], journal: { ...store, journal: full }, script });
  open.push(() => engine.close());
  const start = () => asked(engine, '/v1/flows/refunds/runs', { ...START, user: OPERATOR });
  expect((await start()).status).toBe(201);
  isFull = true;
  const refused = await start();
  expect([refused.status, refused.body['code']]).toEqual([507, 'disk-full']);
  expect(await asked(engine, '/readyz')).toMatchObject({
    status: 503,
    body: { ready: false },
  });
  expect((await asked(engine, '/healthz')).status).toBe(200);
  isFull = false;
  expect((await asked(engine, '/readyz')).status).toBe(503);
  expect((await asked(engine, '/v1/runs', { user: OPERATOR })).status).toBe(200);
});
