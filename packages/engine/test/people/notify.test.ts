/** Hooks announce questions: signed, retried, recorded, and never in the way of the run. */
import { createHmac } from 'node:crypto';
import { chmodSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, onTestFinished, test, vi } from 'vitest';
import { notify } from '../../../library/src/host/notify.ts';
import type { CompiledFlow } from '@sluice-internal/kernel/ir';
import { replay } from '@sluice-internal/engine/audit';
import { realClock } from '@sluice-internal/engine/ports';
import type { Performer } from '@sluice-internal/engine/ports';
import { createRuntime } from '@sluice-internal/engine/worker';
import { openMemory } from '@sluice-internal/engine/memory';
import { compile } from '@sluice-internal/library';
import { forTenant } from '../../../library/src/host/tenant.ts';
import { compiled } from '../../../../test/support/harness.ts';
import { eventsOf, office, waitingAt } from './people.ts';
import { movableClock } from '../../../../test/support/movable-clock.ts';
import type { Office } from './people.ts';

function flowWith(sections: object): CompiledFlow {
  return compiled({
    ...sections,
    flow: { id: 'ask', entry: 'gate', nodes: [{ id: 'gate', type: 'approval', message: 'Go?' }] },
  });
}

async function notes(here: Office, run: string) {
  return (await eventsOf(here, run)).filter(({ type }) => type === 'question.notified' || type === 'review.saturated');
}

interface Received {
  readonly body: string;
  readonly headers: { readonly [name: string]: string | string[] | undefined };
}

/** A server that refuses the first `failures` requests. */
async function server(failures = 0): Promise<{ url: string; received: Received[] }> {
  const received: Received[] = [];
  const http = createServer((request, response) => {
    let body = '';
    request.on('data', (chunk: Buffer) => (body += chunk.toString()));
    request.on('end', () => {
      received.push({ body, headers: request.headers });
      response.statusCode = received.length <= failures ? 503 : 204;
      response.end();
    });
  });
  await new Promise<void>((resolve) => http.listen(0, '127.0.0.1', resolve));
  onTestFinished(() => void http.close());
  return { url: `http://127.0.0.1:${(http.address() as AddressInfo).port}/hook`, received };
}

test('a webhook gets the question with a signature and a timestamp, and is tried again', async () => {
  vi.stubEnv('HOOK_SECRET', 'a secret');
  onTestFinished(() => void vi.unstubAllEnvs());
  const { url, received } = await server(2);
  const here = office(':memory:', { notify });
  const question = await waitingAt(here, flowWith({ notify: [{ webhook: url, secret_env: 'HOOK_SECRET' }] }));
  await expect.poll(() => notes(here, question.run)).toMatchObject([{ to: url, attempts: 3 }]);
  const last = received.at(-1) as Received;
  const timestamp = String(last.headers['sluice-timestamp']);
  const expected = createHmac('sha256', 'a secret').update(`${timestamp}.${last.body}`).digest('hex');
  expect(last.headers['sluice-signature']).toBe(`v1=${expected}`);
  expect(Math.abs(Number(timestamp) - Date.now() / 1000)).toBeLessThan(60);
  expect(new Set(received.map(({ headers }) => headers['sluice-delivery'])).size).toBe(1);
  expect(JSON.parse(last.body)).toMatchObject({
    type: 'question.asked',
    flow: 'ask',
    run: question.run,
    question: { id: question.id, message: 'Go?', choices: ['approve', 'reject'] },
  });
  expect(JSON.stringify(received)).not.toContain('a secret');
  expect(await replay(here.store.journal, question.run)).toMatchObject({ agrees: true });
  // The record of the hook changes nothing: the answer counts as ever.
  await here.engine.answer(question.id, { choice: 'approve', by: 'bo' });
  expect((await here.engine.settled(question.run)).approvals).toEqual({ gate: 'approve' });
});

test('a command reads the question from standard input', async () => {
  const dir = mkdtempSync(join(tmpdir(), 'sluice-notify-'));
  onTestFinished(() => rmSync(dir, { recursive: true, force: true }));
  writeFileSync(join(dir, 'tell.sh'), '#!/bin/sh\ncat > told.json\nenv > env.txt\n');
  chmodSync(join(dir, 'tell.sh'), 0o755);
  vi.stubEnv('OTHER_SECRET', 'not for hooks');
  onTestFinished(() => void vi.unstubAllEnvs());
  const here = office(':memory:', { notify });
  const flow = flowWith({ notify: [{ command: ['./tell.sh'] }] });
  const question = await waitingAt(here, flow, { origin: { pins: { documentDir: dir } } });
  await expect.poll(() => notes(here, question.run)).toMatchObject([{ to: './tell.sh', attempts: 1 }]);
  expect(JSON.parse(readFileSync(join(dir, 'told.json'), 'utf8'))).toMatchObject({ question: { id: question.id } });
  expect(readFileSync(join(dir, 'env.txt'), 'utf8')).not.toContain('not for hooks');
});

test('a hook that fails is recorded, and never blocks the run', async () => {
  const here = office(':memory:', { notify });
  const question = await waitingAt(here, flowWith({ notify: [{ command: ['/no/such/program'] }] }));
  await expect
    .poll(() => notes(here, question.run))
    .toMatchObject([{ to: '/no/such/program', attempts: 4, problem: expect.stringContaining('ENOENT') as string }]);
  const other = await waitingAt(here, flowWith({ notify: [{ webhook: 'https://x.invalid/', secret_env: 'NOT_SET' }] }));
  await here.engine.answer(other.id, { choice: 'approve', by: 'bo' });
  expect((await here.engine.settled(other.run)).state).toBe('completed');
});

test('an engine that closes waits for its hooks', async () => {
  let told = 0;
  const slow = async (): Promise<void> => {
    await new Promise((resolve) => setTimeout(resolve, 200));
    told += 1;
  };
  const here = office(':memory:', { notify: slow });
  await waitingAt(here, flowWith({ notify: [{ command: ['x'] }] }));
  await here.engine.close();
  expect(told).toBe(1);
});

test('a question whose process died before its hook is announced by the next process, under the same id', async () => {
  const flow = flowWith({ notify: [{ command: ['x'] }] });
  // The process asked a minute ago, and died before it called the hook.
  const earlier = { ...realClock, now: () => Date.now() - 60_000 };
  const store = openMemory();
  const died = createRuntime({ store, performer: NO_CALLS, pickUp: false, clock: earlier });
  const first: Office = { engine: died, store, calls: [] };
  const question = await waitingAt(first, flow);
  const [asked] = (await eventsOf(first, question.run)).filter(({ type }) => type === 'effect.requested');
  const sent: string[] = [];
  const hook = async ({ id }: { readonly id: string }): Promise<void> => void sent.push(id);
  const next = createRuntime({ store: first.store, performer: { ...NO_CALLS, notify: hook }, pickUp: false });
  await expect.poll(() => notes(first, question.run)).toMatchObject([{ to: 'x', attempts: 1 }]);
  expect(sent).toEqual([`${question.id}.${asked?.seq ?? 0}`]);
  const third = createRuntime({ store: first.store, performer: { ...NO_CALLS, notify: hook }, pickUp: false });
  await third.answer(question.id, { choice: 'approve', by: 'bo' });
  expect((await third.settled(question.run)).state).toBe('completed');
  expect(sent).toHaveLength(1);
  expect(await replay(first.store.journal, question.run)).toMatchObject({ agrees: true });
  await next.close();
});

test('a lost question of one tenant is announced, although an engine of another tenant looked first', async () => {
  const flow = flowWith({ notify: [{ command: ['x'] }] });
  const store = openMemory();
  const earlier = { ...realClock, now: () => Date.now() - 60_000 };
  const died = createRuntime({ store, performer: NO_CALLS, pickUp: false, clock: earlier });
  const first: Office = { engine: died, store, calls: [] };
  const [acme, globex] = [
    await waitingAt(first, flow, { origin: { tenant: 'acme' } }),
    await waitingAt(first, flow, { origin: { tenant: 'globex' } }),
  ];
  const sent: string[] = [];
  const hook = async ({ body }: { readonly body: string }): Promise<void> =>
    void sent.push((JSON.parse(body) as { run: string }).run);
  createRuntime({ store: forTenant(store, 'acme'), performer: { ...NO_CALLS, notify: hook }, pickUp: false });
  await expect.poll(() => notes(first, acme.run)).toHaveLength(1);
  createRuntime({ store: forTenant(store, 'globex'), performer: { ...NO_CALLS, notify: hook }, pickUp: false });
  await expect.poll(() => notes(first, globex.run)).toHaveLength(1);
  expect(sent).toEqual([acme.run, globex.run]);
});

const NO_CALLS: Performer = { perform: () => Promise.reject(new Error('no call is made')) };

test('a late answer to a question says that it has expired, also when the run has ended', async () => {
  const clock = movableClock();
  const here = office(':memory:', {}, [], clock);
  const flow = compiled({
    flow: {
      id: 'ask',
      entry: 'gate',
      nodes: [{ id: 'gate', type: 'approval', message: 'Go?', timeout: 3600, on_timeout: 'reject' }],
    },
  });
  const question = await waitingAt(here, flow);
  clock.offset = 2 * 3_600_000;
  await expect.poll(async () => (await here.engine.get(question.run)).state).toBe('completed');
  await expect(here.engine.answer(question.id, { choice: 'approve', by: 'bo' })).rejects.toMatchObject({
    code: 'approval-closed',
    message: `\`${question.id}\` has expired and counts as \`reject\``,
  });
});

test('a question that moves to a new version of its flow is announced again, under its new id', async () => {
  const told: { readonly id: string; readonly run: string; readonly question: string }[] = [];
  const hook: Performer['notify'] = async ({ id, body }) => {
    const { run, question } = JSON.parse(body) as { readonly run: string; readonly question: { readonly id: string } };
    told.push({ id, run, question: question.id });
  };
  const here = office(':memory:', { notify: hook });
  const version = (description: string): CompiledFlow =>
    compiled({
      notify: [{ command: ['x'] }],
      flow: { id: 'ask', description, entry: 'gate', nodes: [{ id: 'gate', type: 'approval', message: 'Go?' }] },
    });
  const question = await waitingAt(here, version('one'));
  await expect.poll(() => notes(here, question.run)).toHaveLength(1);
  await here.engine.migrate(question.run, version('two'), { by: 'olga', run: 'moved' });
  await expect.poll(() => told.map((each) => each.run)).toEqual([question.run, 'moved']);
  expect(told[1]?.question).not.toBe(question.id);
  expect(told[1]?.id).not.toBe(told[0]?.id);
  await expect.poll(() => notes(here, 'moved')).toHaveLength(2);
  await here.engine.answer(told[1]?.question ?? '', { choice: 'approve', by: 'bo' });
  expect((await here.engine.settled('moved')).state).toBe('completed');
});

test('a queue that is too long is an event', async () => {
  const here = office();
  const flow = flowWith({ review_queue: { open: 2 } });
  const first = await waitingAt(here, flow);
  await waitingAt(here, flow);
  const third = await waitingAt(here, flow);
  await expect.poll(() => notes(here, third.run)).toMatchObject([{ type: 'review.saturated', open: 3 }]);
  expect(await notes(here, first.run)).toEqual([]);
});

test.each([
  ['notify: [{ webhook: "https://x.example/" }]', 'missing-field'],
  ['notify: [{ webhook: "http://x.example/", secret_env: S }]', 'bad-value'],
  ['notify: [{ webhook: "https://x.example/", secret_env: S, command: [x] }]', 'missing-field'],
  ['notify: [{}]', 'missing-field'],
  ['review_queue: { opn: 2 }', 'unknown-key'],
])('%s is refused', (section, code) => {
  const text = `${section}\nflow: { id: f, entry: gate, nodes: [{ id: gate, type: approval, message: "Go?" }] }\n`;
  expect(compile(text).diagnostics).toMatchObject([{ code, line: 1 }]);
});
