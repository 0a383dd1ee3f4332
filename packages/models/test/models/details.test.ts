/** Details of single providers that would otherwise end a run or hide its reason. */
import { describe, expect, test } from 'vitest';
import { compile, createEngine, openMemory } from '@sluice-internal/library';
import { completion, message, response } from './bodies.ts';
import { call } from './call.ts';
import { json, serve, sse } from './serve.ts';
import type { Answer } from './serve.ts';

const TOOLS = { 'web.search': { description: 'Search.', input: true as const } };

async function ask(answer: Answer, provider = 'openai-compatible', stream = false) {
  await using served = await serve(answer);
  const models = { m: { provider, model: 'm', base_url: served.url } };
  return await call({ models, tools: TOOLS }, { stream });
}

describe('a tool call without arguments has the arguments {}', () => {
  const chat = (fn: object) =>
    json(200, completion({ content: null, tool_calls: [{ id: 'x', type: 'function', function: fn }] }, 'tool_calls'));
  test.each<[string, string, Answer]>([
    ['Chat Completions, empty', 'openai.chat', chat({ name: 'web_search', arguments: '' })],
    ['compatible, empty', 'openai-compatible', chat({ name: 'web_search', arguments: '' })],
    ['Chat Completions, missing', 'openai.chat', chat({ name: 'web_search' })],
    ['compatible, missing', 'openai-compatible', chat({ name: 'web_search' })],
    ['compatible, null', 'openai-compatible', chat({ name: 'web_search', arguments: null })],
    ['compatible, an object', 'openai-compatible', chat({ name: 'web_search', arguments: {} })],
    [
      'Responses, empty',
      'openai',
      json(
        200,
        response('', {
          output: [
            { id: 'f', type: 'function_call', call_id: 'x', name: 'web_search', arguments: '', status: 'completed' },
          ],
        }),
      ),
    ],
    [
      'Messages, no input',
      'anthropic',
      json(
        200,
        message('', {
          content: [{ type: 'tool_use', id: 'x', name: 'web_search', input: {} }],
          stop_reason: 'tool_use',
        }),
      ),
    ],
  ])('%s', async (_, provider, answer) => {
    expect(await ask(answer, provider)).toMatchObject({
      ok: true,
      value: { toolCalls: [{ id: 'x', name: 'web.search', args: {} }] },
    });
  });
});

describe("Groq's tool_use_failed is a call that the agent corrects", () => {
  const failed = (failed_generation: string) =>
    json(400, {
      error: {
        message: 'Failed to call a function.',
        type: 'invalid_request_error',
        code: 'tool_use_failed',
        failed_generation,
      },
    });

  test('the name of the tool and the text are kept', async () => {
    const settled = await ask(failed('<function=web_search{"q": "tea"</function>'));
    expect(settled).toMatchObject({
      ok: true,
      value: { toolCalls: [{ name: 'web.search', args: null, raw: '<function=web_search{"q": "tea"</function>' }] },
    });
    expect(settled.used).toMatchObject({ inputTokens: expect.any(Number) as number });
  });

  test('a text without a name is a call of an unknown tool', async () => {
    expect(await ask(failed('I will search'))).toMatchObject({ ok: true, value: { toolCalls: [{ name: 'unknown' }] } });
  });
});

test("OpenRouter's upstream reason is in the message", async () => {
  const raw = JSON.stringify({ error: { message: 'The model is loading.' } });
  const settled = await ask(
    json(502, { error: { message: 'Provider returned error', code: 502, metadata: { provider_name: 'Acme', raw } } }),
  );
  expect(settled).toMatchObject({ ok: false, error: { class: 'transient' } });
  expect(JSON.stringify(settled)).toContain('Provider returned error (Acme: The model is loading.)');
});

test('a server without /responses: the message suggests openai.chat', async () => {
  const settled = await ask(json(404, { error: { message: 'Not Found' } }), 'openai');
  expect(settled).toMatchObject({ ok: false, error: { type: 'ModelNotFoundError' } });
  expect(JSON.stringify(settled)).toContain('use the provider `openai.chat`');
  expect(JSON.stringify(await ask(json(404, { error: { message: 'Not Found' } }), 'openai.chat'))).not.toContain(
    '/responses',
  );
});

test('arguments keep keys with escapes, also after V8 has read others', async () => {
  JSON.parse('{"h":[],"\\\\":0}');
  JSON.parse('{"h":[],"\\\\n":0}');
  const calls = [{ id: 'x', type: 'function', function: { name: 'web_search', arguments: '{"h":[1],"\\n":2}' } }];
  const settled = await ask(json(200, completion({ content: null, tool_calls: calls }, 'tool_calls')));
  expect(settled).toMatchObject({ ok: true, value: { toolCalls: [{ args: { h: [1], '\n': 2 } }] } });
});

test.each([[['x', 'x']], [['xc2', 'x', 'x']], [['c1', '']]])(
  'calls with the ids %j each get their own',
  async (ids) => {
    const calls = ids.map((id) => ({ id, type: 'function', function: { name: 'web_search', arguments: '{"q":1}' } }));
    const settled = await ask(json(200, completion({ content: null, tool_calls: calls }, 'tool_calls')));
    const { toolCalls } = (settled as unknown as { value: { toolCalls: { id: string }[] } }).value;
    expect(new Set(toolCalls.map(({ id }) => id)).size).toBe(ids.length);
  },
);

/** A streamed reply with reasoning, text and a call. */
function streamedCall(): string {
  const delta = (fields: object, finish_reason: string | null = null): string => {
    const choices = [{ index: 0, delta: fields, finish_reason }];
    return `data: ${JSON.stringify({ id: 'c', object: 'chat.completion.chunk', created: 1, model: 'm', choices })}\n\n`;
  };
  const first = { name: 'web_search', arguments: '{"q":' };
  return [
    delta({ role: 'assistant', reasoning_content: 'Hmm.' }),
    delta({ content: 'Looking.' }),
    delta({ tool_calls: [{ index: 0, id: 'x', type: 'function', function: first }] }),
    delta({ tool_calls: [{ index: 0, function: { arguments: '"tea"}' } }] }),
    delta({}, 'tool_calls'),
    'data: [DONE]\n\n',
  ].join('');
}

test('streamed reasoning and tool arguments are passed on with their kind', async () => {
  await using served = await serve(sse(streamedCall()));
  const heard: string[] = [];
  const models = { m: { provider: 'openai-compatible', model: 'm', base_url: served.url } };
  await call(
    { models, tools: TOOLS, onText: (text, part) => heard.push(`${part ?? 'text'}: ${text}`) },
    { stream: true },
  );
  expect(heard).toEqual(['reasoning: Hmm.', 'text: Looking.', 'arguments: {"q":', 'arguments: "tea"}']);
});

test('they reach a reader of the events of a run', async () => {
  await using served = await serve();
  const last = { index: 0, delta: { role: 'assistant', content: 'Done.' }, finish_reason: 'stop' };
  const end = { id: 'c', object: 'chat.completion.chunk', created: 1, model: 'm', choices: [last] };
  const ended = sse(`data: ${JSON.stringify(end)}\n\ndata: [DONE]\n\n`);
  const reading = Promise.withResolvers<void>();
  served.answer = async (response, asked) => {
    if (served.asked.length > 1) return ended(response, asked);
    // The reader comes after the start of the run.
    await reading.promise;
    return sse(streamedCall())(response, asked);
  };
  const { flow } = compile({
    models: { m: { provider: 'openai-compatible', model: 'm', base_url: served.url } },
    tools: { 'web.search': { effect: 'read' } },
    agents: [{ id: 'bot', model: 'm', tools: ['web.search'] }],
    boundary: { untrusted: 'off' },
    flow: { id: 'f', entry: 'a', nodes: [{ id: 'a', type: 'agent', agent: 'bot' }] },
  });
  if (flow === undefined) throw new Error('does not compile');
  const engine = createEngine({
    journal: openMemory(),
    models: { stream: true },
    tools: { 'web.search': () => 'tea' },
  });
  const heard: string[] = [];
  const run = await engine.start(flow, { input: {} });
  for await (const event of engine.events(run, { deltas: true })) {
    if (event.type === 'effect.requested') reading.resolve();
    if (event.type === 'reply.streamed') heard.push(`${event.part ?? 'text'}: ${event.text}`);
  }
  await engine.close();
  expect(heard).toEqual(['reasoning: Hmm.', 'text: Looking.', 'arguments: {"q":', 'arguments: "tea"}', 'text: Done.']);
});
