/** `/openapi.json` is true: every answer of every route has the shape that it describes, also the answers to wrong requests. */
import { Ajv2020, type ValidateFunction } from 'ajv/dist/2020.js';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { place, refund, type Place } from './kit.ts';

let here: Place;
let viewer: string;
beforeAll(async () => {
  here = await place({ limits: { burst: 100_000, perSecond: 100_000 } });
  const { body } = await here.ask('POST', '/v1/tokens', { body: { name: 'viewer', access: ['viewer'] } });
  viewer = String(body['token']);
});
afterAll(() => here.end());

interface Described {
  readonly paths: { readonly [path: string]: { readonly [method: string]: Operation } };
  readonly components: object;
}
interface Operation {
  readonly responses: { readonly [status: string]: { readonly content?: { readonly [media: string]: object } } };
}

async function described(): Promise<Described> {
  return (await here.ask('GET', '/openapi.json')).body as unknown as Described;
}

/** A check for each operation, status and media type; null where the answer has no body. */
async function checks() {
  const { paths, components } = await described();
  const ajv = new Ajv2020({ strict: false, allErrors: true, validateFormats: false });
  ajv.addSchema({ $id: 'api', components, paths });
  const of = (path: string, method: string, status: number, media: string): ValidateFunction | null | undefined => {
    const answer = paths[path]?.[method.toLowerCase()]?.responses[String(status)];
    if (answer === undefined) return undefined;
    if (answer.content === undefined) return null;
    if (answer.content[media] === undefined) return undefined;
    const at = [path, method.toLowerCase(), 'responses', String(status), 'content', media, 'schema'];
    const pointer = at.map((part) => encodeURIComponent(part.replaceAll('~', '~0').replaceAll('/', '~1'))).join('/');
    return ajv.compile({ $ref: `api#/paths/${pointer}` });
  };
  return { paths, of };
}

const FILLED = /\{(\w+)\}/g;

test('each answer has the shape that the document describes', async () => {
  const { of } = await checks();
  const { run, question, payload } = await refund(here, 'described');
  const waiting = await refund(here);
  const key = encodeURIComponent('0#0');
  const values: { [name: string]: string } = { flow: 'refunds', run, other: waiting.run, id: question, key };
  const seen = new Set<string>();
  const tried = async (
    method: string,
    path: string,
    given: { query?: string; body?: unknown; token?: string } = {},
  ) => {
    const { query = '', ...asked } = given;
    const filled = path.replaceAll(FILLED, (_, name: string) => values[name] ?? 'none');
    const { status, headers, body } = await here.ask(method, `${filled}${query}`, asked);
    const media = (headers.get('content-type') ?? '').split(';')[0] ?? '';
    const check = of(path, method, status, media);
    const where = `${method} ${filled}${query} ${status} ${media}`;
    expect(check, where).toBeDefined();
    const fits = check === null || !media.includes('json') || check?.(body);
    expect([where, fits, check?.errors ?? null]).toEqual([where, true, null]);
    seen.add(`${method} ${path}`);
    return { status, body };
  };
  for (const path of [
    '/healthz',
    '/readyz',
    '/metrics',
    '/v1/me',
    '/v1/session',
    '/v1/tokens',
    '/v1/schema',
    '/v1/scripts',
    '/v1/metrics/summary',
  ])
    await tried('GET', path);
  for (const token of [undefined, viewer]) {
    const as = token === undefined ? {} : { token };
    for (const path of ['/v1/flows', '/v1/flows/{flow}', '/v1/flows/{flow}/source', '/v1/flows/{flow}/graph'])
      await tried('GET', path, as);
    await tried('GET', '/v1/runs', { ...as, query: '?status=suspended&limit=1' });
    for (const rest of ['', '/children', '/events', '/state', '/calls/{key}', '/diff/{other}', '/audit'])
      await tried('GET', `/v1/runs/{run}${rest}`, as);
    await tried('POST', '/v1/runs/{run}/replay', { ...as, body: {} });
  }
  await tried('GET', '/v1/runs/{run}/export');
  values['hash'] = `sha256-${'0'.repeat(64)}`;
  await tried('PUT', '/v1/attachments/{hash}', { body: {} });
  await tried('GET', '/v1/attachments/{hash}');
  await tried('GET', '/v1/questions', { query: '?for=me' });
  await tried('GET', '/v1/questions/{id}');
  const flow = 'flow:\n  id: a\n  entry: b\n  nodes: [{ id: b, type: tool, tool: none }]\n';
  await tried('PUT', '/v1/flows/{flow}/source', { body: { text: 'x' } });
  for (const text of [flow, 'x', '', 'flow: {', 'a: 1'])
    await tried('POST', '/v1/check', { body: { file: 'a.yaml', text } });
  const start = { input: { message: 'x' }, script: 'refunds' };
  await tried('POST', '/v1/flows/{flow}/runs', { body: start });
  await tried('POST', '/v1/flows/{flow}/runs', { body: { ...start, script: 'none' } });
  await tried('POST', '/v1/questions/{id}/answer', { body: { choice: 'approve', payload: 'x' } });
  await tried('POST', '/v1/questions/{id}/answer', { body: { choice: 'approve', payload } });
  await tried('POST', '/v1/questions/{id}/answer', { body: { choice: 'approve', payload } });
  await here.ask('GET', `/v1/runs/${run}?wait=20`);
  for (const rest of ['', '/events', '/state', '/calls/{key}', '/diff/{other}'])
    await tried('GET', `/v1/runs/{run}${rest}`);
  const fork = await tried('POST', '/v1/runs/{run}/fork', { body: { at: 4 } });
  expect(fork.status).toBe(201);
  for (const [path, body] of [
    ['/v1/runs/{run}/cancel', {}],
    ['/v1/runs/{run}/guidance', { text: 'x' }],
    ['/v1/runs/{run}/retry', {}],
    ['/v1/runs/{run}/erase', {}],
    ['/v1/runs/{run}/resume', {}],
    ['/v1/runs/{run}/resume', { budget: { tool_calls: 3 } }],
    ['/v1/runs/{run}/signals/{name}', { data: 1 }],
    ['/v1/runs/{run}/fork', { at: 99_999 }],
    ['/v1/breakers/{name}/close', {}],
    ['/v1/tokens', { name: 'made', access: ['viewer'] }],
    ['/v1/tokens', { name: 'made', access: ['viewer'] }],
    ['/v1/session', { token: viewer }],
    ['/v1/session', { code: 'none' }],
  ] as const)
    await tried('POST', path, { body });
  values['name'] = 'made';
  await tried('DELETE', '/v1/tokens/{name}');
  await tried('DELETE', '/v1/tokens/{name}');
  await tried('DELETE', '/v1/session');
  values['run'] = 'r_none';
  for (const path of ['/v1/runs/{run}', '/v1/runs/{run}/events', '/v1/runs/{run}/state']) await tried('GET', path);
  const { paths } = await described();
  const all = Object.entries(paths).flatMap(([path, each]) =>
    Object.keys(each).map((to) => `${to.toUpperCase()} ${path}`),
  );
  const streams = ['GET /v1/stream'];
  expect(all.filter((each) => !seen.has(each))).toEqual(streams);
}, 120_000);
