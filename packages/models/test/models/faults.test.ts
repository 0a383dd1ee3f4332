/** Every fault of a provider ends or recovers within its time, and the journal has a typed event for it. */
import { describe, expect, test } from 'vitest';
import { compile, createEngine, openMemory } from '@sluice-internal/library';
import type { Event } from '@sluice-internal/library';
import { completion } from './bodies.ts';
import type { Body } from './bodies.ts';
import { dropped, json, serve, text } from './serve.ts';
import type { Answer } from './serve.ts';

const usage = { prompt_tokens: 3, completion_tokens: 2 };
const body = (message: Body, finish?: string) => completion(message, finish, { usage });
const ok = json(200, body({ content: 'Done.' }));
const same = { id: 'x', type: 'function', function: { name: 'look', arguments: '{}' } };

const stallsBefore: Answer = () => undefined;
const stallsWithin: Answer = (response) => {
  response.writeHead(200, { 'content-type': 'application/json' });
  response.write('{"id": "c", ');
};
const huge: Answer = (response) => {
  response.writeHead(200, { 'content-type': 'application/json' });
  response.end(Buffer.alloc(40 * 1024 * 1024, ' '));
};
const slowDown = { error: { message: 'Slow down.' } };
const overloaded = { type: 'error', error: { type: 'overloaded_error', message: 'Overloaded' } };

const WITHIN_MS = 20_000;
/** Servers that stall never go on, so a short time ends them. All others may be as slow as the machine. */
const SHORT = { timeout: 1.5, idleTimeoutMs: 300 };
const LONG = { timeout: 60, idleTimeoutMs: 60_000 };

type Fault = readonly [name: string, answer: Answer, type: string | null, code: string];
const FAULTS: readonly Fault[] = [
  ['a stall before the first byte', stallsBefore, 'TimeoutError', 'TIMEOUT'],
  ['a stall in the middle of a body', stallsWithin, 'TimeoutError', 'TIMEOUT'],
  ['a connection that is cut', (response) => void response.destroy(), 'TransientError', 'SUCCESS'],
  ['a body that is cut', dropped('application/json', '{"id": "c", "choices": ['), 'TransientError', 'SUCCESS'],
  [
    'a page of another content type',
    text(200, '<html>Sign in</html>', { 'content-type': 'text/html' }),
    'RequestError',
    'UNAVAILABLE_DEP',
  ],
  ['invalid JSON', text(200, '{"id": "c", "choices": [}'), 'TransientError', 'UNAVAILABLE_DEP'],
  ['429 with Retry-After', json(429, slowDown, { 'retry-after': '1' }), 'RateLimitError', 'SUCCESS'],
  ['429 without Retry-After', json(429, slowDown), 'RateLimitError', 'SUCCESS'],
  ['529', json(529, overloaded), 'TransientError', 'SUCCESS'],
  ['40 MB', huge, 'ResponseTooLargeError', 'UNAVAILABLE_DEP'],
  [
    'two calls with the same id',
    json(200, body({ content: null, tool_calls: [same, same] }, 'tool_calls')),
    null,
    'SUCCESS',
  ],
];

async function run(answer: Answer, isStreamed: boolean, { timeout, idleTimeoutMs }: typeof SHORT) {
  await using served = await serve();
  served.answer = (response, asked) => (served.asked.length === 1 ? answer : ok)(response, asked);
  const { flow, diagnostics } = compile({
    models: { m: { provider: 'local', model: 'm', base_url: served.url, timeout } },
    tools: { look: { effect: 'read' } },
    agents: [{ id: 'bot', model: 'm', tools: ['look'] }],
    boundary: { untrusted: 'off' },
    flow: { id: 'f', entry: 'a', nodes: [{ id: 'a', type: 'agent', agent: 'bot' }] },
  });
  if (flow === undefined) throw new Error(JSON.stringify(diagnostics));
  const engine = createEngine({
    journal: openMemory(),
    tools: { look: () => 'seen' },
    models: { idleTimeoutMs, stream: isStreamed },
  });
  const startedAt = performance.now();
  try {
    const id = await engine.start(flow, { input: {} });
    const report = await engine.settled(id);
    const events: Event[] = [];
    for await (const event of engine.events(id, { live: false })) events.push(event);
    return { report, events, tookMs: performance.now() - startedAt };
  } finally {
    await engine.close();
  }
}

describe.each(FAULTS)('%s', (_, answer, type, code) => {
  test('ends or recovers within its time, with a typed event', async () => {
    const isStall = type === 'TimeoutError';
    const { report, events, tookMs } = await run(answer, false, isStall ? SHORT : LONG);
    expect(tookMs).toBeLessThan(isStall ? WITHIN_MS : Infinity);
    const failures = events.flatMap((event) =>
      event.type === 'effect.settled' && !event.result.ok ? [event.result.error.type] : [],
    );
    expect(failures.slice(0, 1)).toEqual(type === null ? [] : [type]);
    expect(report.code).toBe(code);
    expect(report.error?.type ?? null).toBe(code === 'SUCCESS' ? null : type);
    expect(report.usage['toolCalls']).toBe(type === null ? 2 : 0);
  });
});

test.each([
  ['a stream that stalls', ': hello\n\n'],
  ['a stream that stalls in an event', 'data: {"id": "c", '],
])('%s ends within its time', async (_, start) => {
  const { events, tookMs } = await run(
    (response) => {
      response.writeHead(200, { 'content-type': 'text/event-stream' });
      response.write(start);
    },
    true,
    SHORT,
  );
  expect(tookMs).toBeLessThan(WITHIN_MS);
  const failure = events.find((event) => event.type === 'effect.settled' && !event.result.ok);
  expect(failure).toMatchObject({ result: { error: { class: 'timeout', type: 'TimeoutError' } } });
});
