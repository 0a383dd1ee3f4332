/** Requests that do not get through are repeated within the retry budget; every call ends within its time. */
import { describe, expect, test } from 'vitest';
import { compile, createEngine, openMemory } from '@sluice-internal/library';
import type { Event } from '@sluice-internal/library';
import type { Json } from '@sluice-internal/kernel/expr';
import { completion } from './bodies.ts';
import { call } from './call.ts';
import { RESPONSE_BYTES_MAX } from '../../src/connect.ts';
import { dropped, json, serve, sse, text } from './serve.ts';
import type { Answer } from './serve.ts';

const ok = json(200, completion({ content: 'Done.' }));
const busy = json(503, { error: { message: 'Overloaded.', type: 'server_error' } }, { 'retry-after-ms': '1' });

const FLOW = { id: 'f', entry: 'a', nodes: [{ id: 'a', type: 'agent', agent: 'bot' }] };

async function run(answers: readonly Answer[], more: { readonly models?: object; readonly document?: object } = {}) {
  await using served = await serve();
  served.answer = (response, asked) => (answers[served.asked.length - 1] ?? ok)(response, asked);
  const model = { provider: 'local', model: 'm', base_url: served.url, price: { input: 1, output: 1 }, ...more.models };
  const { flow, diagnostics } = compile({
    models: { m: model },
    agents: [{ id: 'bot', model: 'm' }],
    flow: FLOW,
    ...more.document,
  });
  if (flow === undefined) throw new Error(JSON.stringify(diagnostics));
  const engine = createEngine({ journal: openMemory(), models: { idleTimeoutMs: 200 } });
  try {
    const id = await engine.start(flow, { input: {} });
    const report = await engine.settled(id);
    const events: Event[] = [];
    for await (const event of engine.events(id, { live: false })) events.push(event);
    return { report, events, requests: served.asked.length };
  } finally {
    await engine.close();
  }
}

const workflow = { flow: undefined, workflow: { name: 'w', steps: [{ name: 's', agent_id: 'bot' }] } };

// Each test has a server of its own and waits between attempts, so they run at the same time.
describe.concurrent('a request that does not get through', () => {
  test.each([
    ['503', busy],
    [
      '529',
      json(
        529,
        { type: 'error', error: { type: 'overloaded_error', message: 'Overloaded' } },
        { 'retry-after-ms': '1' },
      ),
    ],
    ['429 with Retry-After', json(429, { error: { message: 'Slow down.' } }, { 'retry-after-ms': '1' })],
    ['429 without Retry-After', json(429, { error: { message: 'Slow down.' } })],
    ['a connection that is cut', (response) => void response.destroy()],
    ['a body that is cut', dropped('application/json', '{"id": "c", "choices": [')],
  ] as readonly (readonly [string, Answer])[])(
    '%s: is repeated, as a retry and not as a model call',
    async (_, answer) => {
      const { report, requests } = await run([answer]);
      expect(report).toMatchObject({ code: 'SUCCESS', output: 'Done.', usage: { modelCalls: 1, retries: 1 } });
      expect(requests).toBe(2);
    },
  );

  test('is repeated twice, in a workflow too; then the run fails as without a retry', async () => {
    const { report, requests } = await run([busy, busy, busy, busy], { document: workflow });
    expect(report).toMatchObject({ code: 'UNAVAILABLE_DEP', usage: { modelCalls: 1, retries: 2 } });
    expect(requests).toBe(3);
  });

  test('is repeated as often as its model says', async () => {
    expect((await run([busy, busy, busy, busy], { models: { retries: 3 } })).requests).toBe(4);
    expect((await run([busy], { models: { retries: 0 } })).requests).toBe(1);
  });

  test('is not repeated beyond the retry budget', async () => {
    const { report, requests } = await run([busy, busy], { document: { budgets: { retries: 1 } } });
    expect(report).toMatchObject({ code: 'UNAVAILABLE_DEP', usage: { retries: 1 } });
    expect(requests).toBe(2);
  });

  /** Room for one call: 200 output tokens are reserved. */
  const ONE_CALL = {
    document: { budgets: { output_tokens: 300 }, agents: [{ id: 'bot', model: 'm', max_output_tokens: 200 }] },
  };
  test.each([
    ['before the answer', (response) => void response.destroy()],
    ['in a body', dropped('application/json', '{"id": "c", "choices": [')],
    ['in a body without a length', text(200, '{"id": "c", "choices": [')],
    [
      'in a stream',
      dropped('text/event-stream', 'data: {"id":"c","choices":[{"index":0,"delta":{"content":"He"}}]}\n\n'),
    ],
    [
      'in a tool call',
      sse(
        'data: {"id":"c","choices":[{"index":0,"delta":{"tool_calls":[{"index":0,"id":"t","type":"function","function":{"name":"pay","arguments":"{\\"to\\": \\"A"}}]}}]}\n\n',
      ),
    ],
  ] as readonly (readonly [string, Answer])[])(
    'a reply that is cut %s may have been charged: what was reserved counts as spent',
    async (_, answer) => {
      const { report, requests } = await run([answer], ONE_CALL);
      expect([report.state, requests]).toEqual(['failed', 1]);
    },
  );

  test.each([
    ['503', busy],
    ['an empty response', text(200, '')],
    ['a page', text(200, '<html>Sign in</html>', { 'content-type': 'text/html' })],
  ] as const)('%s costs nothing', async (_, answer) => {
    const again = {
      ...ONE_CALL.document,
      flow: { ...FLOW, nodes: [{ ...FLOW.nodes[0], retry: { max_attempts: 2 } }] },
    };
    const { report, requests } = await run([answer], { document: again });
    expect([report.code, requests]).toEqual(['SUCCESS', 2]);
  });

  test.each([
    ['401', json(401, { error: { message: 'Bad key.' } })],
    ['400', json(400, { error: { message: 'Bad request.' } })],
    ['a body that is no JSON', text(200, 'Hello')],
    ['a page of another kind', text(200, '<html>Sign in</html>', { 'content-type': 'text/html' })],
  ] as const)('%s got through, and is not repeated', async (_, answer) => {
    const { report, requests } = await run([answer]);
    expect(report).toMatchObject({ state: 'failed', usage: { retries: 0 } });
    expect(requests).toBe(1);
  });
});

describe('time', () => {
  const silent: Answer = () => undefined;
  const stalled: Answer = (response) => {
    response.writeHead(200, { 'content-type': 'application/json' });
    response.write('{"id": "c", ');
  };
  const settle = async (answer: Answer, models: { readonly [field: string]: Json }, stream: boolean) => {
    await using served = await serve(answer);
    const model = { provider: 'local', model: 'm', base_url: served.url, ...models };
    return await call({ models: { m: model } }, { idleTimeoutMs: 100, stream });
  };

  test.each([false, true])(
    'a server that never answers ends with the time of the call, streamed: %s',
    async (stream) => {
      expect(await settle(silent, { timeout: 0.1 }, stream)).toMatchObject({
        ok: false,
        error: { class: 'timeout', type: 'TimeoutError', message: 'local/m: no complete reply within 0.1 s' },
      });
    },
  );

  test.each([false, true])('a response that stalls ends after the idle time, streamed: %s', async (stream) => {
    expect(await settle(stalled, {}, stream)).toMatchObject({
      ok: false,
      error: { class: 'timeout', type: 'TimeoutError', message: 'local/m: the response stalled: no byte for 0.1 s' },
    });
  });
});

test('a response of 40 MB is cut off', async () => {
  await using served = await serve((response) => {
    response.writeHead(200, { 'content-type': 'application/json' });
    response.end(Buffer.alloc(40 * 1024 * 1024, ' '));
  });
  expect(RESPONSE_BYTES_MAX).toBeLessThan(40 * 1024 * 1024);
  expect(await call({ models: { m: { provider: 'local', model: 'm', base_url: served.url } } })).toMatchObject({
    ok: false,
    error: { class: 'fatal', type: 'ResponseTooLargeError' },
  });
});

test('headers and the organization of a model are sent', async () => {
  await using served = await serve(ok);
  const model = {
    provider: 'openai.chat',
    model: 'm',
    base_url: served.url,
    headers: { 'x-team': 'a' },
    organization: 'o',
  };
  await call({ models: { m: model } });
  expect(served.asked[0]?.headers).toMatchObject({ 'x-team': 'a', 'openai-organization': 'o' });
});
