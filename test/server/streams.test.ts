/** Streams: nothing is lost and nothing comes twice, whatever the connection does; they end with the token and with the server. */
import { spawn, type ChildProcess } from 'node:child_process';
import { get } from 'node:http';
import { once } from 'node:events';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterEach, expect, test } from 'vitest';
import { connect, type ClientEvent } from '@sluice-internal/client';
import { compile, openMemory } from '@sluice-internal/library';
import { createEngine } from '@sluice-internal/server/sluice';
import { place, refund, type Place } from './kit.ts';

const open: (() => Promise<unknown>)[] = [];
afterEach(async () => {
  for (const end of open.splice(0).toReversed()) await end();
});
const LIMITS = { burst: 100_000, perSecond: 100_000, streamsPerCaller: 300, streams: 600 };
async function placed(more: Parameters<typeof place>[0] = {}): Promise<Place> {
  const here = await place({ limits: LIMITS, ...more });
  open.push(() => here.end());
  return here;
}

const approve = (here: Place, { question, payload }: { readonly question: string; readonly payload: string }) =>
  here.ask('POST', `/v1/questions/${question}/answer`, { body: { choice: 'approve', payload } });

/** The blocks of a stream until it ends or has so many. */
async function blocks(
  here: Place,
  path: string,
  { last, many = Infinity, token = here.token }: { last?: string; many?: number; token?: string } = {},
) {
  const stop = new AbortController();
  const response = await fetch(`${here.serving.url}${path}`, {
    headers: {
      ...{ accept: 'text/event-stream', authorization: `Bearer ${token}` },
      ...(last === undefined ? {} : { 'last-event-id': last }),
    },
    signal: stop.signal,
  });
  const found: { readonly id: string | null; readonly event: string | null; readonly data: string | null }[] = [];
  let rest = '';
  const field = (block: string, name: string): string | null =>
    new RegExp(`^${name}: (.*)$`, 'm').exec(block)?.[1] ?? null;
  for await (const part of response.body ?? []) {
    const parts = (rest + Buffer.from(part).toString()).split('\n\n');
    rest = parts.pop() ?? '';
    found.push(
      ...parts.map((block) => ({ id: field(block, 'id'), event: field(block, 'event'), data: field(block, 'data') })),
    );
    if (found.filter(({ event }) => event !== null).length >= many) break;
  }
  stop.abort();
  return {
    headers: response.headers,
    status: response.status,
    found: found.filter(({ event }) => event !== null),
    all: found,
  };
}

test('a stream of a run says how it is read again, has no cache, and ends with done', async () => {
  const here = await placed();
  const asks = await refund(here);
  await approve(here, asks);
  await here.ask('GET', `/v1/runs/${asks.run}?wait=20`);
  const { headers, found, all } = await blocks(here, `/v1/runs/${asks.run}/events`);
  expect([headers.get('content-type'), headers.get('cache-control'), headers.get('x-accel-buffering')]).toEqual([
    'text/event-stream; charset=utf-8',
    'no-store',
    'no',
  ]);
  expect(all[0]).toEqual({ id: null, event: null, data: null });
  expect(found.at(-1)).toMatchObject({ id: null, event: 'done' });
  expect(found.filter(({ event }) => event === 'run.event').every(({ id }) => /^\d+\.\d+$/.test(id ?? ''))).toBe(true);
});

test('a reader that loses its connection after each event reads every event once', async () => {
  const here = await placed();
  const asks = await refund(here);
  await approve(here, asks);
  await here.ask('GET', `/v1/runs/${asks.run}?wait=20`);
  const whole = (await blocks(here, `/v1/runs/${asks.run}/events`)).found.flatMap(({ id }) => id ?? []);
  const seen: string[] = [];
  for (let last: string | undefined; ;) {
    const { found } = await blocks(here, `/v1/runs/${asks.run}/events`, {
      many: 1,
      ...(last === undefined ? {} : { last }),
    });
    const [first] = found;
    if (first?.id === null || first === undefined) break;
    seen.push(first.id);
    last = first.id;
  }
  expect(seen).toEqual(whole);
  expect((await blocks(here, `/v1/runs/${asks.run}/events`, { last: 'nonsense' })).status).toBe(400);
  expect(
    (await blocks(here, `/v1/runs/${asks.run}/events`, { last: '999999.0' })).found.map(({ event }) => event),
  ).toEqual(['done']);
});

test('200 readers of 20 runs, of which some come back, lose nothing and get nothing twice', async () => {
  const here = await placed();
  const sluice = connect(here.serving.url, { token: here.token });
  const all = await Promise.all(Array.from({ length: 20 }, () => refund(here)));
  const readers = all.flatMap(({ run }) =>
    Array.from({ length: 10 }, async (_, index) => {
      const seen: string[] = [];
      let after: string | undefined;
      // A reader that stops in the middle begins again after its last event.
      for (const part of [index % 3, 1000]) {
        let left = part;
        for await (const event of sluice.run(run).events(after === undefined ? {} : { after })) {
          if (!('id' in event)) continue;
          seen.push(event.id);
          after = event.id;
          left -= 1;
          if (left <= 0) break;
        }
      }
      return { run, seen };
    }),
  );
  await Promise.all(all.map((asks) => approve(here, asks)));
  const read = await Promise.all(readers);
  for (const { run, seen } of read) {
    const { body } = await here.ask('GET', `/v1/runs/${run}/events?limit=1000`);
    expect(seen).toEqual((body['items'] as readonly { readonly id: string }[]).map(({ id }) => id));
  }
}, 120_000);

test('a reader that never reads is served again when it reads, and others do not wait for it', async () => {
  const here = await placed();
  const asks = await refund(here);
  const { port, hostname } = new URL(here.serving.url);
  const stalled = get({
    port,
    hostname,
    path: `/v1/runs/${asks.run}/events`,
    headers: { authorization: `Bearer ${here.token}`, accept: 'text/event-stream' },
  });
  const [response] = (await once(stalled, 'response')) as [NodeJS.ReadableStream];
  response.pause();
  await approve(here, asks);
  expect((await here.ask('GET', `/v1/runs/${asks.run}?wait=20`)).body).toMatchObject({ code: 'SUCCESS' });
  let text = '';
  response.on('data', (part: Buffer) => (text += part.toString()));
  response.resume();
  await once(response, 'end');
  expect(text).toContain('event: done');
});

test('the stream of all changes is resumed at its place, also after a change that nobody read', async () => {
  const here = await placed();
  const first = await blocks(here, '/v1/stream?topics=runs,questions', { many: 0 });
  const [, start] = first.all;
  const asks = await refund(here);
  const { found } = await blocks(here, '/v1/stream?topics=runs,questions', { many: 2, last: start?.id ?? '' });
  expect(found.map(({ event, data }) => [event, (JSON.parse(data ?? '{}') as { run?: string }).run])).toEqual(
    expect.arrayContaining([
      ['runs', asks.run],
      ['questions', asks.run],
    ]),
  );
  const last = found.findLast(({ event }) => event === 'runs')?.id ?? '';
  const reading = blocks(here, '/v1/stream?topics=runs,questions', { many: 1, last });
  await approve(here, asks);
  const { found: later } = await reading;
  expect(JSON.parse(later[0]?.data ?? '{}')).toMatchObject({ run: asks.run });
  const lost = await blocks(here, '/v1/stream?topics=runs', { many: 1, last: 'c:nonsense.0' });
  expect(lost.found).toMatchObject([{ event: 'gap' }]);
});

test('one stream follows runs, and goes on after the event that was read last', async () => {
  const here = await placed();
  const asks = await refund(here);
  const { body } = await here.ask('GET', `/v1/runs/${asks.run}/events?limit=1000`);
  const stored = (body['items'] as readonly { readonly id: string }[]).map(({ id }) => id);
  const half = stored[2] ?? '';
  const { found } = await blocks(here, `/v1/stream?topics=run:${asks.run}@${half}`, { many: stored.length - 3 });
  expect(found.map(({ data }) => (JSON.parse(data ?? '{}') as { id: string }).id)).toEqual(stored.slice(3));
  expect(found[0]?.id).toMatch(/^c:.*\.\d+$/);
  expect(JSON.parse(found[0]?.data ?? '{}')).toMatchObject({ topic: `run:${asks.run}` });
  for (const topics of ['nonsense', 'run:', 'run:r_none', '', 'runs,runs2'])
    expect([400, 404], topics).toContain((await here.ask('GET', `/v1/stream?topics=${topics}`)).status);
});

test('a viewer without content sees what happened and no word of it, on every stream', async () => {
  const here = await placed();
  const add = await here.ask('POST', '/v1/tokens', { body: { name: 'viewer', access: ['viewer'] } });
  const token = String(add.body['token']);
  const asks = await refund(here);
  await approve(here, asks);
  await here.ask('GET', `/v1/runs/${asks.run}?wait=20`);
  const shown = [
    JSON.stringify((await blocks(here, `/v1/runs/${asks.run}/events`, { token })).found),
    JSON.stringify((await blocks(here, `/v1/stream?topics=run:${asks.run}`, { token, many: 5 })).found),
    JSON.stringify((await here.ask('GET', `/v1/runs/${asks.run}`, { token })).body),
    JSON.stringify((await here.ask('GET', `/v1/runs/${asks.run}/state`, { token })).body),
    JSON.stringify((await here.ask('GET', `/v1/runs/${asks.run}/events`, { token })).body),
  ];
  for (const text of shown) expect(text).not.toMatch(/money back|amount|"paid"|Refund 20/);
});

test('a stream ends with its token', async () => {
  const here = await placed();
  const { body } = await here.ask('POST', '/v1/tokens', { body: { name: 'short', access: ['viewer'] } });
  const reading = blocks(here, '/v1/stream?topics=runs', { token: String(body['token']) });
  await expect.poll(async () => (await here.ask('GET', '/metrics')).body['text']).toMatch(/sluice_http_streams 1/);
  await here.ask('DELETE', '/v1/tokens/short');
  await reading;
  expect((await here.ask('GET', '/metrics')).body['text']).toMatch(/sluice_http_streams 0/);
});

test('a server that stops says so, ends its streams, and leaves no port and no token', async () => {
  const here = await place({ limits: LIMITS });
  const reading = blocks(here, '/v1/stream?topics=runs,questions,flows');
  const asks = await refund(here);
  const following = blocks(here, `/v1/runs/${asks.run}/events`);
  await expect.poll(async () => (await here.ask('GET', '/metrics')).body['text']).toMatch(/sluice_http_streams 2/);
  await here.serving.close();
  expect([(await reading).status, (await following).status]).toEqual([200, 200]);
  await expect(here.ask('GET', '/healthz')).rejects.toThrow(/ECONNREFUSED/);
  await here.end();
});

/** `sluice serve` as a process of its own. */
async function served(
  dir: string,
  port: number,
): Promise<{ readonly url: string; readonly process: ChildProcess; readonly token: string }> {
  const command = join(import.meta.dirname, '../../bin/sluice.js');
  const child = spawn(process.execPath, [command, 'serve', '.', '--port', String(port), '--json'], {
    cwd: dir,
    stdio: ['ignore', 'pipe', 'ignore'],
  });
  open.push(async () => {
    child.kill('SIGKILL');
    if (child.exitCode === null && child.signalCode === null) await once(child, 'exit');
  });
  const [line] = (await once(child.stdout, 'data')) as [Buffer];
  const { url, tokenFile } = JSON.parse(line.toString()) as { readonly url: string; readonly tokenFile: string };
  const { readFileSync } = await import('node:fs');
  return { url, process: child, token: readFileSync(tokenFile, 'utf8').trim() };
}

test('kill -9 of the server: its readers come back to the next one, and lose nothing', async () => {
  const here = await placed();
  const runs = await Promise.all(Array.from({ length: 8 }, () => refund(here)));
  const first = await served(here.dir, 0);
  const port = Number(new URL(first.url).port);
  let token = first.token;
  const sluice = connect(first.url, { token: () => token });
  const readers = runs.map(async ({ run }) => {
    const seen: ClientEvent[] = [];
    for await (const event of sluice.run(run).events()) seen.push(event);
    return { run, seen: seen.flatMap((event) => ('id' in event ? [event.id] : [])) };
  });
  await expect
    .poll(async () => {
      const { body } = await answerOf(first.url, '/metrics', token);
      return body;
    })
    .toMatch(/sluice_http_streams 8/);
  first.process.kill('SIGKILL');
  await once(first.process, 'exit');
  await Promise.all(runs.map((asks) => approve(here, asks)));
  ({ token } = await served(here.dir, port));
  for (const { run, seen } of await Promise.all(readers)) {
    const { body } = await here.ask('GET', `/v1/runs/${run}/events?limit=1000`);
    expect(seen).toEqual((body['items'] as readonly { readonly id: string }[]).map(({ id }) => id));
  }
}, 120_000);

async function answerOf(url: string, path: string, token: string): Promise<{ readonly body: string }> {
  const response = await fetch(`${url}${path}`, { headers: { authorization: `Bearer ${token}` } });
  return { body: await response.text() };
}

test('200 readers who come back at the end of a long run read its journal once, all together', async () => {
  const visits = 400;
  const document = compile(`
agents: [{ id: worker, instructions: Count. }]
budgets: { steps: ${visits * 3} }
flow:
  id: long
  entry: count
  max_iterations: ${visits}
  nodes: [{ id: count, type: agent, agent: worker, routes: [{ when: "count.output != 'stop'", to: count }, { to: end }] }]
`);
  const store = openMemory();
  const script = { agents: { worker: ['on'] } };
  const first = createEngine({ journal: store, script });
  const run = await first.start(document, { input: {} });
  await first.wait(run);
  const ids: string[] = [];
  for await (const { id } of (await first.open(run)).events()) ids.push(id);
  const read = { rows: 0, whole: 0 };
  const { journal } = store;
  const counted: typeof journal = {
    ...journal,
    load: async (...given) => {
      const stored = await journal.load(...given);
      read.rows += stored?.appends.length ?? 0;
      if ((stored?.appends.length ?? 0) > visits) read.whole += 1;
      return stored;
    },
    page: async (...given) => {
      const rows = await journal.page(...given);
      read.rows += rows.length;
      return rows;
    },
  };
  const engine = createEngine({ journal: { ...store, journal: counted }, script, pickUp: false });
  open.push(async () => {
    await engine.close();
    await first.close();
  });
  const who = { tenant: null, person: null, access: ['viewer', 'operator'], proof: null } as const;
  const last = ids.at(-3) ?? '';
  const told = await Promise.all(
    Array.from({ length: 200 }, async () => {
      const headers = { accept: 'text/event-stream', 'last-event-id': last };
      const request = new Request(`http://localhost/v1/runs/${run}/events`, { headers });
      const answer = await engine.fetch(request, { identify: () => who, trust: 'outer' });
      return [...(await answer.text()).matchAll(/^id: (.*)$/gm)].map(([, id]) => id);
    }),
  );
  expect(told).toEqual(Array.from({ length: 200 }, () => ids.slice(-2)));
  expect([1, 2]).toContain(read.whole);
  // Beside that, each reader looks for what is new, which is a few rows.
  expect(read.rows).toBeLessThan(2 * visits * 3 + 200 * 10);
});

test('what waits for a reader who reads nothing has a bound, and he misses no event', async () => {
  const engine = createEngine({ journal: openMemory(), script: { agents: { worker: ['on'] } } });
  open.push(() => engine.close());
  const rounds = 1500;
  const nodes = `{ id: count, type: agent, agent: worker, routes: [{ when: "count.output != 'stop'", to: count }, { to: end }] }`;
  const text = `
agents: [{ id: worker, instructions: Count. }]
budgets: { steps: ${rounds * 3} }
flow: { id: long, entry: ask, max_iterations: ${rounds}, nodes: [{ id: ask, type: approval, message: Go on?, routes: [{ to: count }] }, ${nodes}] }
`;
  const run = await engine.start(compile(text), { input: {} });
  await engine.wait(run);
  const who = { tenant: null, person: null, access: ['operator', 'approver'], proof: null } as const;
  const ask = async (path: string, init: RequestInit = {}) =>
    engine.fetch(new Request(`http://localhost${path}`, init), { identify: () => who, trust: 'outer' });
  const stream = await ask(`/v1/runs/${run}/events`, { headers: { accept: 'text/event-stream' } });
  const reader = (stream.body as ReadableStream<Uint8Array>).getReader();
  await reader.read();
  const [question] = await engine.approvals(run);
  await engine.answer(question?.id ?? '', { choice: 'approve', by: 'ann' });
  await engine.wait(run);
  // Nobody reads while the run makes thousands of events. The rest is read from the journal.
  let rest = '';
  for (;;) {
    const { done, value } = await reader.read();
    if (done) break;
    rest += Buffer.from(value).toString();
  }
  const came = [...rest.matchAll(/^id: (.*)$/gm)].map(([, id]) => id);
  const stored: string[] = [];
  for await (const { id } of (await engine.open(run)).events()) stored.push(id);
  expect(stored.length).toBeGreaterThan(rounds * 5);
  expect(came).toEqual(stored);
});

test('kill -9 of the server: the run of a script that was under way goes on in the next one', async () => {
  const here = await placed();
  writeFileSync(
    join(here.dir, 'slow.script.yaml'),
    `clock: real\nagents: { triage: [{ delayMs: 1500, text: '{"amount": 20}' }] }\n`,
  );
  const first = await served(here.dir, 0);
  const sluice = connect(first.url, { token: first.token });
  const run = await sluice.flow('refunds').start({ message: 'x' }, { script: 'slow' });
  first.process.kill('SIGKILL');
  await once(first.process, 'exit');
  const second = await served(here.dir, 0);
  const again = connect(second.url, { token: second.token });
  await expect.poll(async () => (await again.run(run.id).report()).state).toBe('suspended');
  expect((await again.run(run.id).questions()).map(({ message }) => message)).toEqual(['Refund 20?']);
}, 120_000);
