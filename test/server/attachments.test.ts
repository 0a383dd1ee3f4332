/** Images for the input of a run: uploaded under their hash, each tenant's apart, and read again from the run. */
import { createHash } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { openSqlite } from '@sluice-internal/library';
import { place, type Place } from './kit.ts';

const photo = readFileSync(join(import.meta.dirname, '../../examples/damage-door.png'));
const idOf = (data: Uint8Array): string => `sha256-${createHash('sha256').update(data).digest('hex')}`;
const id = idOf(photo);

let here: Place;
let [acme, globex, viewer] = ['', '', ''];
beforeAll(async () => {
  here = await place();
  const add = async (name: string, more: object): Promise<string> =>
    String((await here.ask('POST', '/v1/tokens', { body: { name, ...more } })).body['token']);
  acme = await add('acme', { access: ['operator'], tenant: 'acme' });
  globex = await add('globex', { access: ['operator'], tenant: 'globex' });
  viewer = await add('viewer', { access: ['viewer'], tenant: 'acme' });
});
afterAll(() => here.end());

const put = (data: Uint8Array, given: { as?: string; name?: string; type?: string } = {}) =>
  here.ask('PUT', `/v1/attachments/${given.name ?? idOf(data)}`, {
    ...{ raw: data, token: given.as ?? acme },
    headers: { 'content-type': given.type ?? 'application/octet-stream' },
  });
const read = (path: string, token = acme) => here.ask('GET', path, { token });
const start = (photos: unknown, token = acme) =>
  here.ask('POST', '/v1/flows/refunds/runs', {
    ...{ body: { input: { message: 'money back', photos }, script: 'refunds' }, token },
    headers: { prefer: 'wait=20' },
  });

test('an upload is in the input of the run that names it, and the run keeps its own', async () => {
  expect((await put(photo)).status).toBe(201);
  const again = await put(photo, { type: 'image/png' });
  expect([again.status, again.body]).toMatchObject([
    200,
    { attachment: id, mediaType: 'image/png', bytes: photo.length },
  ]);
  const { body } = await start([{ attachment: id, name: 'door.png' }]);
  const run = String(body['run']);
  const [begun] = (await read(`/v1/runs/${run}/events?types=run.started`)).body['items'] as readonly {
    input: object;
  }[];
  expect(begun?.input).toMatchObject({ photos: [{ attachment: id, name: 'door.png', mediaType: 'image/png' }] });
  const found = await read(`/v1/attachments/${id}?run=${run}`);
  expect([found.status, found.headers.get('content-type'), found.headers.get('content-disposition')]).toEqual([
    ...[200, 'image/png', 'attachment'],
  ]);
  expect((await read(`/v1/runs/${run}/audit`)).body).toMatchObject({ ok: true });
});

test('another tenant has neither the upload nor the attachment, and a viewer sees no content', async () => {
  await put(photo);
  const { body } = await start([{ attachment: id }]);
  const run = String(body['run']);
  expect((await read(`/v1/attachments/${id}`, globex)).body).toMatchObject({
    status: 404,
    code: 'attachment-not-found',
  });
  expect((await read(`/v1/attachments/${id}?run=${run}`, globex)).body).toMatchObject({ code: 'run-not-found' });
  expect((await read(`/v1/attachments/${id}`)).status).toBe(200);
  expect((await read(`/v1/attachments/${id}`, viewer)).status).toBe(403);
  expect((await start([{ attachment: id }], globex)).body).toMatchObject({ status: 422, code: 'bad-attachment' });
  expect((await put(photo, { as: viewer })).status).toBe(403);
});

test('data under the name of other data, of no known kind, of another kind or too large is refused', async () => {
  expect((await put(photo, { name: idOf(Buffer.from('other')) })).body).toMatchObject({ code: 'bad-attachment' });
  expect((await put(Buffer.from('<script>alert(1)</script>'))).body).toMatchObject({ code: 'bad-attachment' });
  expect((await put(Buffer.from('<svg onload="alert(1)"/>'), { type: 'image/svg+xml' })).status).toBe(422);
  expect((await put(photo, { type: 'text/html' })).body).toMatchObject({ code: 'bad-attachment' });
  expect((await put(Buffer.alloc(0))).status).toBe(422);
  expect((await put(Buffer.alloc(21 * 1_048_576))).status).toBe(413);
  for (const name of ['x', 'sha256-', '..%2fetc%2fpasswd', `sha256-${'G'.repeat(64)}`, '__proto__'])
    expect((await put(photo, { name })).status, name).toBe(400);
});

test('an admin erases the attachments of a run; its journal still verifies, and the act is recorded', async () => {
  await put(photo);
  const { body } = await start([{ attachment: id }]);
  const run = String(body['run']);
  const admin = String(
    (await here.ask('POST', '/v1/tokens', { body: { name: 'dpo', access: ['admin'], tenant: 'acme' } })).body['token'],
  );
  const erase = (token: string) => here.ask('POST', `/v1/runs/${run}/erase`, { body: {}, token });
  expect([(await erase(acme)).status, (await erase(globex)).status, (await erase(viewer)).status]).toEqual([
    ...[403, 403, 403],
  ]);
  expect((await erase(admin)).body).toEqual({ run, erased: 0, attachments: 1, memory: 0 });
  expect((await read(`/v1/attachments/${id}?run=${run}`)).status).toBe(404);
  expect((await read(`/v1/runs/${run}/audit`)).body).toMatchObject({ ok: true });
  const [{ call = '' } = {}] = (await read(`/v1/runs/${run}/events?types=model.started`)).body['items'] as readonly {
    call?: string;
  }[];
  expect((await read(`/v1/runs/${run}/calls/${encodeURIComponent(call)}`)).status).toBe(200);
  const store = openSqlite(join(here.dir, '.sluice/sluice.db'));
  try {
    expect((await store.shared.acts()).at(-1)).toMatchObject({ what: 'run.erased', by: 'dpo', key: `erased:${run}` });
  } finally {
    await store.close();
  }
});

test('an input names no file and no address, and a reference to what was never uploaded is nothing', async () => {
  const { body } = await start([{ attachment: '/etc/passwd' }, { attachment: 'https://example.org/x.png' }]);
  const events = JSON.stringify((await read(`/v1/runs/${String(body['run'])}/events`)).body);
  expect(events).not.toContain('root:');
  const none = `sha256-${'0'.repeat(64)}`;
  expect((await start([{ attachment: none }])).body).toMatchObject({ status: 422, code: 'bad-attachment' });
});
