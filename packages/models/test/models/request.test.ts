/** What is sent: the messages, the granted tools and nothing else; and what becomes of what a model proposes. */
import { describe, expect, test } from 'vitest';
import type { Json } from '@sluice-internal/kernel/expr';
import { completion } from './bodies.ts';
import { call } from './call.ts';
import type { Given } from './call.ts';
import { json, serve } from './serve.ts';

const USAGE = { usage: { prompt_tokens: 3, completion_tokens: 2 } };
const chat = (message: object, more: object = {}) =>
  json(200, completion({ ...message }, 'stop', { ...USAGE, ...more }));

async function exchange(
  given: Omit<Given, 'models'>,
  message: object = { content: 'ok' },
  model: { [field: string]: Json } = {},
) {
  await using served = await serve(chat(message));
  const settled = await call({
    ...given,
    models: { m: { provider: 'openai-compatible', model: 'm', base_url: served.url, ...model } },
  });
  return { settled, sent: served.asked[0]?.body ?? {}, headers: served.asked[0]?.headers ?? {} };
}

interface SentFormat {
  readonly response_format?: { readonly json_schema: Json };
  readonly text?: { readonly format: Json };
}

describe('the request', () => {
  test('holds limits, temperature, the form of the reply, and what the author passes on', async () => {
    const output = { type: 'object', properties: { a: { type: 'string' } } };
    const { sent } = await exchange(
      { agent: { temperature: 0.2, maxOutputTokens: 77, output } },
      {},
      { options: { top_k: 3 } },
    );
    expect(sent).toMatchObject({
      model: 'm',
      temperature: 0.2,
      max_tokens: 77,
      response_format: { type: 'json_schema', json_schema: { schema: output, strict: false } },
      top_k: 3,
    });
    expect(sent['tools']).toBeUndefined();
  });

  test('OpenAI enforces a schema if its strict mode accepts it', async () => {
    const strict = {
      type: 'object',
      properties: { a: { type: 'string' } },
      required: ['a'],
      additionalProperties: false,
    };
    const formatOf = async (provider: string, output: Json) => {
      await using served = await serve(json(500, {}));
      await call({ agent: { output }, models: { m: { provider, model: 'gpt-4o', base_url: served.url } } });
      const sent = served.asked[0]?.body as unknown as SentFormat;
      return sent.response_format?.json_schema ?? sent.text?.format;
    };
    for (const provider of ['openai', 'openai.chat']) {
      expect(await formatOf(provider, strict)).toMatchObject({ strict: true, schema: strict });
      expect(await formatOf(provider, { ...strict, required: [] })).toMatchObject({ strict: false });
    }
  });

  test('a provider without schemas is told to answer in JSON', async () => {
    const { sent } = await exchange(
      { agent: { output: { type: 'object' } } },
      {},
      { provider: 'deepseek', api_key_env: 'OPENAI_API_KEY' },
    );
    expect(sent['response_format']).toEqual({ type: 'json_object' });
  });

  test('offers the granted tools under names that providers accept, each its own', async () => {
    const tools = {
      'a.b': { description: 'One.', input: true },
      a_b: { description: 'Two.', input: { properties: { x: {} } } },
    };
    const { sent } = await exchange({ tools, agent: { tools: ['a.b', 'a_b', 'unknown.tool'] } });
    expect(sent['tools']).toMatchObject([
      { type: 'function', function: { name: 'a_b', description: 'One.', parameters: { type: 'object' } } },
      {
        type: 'function',
        function: { name: 'a_b_2', description: 'Two.', parameters: { type: 'object', properties: { x: {} } } },
      },
    ]);
  });

  test('leaves out what no provider accepts: requests that were never answered, and messages without words', async () => {
    const messages: Json = [
      {
        role: 'assistant',
        content: 'Both.',
        toolCalls: [
          { id: 'c1', name: 'a.b', args: { x: 1 } },
          { id: 'c2', name: 'a.b', args: null },
        ],
      },
      { role: 'tool', content: 'done', toolCallId: 'c1', name: 'a.b' },
      { role: 'tool', content: 'stray', toolCallId: 'c9', name: 'a.b' },
      { role: 'assistant', content: '' },
      { role: 'user', content: '' },
    ];
    const { sent } = await exchange({ input: { prompt: 'Go.', messages } });
    expect(sent['messages']).toMatchObject([
      { role: 'system', content: 'Be brief.' },
      { role: 'user', content: 'Go.' },
      {
        role: 'assistant',
        content: 'Both.',
        tool_calls: [{ id: 'c1', function: { name: 'a_b', arguments: '{"x":1}' } }],
      },
      { role: 'tool', tool_call_id: 'c1', content: 'done' },
      { role: 'user', content: 'stray' },
    ]);
  });
});

describe('what a model proposes', () => {
  const calls = (...list: (readonly [string, string, string])[]) => ({
    content: null,
    tool_calls: list.map(([id, name, args]) => ({ id, type: 'function', function: { name, arguments: args } })),
  });

  test('is kept as it was written where it is no object', async () => {
    for (const raw of ['{"city": ', '[1]', '"x"', '7', 'null', '{city: 1}']) {
      const { settled } = await exchange({}, calls(['c1', 'look', raw]));
      expect(settled).toMatchObject({ ok: true, value: { toolCalls: [{ id: 'c1', name: 'look', args: null, raw }] } });
    }
    const { settled } = await exchange({}, calls(['c1', 'look', '']));
    expect(settled).toMatchObject({ ok: true, value: { toolCalls: [{ args: {} }] } });
  });

  test('has ids of its own, with any ids of the provider', async () => {
    const { settled } = await exchange({}, calls(['x', 'a', '{}'], ['x', 'b', '{}']));
    expect(settled).toMatchObject({
      ok: true,
      value: {
        toolCalls: [
          { id: 'x', name: 'a' },
          { id: 'xc1', name: 'b' },
        ],
      },
    });
  });

  test('keys that look like machinery are keys', async () => {
    const { settled } = await exchange({}, calls(['x', 'a', '{"__proto__": {"admin": true}, "constructor": 1}']));
    const [first] = (settled as unknown as { value: { toolCalls: { args: object }[] } }).value.toolCalls;
    expect(JSON.stringify(first?.args)).toBe('{"__proto__":{"admin":true},"constructor":1}');
  });
});

test('use that a provider does not report is taken at the most that the texts can come to', async () => {
  await using served = await serve(chat({ content: 'abcdef' }, { usage: undefined }));
  const settled = await call({
    models: { m: { provider: 'openai-compatible', model: 'm', base_url: served.url, price: { input: 1, output: 1 } } },
  });
  expect(settled.used?.inputTokens).toBeGreaterThan('Be brief.Hello?'.length / 4);
  expect(settled.used).toMatchObject({ outputTokens: 2 });
  expect(settled.used?.costMicros).toBe((settled.used?.inputTokens ?? 0) + 2);
});

test('requests per minute are kept to', async () => {
  await using served = await serve(chat({ content: 'ok' }));
  const { modelPerformer } = await import('../../src/performer.ts');
  const { createVirtualClock } = await import('../../../engine/src/ports/clock.ts');
  const { flowOf } = await import('./call.ts');
  const clock = createVirtualClock();
  const performer = modelPerformer({ env: {} });
  const flow = flowOf({
    models: { m: { provider: 'ollama', model: 'm', base_url: served.url, limits: { requests_per_minute: 2 } } },
  });
  const command = {
    run: 'r',
    key: '0#0',
    attempt: 1,
    ordinal: 0,
    kind: 'model',
    name: 'writer',
    node: 'n',
    input: { prompt: 'x' },
    notBefore: 0,
    deadline: null,
  } as const;
  const start = clock.now();
  for (let count = 0; count < 5; count++)
    expect(
      await performer.perform({ command, flow, idempotencyKey: '', signal: new AbortController().signal, clock }),
    ).toMatchObject({ ok: true });
  expect(clock.now() - start).toBe(120_000);
});
