/** The life of a refund over HTTP, as a program and as a person see it. */
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { connect, RunFailedError, SluiceError } from '@sluice-internal/client';
import { foldEvents, startOfView } from '@sluice-internal/client/fold';
import { BREAKER_PREFIX, setByHand, stateOf } from '@sluice-internal/engine/limits';
import { operate } from '@sluice-internal/engine/ports';
import { openSqlite } from '@sluice-internal/library';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { place, refund, REFUNDS, type Place } from './kit.ts';

let here: Place;
beforeAll(async () => {
  here = await place();
});
afterAll(() => here.end());

test('a refund is started, asks, is approved and paid', async () => {
  const { ask } = here;
  const flows = await ask('GET', '/v1/flows');
  expect(flows.body['items']).toMatchObject([{ id: 'refunds', file: 'refunds.flow.yaml', notation: 'flow', ok: true }]);
  const { run, question, payload } = await refund(here);
  const open = await ask('GET', `/v1/questions/${question}`);
  expect(open.body).toMatchObject({
    id: question,
    run,
    flow: 'refunds',
    payload,
    mayAnswer: true,
    message: 'Refund 20?',
  });
  const answered = await ask('POST', `/v1/questions/${question}/answer`, { body: { choice: 'approve', payload } });
  expect([answered.status, answered.body]).toEqual([200, { state: 'answered', missing: 0 }]);
  const report = await ask('GET', `/v1/runs/${run}?wait=20`);
  expect(report.body).toMatchObject({ run, state: 'completed', code: 'SUCCESS' });
  expect(report.body['receipts']).toMatchObject([{ tool: 'payments.refund', status: 'committed' }]);
  const listed = await ask('GET', `/v1/runs?status=completed&flow=refunds&limit=1`);
  expect(listed.body['items']).toMatchObject([{ run, flow: 'refunds', code: 'SUCCESS' }]);
  const again = await ask('POST', `/v1/questions/${question}/answer`, { body: { choice: 'approve', payload } });
  expect([409, 404]).toContain(again.status);
});

test('the events of a run come once each, as a page and as a stream, and fold to its state', async () => {
  const { ask, serving, token } = here;
  const { run, question, payload } = await refund(here);
  const sluice = connect(serving.url, { token });
  const seen: string[] = [];
  const reading = (async () => {
    for await (const event of sluice.run(run).events()) if ('id' in event) seen.push(event.id);
  })();
  await ask('POST', `/v1/questions/${question}/answer`, { body: { choice: 'approve', payload } });
  await reading;
  const page = await ask('GET', `/v1/runs/${run}/events?limit=1000`);
  const events = page.body['items'] as readonly { readonly id: string; readonly seq: number }[];
  expect(seen).toEqual(events.map(({ id }) => id));
  expect(page.body['next']).toBeNull();
  const half = events[Math.floor(events.length / 2)]?.id ?? '';
  const rest = await ask('GET', `/v1/runs/${run}/events?limit=1000&after=${half}`);
  expect(rest.body['items']).toEqual(events.slice(Math.floor(events.length / 2) + 1));
  for (const at of [1, 3, events.at(-1)?.seq ?? 1]) {
    const state = await ask('GET', `/v1/runs/${run}/state?at=${at}`);
    const nodes = state.body['nodes'] as object;
    expect(foldEvents(events as never, startOfView(Object.keys(nodes)), at).nodes).toEqual(nodes);
  }
});

describe('the client', () => {
  test('starts, answers from an event, and gets the result; the same key gives the same run', async () => {
    const sluice = connect(here.serving.url, { token: () => here.token });
    const options = { key: 'order-1042', script: 'refunds' };
    const run = await sluice.flow('refunds').start({ message: 'money back' }, options);
    const same = await sluice.flow('refunds').start({ message: 'money back' }, options);
    expect(same.id).toBe(run.id);
    await expect(sluice.flow('refunds').start({ message: 'other' }, options)).rejects.toMatchObject({
      code: 'run-exists',
      status: 409,
    });
    for await (const event of run.events()) {
      if (event.type !== 'question.asked') continue;
      const question = await sluice.question(event.question);
      expect(await question.answer('approve', { text: 'checked' })).toEqual({ state: 'answered', missing: 0 });
    }
    expect((await run.result()).output).toEqual({ paid: true });
    const rows = [];
    for await (const row of sluice.runs({ flow: 'refunds' })) rows.push(row.run);
    expect(rows).toContain(run.id);
  });

  test('throws the errors of the library', async () => {
    const sluice = connect(here.serving.url, { token: here.token });
    const run = await sluice.flow('refunds').start({ message: 'x' }, { script: 'refunds' });
    await expect(run.result({ onQuestion: 'throw' })).rejects.toMatchObject({ code: 'run-waits' });
    await run.cancel('changed his mind');
    await expect(run.result()).rejects.toBeInstanceOf(RunFailedError);
    await expect(run.cancel()).rejects.toMatchObject({ code: 'run-ended', status: 409 });
    await expect(sluice.run('r_none').report()).rejects.toBeInstanceOf(SluiceError);
    const nobody = connect('http://127.0.0.1:9', { token: 'x' });
    await expect(nobody.run('r').report()).rejects.toMatchObject({ code: 'unreachable', status: 0 });
  });

  test('ends with its signal', async () => {
    const sluice = connect(here.serving.url, { token: here.token });
    const run = await sluice.flow('refunds').start({ message: 'x' }, { script: 'refunds' });
    const stop = new AbortController();
    const reading = (async () => {
      for await (const event of run.events({ signal: stop.signal })) if (event.type === 'question.asked') stop.abort();
    })();
    await expect(reading).rejects.toMatchObject({ name: 'AbortError' });
  });
});

test('one stream tells of all runs and questions', async () => {
  const sluice = connect(here.serving.url, { token: here.token });
  const stop = new AbortController();
  const told: { topic: string; run?: unknown }[] = [];
  const reading = sluice.stream(['runs', 'questions'], (change) => void told.push(change), { signal: stop.signal });
  const { run } = await refund(here);
  await expect.poll(() => told.filter((change) => change.run === run).map(({ topic }) => topic)).toContain('questions');
  stop.abort();
  await reading;
});

test('a changed document is a new version for new runs, and one with mistakes stays served', async () => {
  const before = await here.ask('GET', '/v1/flows/refunds');
  const old = await refund(here);
  writeFileSync(join(here.dir, 'refunds.flow.yaml'), REFUNDS.replace('tool_calls: 4', 'tool_calls: 5'));
  await expect
    .poll(async () => (await here.ask('GET', '/v1/flows/refunds')).body['hash'])
    .not.toBe(before.body['hash']);
  const graph = await here.ask('GET', `/v1/flows/refunds/graph?hash=${String(before.body['hash'])}`);
  expect(graph.status).toBe(200);
  expect(graph.body['nodes']).toMatchObject([
    { x: expect.any(Number) },
    { id: 'sort' },
    { id: 'gate' },
    { id: 'pay' },
    {},
  ]);
  await here.ask('POST', `/v1/questions/${old.question}/answer`, { body: { choice: 'approve', payload: old.payload } });
  expect((await here.ask('GET', `/v1/runs/${old.run}?wait=20`)).body).toMatchObject({
    code: 'SUCCESS',
    hash: before.body['hash'],
  });
});

test('a run goes on in the next process, and its answer is taken there', async () => {
  const { run, question, payload } = await refund(here);
  here = await here.again();
  await here.ask('POST', `/v1/questions/${question}/answer`, { body: { choice: 'approve', payload } });
  expect((await here.ask('GET', `/v1/runs/${run}?wait=20`)).body).toMatchObject({ code: 'SUCCESS' });
});

test('what is behind a run: a call with its prompt, its audit, its replay, its export, its differences', async () => {
  const { ask } = here;
  const { run } = await refund(here);
  const events = (await ask('GET', `/v1/runs/${run}/events?types=model.started`)).body['items'] as readonly {
    readonly call: string;
  }[];
  const call = await ask('GET', `/v1/runs/${run}/calls/${encodeURIComponent(events[0]?.call ?? '')}`);
  expect(call.body).toMatchObject({ kind: 'model', name: 'triage', attempts: [{ attempt: 1, ok: true }] });
  expect(JSON.stringify(call.body['prompt'])).toContain('money back');
  expect((await ask('GET', `/v1/runs/${run}/audit`)).body).toMatchObject({ ok: true, broken: null });
  expect((await ask('POST', `/v1/runs/${run}/replay`, { body: {} })).body).toMatchObject({ agrees: true });
  expect((await ask('GET', `/v1/runs/${run}/export`)).body).toMatchObject({ format: 'sluice-run/1', run });
  const other = await refund(here);
  expect((await ask('GET', `/v1/runs/${run}/diff/${other.run}`)).body).toMatchObject({ same: true, differences: [] });
  expect((await ask('GET', `/v1/runs/${run}/calls/none`)).body).toMatchObject({ code: 'call-not-found' });
});

test('an operator closes a breaker, which is recorded', async () => {
  const id = 'triage@openai/gpt-5-mini';
  const path = `/v1/breakers/${encodeURIComponent(id)}/close`;
  expect((await here.ask('POST', path, { body: {} })).body).toMatchObject({ code: 'breaker-not-found', status: 404 });
  const store = openSqlite(join(here.dir, '.sluice/sluice.db'));
  try {
    const opened = { at: 1, by: 'olga', what: 'breaker.opened', key: `${BREAKER_PREFIX}${id}`, why: '' };
    await operate(store.shared, opened, (value) => setByHand(stateOf(value), 'open', 'olga', 1) as never);
    expect((await here.ask('POST', path, { body: { why: 'prices are right again' } })).status).toBe(204);
    const acts = await store.shared.acts();
    expect(acts.at(-1)).toMatchObject({ what: 'breaker.closed', by: 'local', why: 'prices are right again' });
    expect(stateOf((await store.shared.list(BREAKER_PREFIX))[0]?.value ?? null)).toMatchObject({ status: 'closed' });
  } finally {
    await store.close();
  }
});
