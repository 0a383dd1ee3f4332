/** Servers that deviate from their protocol: what can be read counts, the rest is a typed failure, and the cost is right. */
import { describe, expect, test } from 'vitest';
import { compile, createEngine, openMemory } from '@sluice-internal/library';
import type { Settled } from '@sluice-internal/kernel/ir';
import { completion, message, response } from './bodies.ts';
import type { Body } from './bodies.ts';
import { call } from './call.ts';
import { json, serve, sse, text } from './serve.ts';
import type { Answer } from './serve.ts';
import { streamOf } from './streams.ts';

const PROVIDERS = ['local', 'openai', 'anthropic'] as const;
type Provider = (typeof PROVIDERS)[number];

const look = { description: 'Looks.', input: { type: 'object', properties: { at: { type: 'integer' } } } };

async function ask(provider: Provider, answer: Answer, stream: boolean): Promise<Settled> {
  await using served = await serve(answer);
  const models = { m: { provider, model: 'm', base_url: served.url, price: { input: 1, output: 1 } } };
  return await call({ models, tools: { look } }, stream ? { stream: true } : {});
}

function bodyOf(
  provider: Provider,
  reply: { readonly text?: unknown; readonly more?: Body; readonly usage?: unknown },
): Body {
  const { text: content = 'Fine.', more = {} } = reply;
  const usage = 'usage' in reply ? { usage: reply.usage } : {};
  if (provider === 'anthropic') return message(content, { ...more, ...usage });
  if (provider === 'openai') return response(content, { ...more, ...usage });
  return completion({ content, ...more }, 'stop', usage);
}

const answered = (provider: Provider, body: Body, stream: boolean): Answer =>
  stream ? sse(streamOf(provider === 'local' ? 'openai.chat' : provider, body)) : json(200, body);
const USED = { inputTokens: 10, outputTokens: 5, costMicros: 15 };
const fine = { ok: true, value: { text: 'Fine.' }, used: USED };

describe.each(PROVIDERS)('%s', (provider) => {
  describe.each([false, true])('streamed: %s', (stream) => {
    test('a body for a stream, and a stream for a body', async () => {
      expect(await ask(provider, answered(provider, bodyOf(provider, {}), !stream), stream)).toMatchObject(fine);
    });

    test('an error in a response with status 200', async () => {
      const error = { type: 'rate_limit_error', message: 'Slow down.', code: 'rate_limit_exceeded' };
      const settled = await ask(provider, json(200, { type: 'error', error }), stream);
      expect(settled).toMatchObject({
        ok: false,
        error: {
          class: 'rate_limit',
          type: 'RateLimitError',
          transportRetries: 2,
          message: expect.stringContaining('Slow down.'),
        },
      });
      expect(settled.used).toBeUndefined();
    });

    test('a page for people', async () => {
      const settled = await ask(provider, text(200, '<html>Log in</html>', { 'content-type': 'text/html' }), stream);
      const message = expect.stringContaining('it is text/html and not JSON; check the `base_url`') as string;
      expect(settled).toMatchObject({ ok: false, error: { class: 'fatal', type: 'RequestError', message } });
      expect(settled.used).toBeUndefined();
    });

    test('nothing at all', async () => {
      const settled = await ask(provider, text(200, '', { 'content-type': 'text/event-stream' }), stream);
      expect(settled).toMatchObject({ ok: false, error: { class: 'transient', type: 'TransientError' } });
      expect(settled.used).toBeUndefined();
    });

    test('a byte order mark, and empty lines first', async () => {
      const body = bodyOf(provider, {});
      const written = stream ? streamOf(provider === 'local' ? 'openai.chat' : provider, body) : JSON.stringify(body);
      const type = { 'content-type': stream ? 'text/event-stream' : 'application/json' };
      expect(await ask(provider, text(200, `\uFEFF\n\n${written}`, type), stream)).toMatchObject(fine);
    });

    test('tokens that no model can use are estimated', async () => {
      const usage =
        provider === 'local'
          ? { prompt_tokens: -5, completion_tokens: 1e300 }
          : { input_tokens: -5, output_tokens: provider === 'openai' ? 1e300 : -1 };
      const { used = {} } = await ask(provider, answered(provider, bodyOf(provider, { usage }), stream), stream);
      expect(used.inputTokens).toBeGreaterThan(0);
      expect(used.outputTokens).toBeLessThan(100);
    });

    test('reasoning that is in the total only counts as output', async () => {
      if (provider !== 'local') return;
      const count = async (usage: object): Promise<number | undefined> =>
        (await ask(provider, answered(provider, bodyOf(provider, { usage }), stream), stream)).used?.outputTokens;
      const counted = { prompt_tokens: 10, completion_tokens: 5 };
      expect(await count({ ...counted, total_tokens: 115 })).toBe(105);
      expect(await count({ ...counted, total_tokens: 15 })).toBe(5);
      expect(await count({ ...counted, total_tokens: 3 })).toBe(5);
      expect(await count(counted)).toBe(5);
    });

    test('no tokens for a text that arrived', async () => {
      const usage =
        provider === 'local' ? { prompt_tokens: 0, completion_tokens: 0 } : { input_tokens: 0, output_tokens: 0 };
      const { used = {} } = await ask(provider, answered(provider, bodyOf(provider, { usage }), stream), stream);
      expect(used.inputTokens).toBeGreaterThan(0);
      expect(used.outputTokens).toBeGreaterThan(0);
    });
  });

  test('a stream with comments, pings, unknown events and CRLF', async () => {
    const events = streamOf(provider === 'local' ? 'openai.chat' : provider, bodyOf(provider, {})).split('\n\n');
    const [first = '', ...others] = events;
    const unknown = 'event: hologram\ndata: {"type":"hologram","x":1}';
    const written = ['event: ping\ndata: {"type":"ping"}', first, ': keep-alive', unknown, ...others].join('\n\n');
    expect(await ask(provider, sse(written.replaceAll('\n', '\r\n')), true)).toMatchObject(fine);
  });

  test('a stream that ends before the reply is repeated, and charged for what arrived', async () => {
    const events = streamOf(provider === 'local' ? 'openai.chat' : provider, bodyOf(provider, {})).split('\n\n');
    const start = events.filter(
      (event) => !/"finish_reason":"|message_delta|message_stop|response\.completed|DONE|"usage":\{"pr/.test(event),
    );
    const settled = await ask(provider, sse(`${start.join('\n\n')}\n\n`), true);
    expect(settled).toMatchObject({
      ok: false,
      error: {
        class: 'transient',
        message: expect.stringContaining('the reply is incomplete') as string,
        transportRetries: 2,
      },
    });
    expect(settled.used?.outputTokens).toBeGreaterThan(0);
  });
});

describe.each([false, true])('streamed: %s', (stream) => {
  const functionCall = (more: Body) => ({
    id: 'fc_1',
    type: 'function_call',
    status: 'completed',
    name: 'look',
    ...more,
  });
  const calls = (tool: Body) => [{ ...(stream ? { index: 0 } : {}), type: 'function', ...tool }];
  const chatCall = (tool: Body): Answer => {
    if (!stream) return json(200, bodyOf('local', { text: null, more: { tool_calls: calls(tool) } }));
    const chunk = (delta: Body, finish_reason: string | null): string =>
      `data: ${JSON.stringify({ id: 'c', object: 'chat.completion.chunk', created: 1, model: 'm', choices: [{ index: 0, delta, finish_reason }] })}\n\n`;
    return sse(`${chunk({ tool_calls: calls(tool) }, null)}${chunk({}, 'tool_calls')}data: [DONE]\n\n`);
  };
  const responsesCall = (more: Body): Answer => {
    const body = bodyOf('openai', { more: { output: [functionCall(more)] } });
    if (!stream) return json(200, body);
    const item = functionCall(more);
    const events = [
      { type: 'response.created', response: { ...body, output: [] } },
      { type: 'response.output_item.added', output_index: 0, item },
      { type: 'response.output_item.done', output_index: 0, item },
      { type: 'response.completed', response: body },
    ];
    return sse(events.map((event) => `data: ${JSON.stringify(event)}\n\n`).join(''));
  };

  test.each([
    ['local', chatCall({ id: 'a', function: { name: 'look', arguments: { at: 1 } } })],
    ['local', chatCall({ function: { name: 'look', arguments: '{"at":1}' } })],
    ['local', chatCall({ id: '', function: { name: 'look', arguments: '{"at":1}' } })],
    ['openai', responsesCall({ call_id: 'a', arguments: { at: 1 } })],
    ['openai', responsesCall({ arguments: '{"at":1}' })],
    ['openai', responsesCall({ call_id: '', arguments: '{"at":1}' })],
  ] as const)('%s %#: a call with unusual arguments or without an id', async (provider, answer) => {
    const settled = await ask(provider, answer, stream);
    expect(settled).toMatchObject({ ok: true, value: { toolCalls: [{ name: 'look', args: { at: 1 } }] } });
    const [made] = (settled as unknown as { value: { toolCalls: { id: string }[] } }).value.toolCalls;
    expect(made?.id).not.toBe('');
  });

  test('zero tokens for a call alone are believed', async () => {
    const item = functionCall({ call_id: 'a', arguments: '{"at":1}' });
    const body = bodyOf('openai', { more: { output: [item] }, usage: { input_tokens: 0, output_tokens: 0 } });
    const settled = await ask('openai', answered('openai', body, stream), stream);
    expect(settled).toMatchObject({ ok: true, value: { toolCalls: [{ name: 'look' }] } });
    expect(settled.used).toMatchObject({ inputTokens: 0, outputTokens: 0, costMicros: 0 });
  });

  test.each([{ input: { at: 1 } }, { id: '', input: { at: 1 } }])(
    'anthropic %#: a call without an id',
    async (more) => {
      const content = [{ type: 'tool_use', name: 'look', ...more }];
      const body = bodyOf('anthropic', { more: { content, stop_reason: 'tool_use' } });
      const settled = await ask('anthropic', answered('anthropic', body, stream), stream);
      expect(settled).toMatchObject({ ok: true, value: { toolCalls: [{ name: 'look', args: { at: 1 } }] } });
    },
  );

  test('a message without usage or content', async () => {
    const body = bodyOf('anthropic', { usage: undefined });
    const settled = await ask('anthropic', answered('anthropic', body, stream), stream);
    expect(settled).toMatchObject({ ok: true, value: { text: 'Fine.' } });
    expect(settled.used?.inputTokens).toBeGreaterThan(0);
    const empty = bodyOf('anthropic', { more: { content: stream ? [] : null } });
    expect(await ask('anthropic', answered('anthropic', empty, stream), stream)).toMatchObject({
      ok: false,
      error: { type: 'EmptyReplyError' },
      used: USED,
    });
  });
});

test('of several choices in a stream, the first one counts', async () => {
  const written = streamOf('openai.chat', bodyOf('local', {}));
  const other = streamOf('openai.chat', bodyOf('local', { text: 'Other.' })).replaceAll('"index":0', '"index":1');
  const [first = '', ...rest] = written.split('\n\n');
  const [second = ''] = other.split('\n\n');
  expect(await ask('local', sse([second, first, second, ...rest].join('\n\n')), true)).toMatchObject(fine);
});

test.each([
  [401, 'fatal', 'AuthenticationError'],
  [402, 'fatal', 'RequestError'],
  [429, 'rate_limit', 'RateLimitError'],
  [502, 'transient', 'TransientError'],
])('an error %d in a response with status 200 counts as that status', async (code, kind, type) => {
  const settled = await ask('local', json(200, { error: { message: 'No.', code } }), false);
  expect(settled).toMatchObject({
    ok: false,
    error: { class: kind, type, message: expect.stringContaining(`${code} No.`) as string },
  });
});

const hologram = { id: 'h', type: 'hologram', x: 1 };

test('items and parts of an unknown type are left out of a response', async () => {
  const [item = {}] = bodyOf('openai', {})['output'] as Body[];
  const content = [...(item['content'] as Body[]), hologram];
  const body = bodyOf('openai', { more: { output: [hologram, { ...item, content }] } });
  expect(await ask('openai', json(200, body), false)).toMatchObject(fine);
});

test('parts of an unknown type are left out of a message', async () => {
  const content = [hologram, { type: 'text', text: 'Fine.' }];
  expect(await ask('anthropic', json(200, bodyOf('anthropic', { more: { content } })), false)).toMatchObject(fine);
  const events = streamOf('anthropic', bodyOf('anthropic', {})).replaceAll('"index":0', '"index":1').split('\n\n');
  const unknown = [
    { type: 'content_block_start', index: 0, content_block: hologram },
    { type: 'content_block_delta', index: 0, delta: { type: 'hologram_delta', x: 2 } },
    { type: 'content_block_stop', index: 0 },
  ].map((event) => `data: ${JSON.stringify(event)}`);
  expect(await ask('anthropic', sse([events[0], ...unknown, ...events.slice(1)].join('\n\n')), true)).toMatchObject(
    fine,
  );
});

test('arguments of a message as text count', async () => {
  const content = [{ type: 'tool_use', id: 'a', name: 'look', input: '{"at":1}' }];
  const body = bodyOf('anthropic', { more: { content, stop_reason: 'tool_use' } });
  const settled = await ask('anthropic', json(200, body), false);
  expect(settled).toMatchObject({ ok: true, value: { toolCalls: [{ name: 'look', args: { at: 1 } }] } });
});

test('a complete message without its last event counts', async () => {
  const written = streamOf('anthropic', bodyOf('anthropic', {}));
  const cut = written.slice(0, written.indexOf('event: message_stop'));
  expect(await ask('anthropic', sse(cut), true)).toMatchObject(fine);
});

test('a stream of Chat Completions that is marked as done needs no finish reason', async () => {
  const written = streamOf('openai.chat', bodyOf('local', {})).replace(
    '"finish_reason":"stop"',
    '"finish_reason":null',
  );
  expect(written).toContain('[DONE]');
  expect(await ask('local', sse(written), true)).toMatchObject(fine);
});

test('a failed response is charged for the tokens that it reports', async () => {
  const error = { code: 'server_error', message: 'It broke.' };
  const body = bodyOf('openai', { more: { status: 'failed', output: [], error } });
  const failed = { ok: false, error: { class: 'transient', message: expect.stringContaining('It broke.') as string } };
  expect(await ask('openai', json(200, body), false)).toMatchObject({ ...failed, used: USED });
  const events = [
    { type: 'response.created', response: { ...body, status: 'in_progress' } },
    { type: 'response.failed', response: body },
  ];
  const written = events.map((event) => `data: ${JSON.stringify(event)}\n\n`).join('');
  expect(await ask('openai', sse(written), true)).toMatchObject(failed);
});

describe('in every notation', () => {
  const agents = [
    { id: 'bot', model: 'm', instructions: 'Be brief.' },
    { id: 'planner', model: 'm', instructions: 'PLAN' },
  ];
  const documents: { readonly [notation: string]: Body } = {
    flow: { agents, flow: { id: 'f', entry: 'a', nodes: [{ id: 'a', type: 'agent', agent: 'bot' }] } },
    workflow: { agents, workflow: { name: 'w', steps: [{ name: 's', agent_id: 'bot' }] } },
    loop: { agents, loop: { agent: 'bot', criteria: [{ when: "answer != ''", reason: 'no answer' }] } },
    staged: { agents, staged: { id: 's', plan: { agent: 'planner' }, workers: { agent: 'bot' } } },
    team: { Orchestration: { Agents: [{ Name: 'bot', Model: { ModelId: 'm' } }], Selection: { Type: 'sequential' } } },
  };

  test.each(Object.keys(documents).flatMap((notation) => PROVIDERS.map((provider) => [notation, provider] as const)))(
    '%s, %s: an error with status 200 is repeated as a retry and costs nothing',
    async (notation, provider) => {
      await using served = await serve();
      let calls = 0;
      served.answer = (response, asked) => {
        calls += 1;
        const overloaded = { type: 'error', error: { type: 'overloaded_error', message: 'Overloaded' } };
        if (calls === 1) return json(200, overloaded, { 'retry-after-ms': '1' })(response, asked);
        const isPlan = JSON.stringify(asked.body).includes('PLAN');
        const reply = isPlan ? '{"tasks":[{"id":"t","brief":"b"}]}' : 'Fine.';
        return json(200, bodyOf(provider, { text: reply }))(response, asked);
      };
      const models = { m: { provider, model: 'm', base_url: served.url, price: { input: 1, output: 1 } } };
      const { flow, diagnostics } = compile({ models, ...documents[notation] });
      if (flow === undefined) throw new Error(JSON.stringify(diagnostics));
      const env = { OPENAI_API_KEY: 'k'.repeat(12), ANTHROPIC_API_KEY: 'k'.repeat(12) };
      const engine = createEngine({ journal: openMemory(), models: { env } });
      try {
        const { code, usage } = await engine.settled(await engine.start(flow, { input: 'Go.' }));
        const replies = served.asked.length - 1;
        expect(code).toBe('SUCCESS');
        expect(usage).toMatchObject({ retries: 1, inputTokens: 10 * replies, outputTokens: 5 * replies });
        expect(usage.costUsd).toBeCloseTo((15 * replies) / 1_000_000, 9);
      } finally {
        await engine.close();
      }
    },
  );
});
