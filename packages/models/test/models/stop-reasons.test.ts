/** A reply that the model did not finish is a typed failure. Some of them can be continued. */
import { describe, expect, test } from 'vitest';
import { compile } from '@sluice-internal/library';
import { completion as chatBody, message as messageBody, response } from './bodies.ts';
import type { Body } from './bodies.ts';
import { call } from './call.ts';
import type { Given } from './call.ts';
import { json, serve, sse } from './serve.ts';
import { streamOf } from './streams.ts';

const message = (text: string, stop_reason: string): Body => messageBody(text, { stop_reason });
const incomplete = (text: string, reason: string): Body =>
  response(text, { status: 'incomplete', incomplete_details: { reason } });
const completion = (content: string | null, finish_reason: string): Body => chatBody({ content }, finish_reason);

async function asked(provider: string, replies: readonly Body[], stream: boolean, agent: Given['agent'] = {}) {
  await using served = await serve();
  served.answer = (to, request) => {
    const body = replies[served.asked.length - 1] ?? {};
    return (stream ? sse(streamOf(provider, body)) : json(200, body))(to, request);
  };
  const settled = await call(
    { models: { m: { provider, model: 'm', base_url: served.url } }, agent },
    stream ? { stream: true } : {},
  );
  return { settled, sent: served.asked };
}

describe.each([false, true])('streamed: %s', (stream) => {
  test.each([
    ['openai', incomplete('Half of', 'max_output_tokens'), 'semantic', 'TruncatedReplyError'],
    ['openai', incomplete('I cannot', 'content_filter'), 'refused', 'RefusalError'],
    ['openai', response(''), 'transient', 'EmptyReplyError'],
    ['anthropic', message('Half of', 'max_tokens'), 'semantic', 'TruncatedReplyError'],
    ['anthropic', message('Half', 'model_context_window_exceeded'), 'fatal', 'ContextLengthError'],
    ['anthropic', message('I cannot', 'refusal'), 'refused', 'RefusalError'],
    ['anthropic', message('', 'end_turn'), 'transient', 'EmptyReplyError'],
    ['openai.chat', completion('Half of', 'length'), 'semantic', 'TruncatedReplyError'],
    ['openai.chat', completion('No', 'content_filter'), 'refused', 'RefusalError'],
    ['openai.chat', completion(' \n', 'stop'), 'transient', 'EmptyReplyError'],
    ['local', completion('Half of', 'max_tokens'), 'semantic', 'TruncatedReplyError'],
    ['local', completion('Half of', 'model_context_window_exceeded'), 'fatal', 'ContextLengthError'],
    ['local', completion('Half of', 'model_length'), 'fatal', 'ContextLengthError'],
    ['local', completion('I cannot', 'refusal'), 'refused', 'RefusalError'],
    ['local', completion('Half of', 'error'), 'transient', 'UnfinishedReplyError'],
    ['local', completion('Half of', 'cancelled'), 'transient', 'UnfinishedReplyError'],
    ['local', completion('Half of', 'incomplete'), 'transient', 'UnfinishedReplyError'],
    ['local', completion('Half of', 'insufficient_system_resource'), 'transient', 'UnfinishedReplyError'],
    ['anthropic', message('Half of', 'a_reason_of_next_year'), 'transient', 'UnfinishedReplyError'],
  ] as const)('%s %#: %s', async (provider, body, kind, type) => {
    const { settled, sent } = await asked(provider, [body], stream);
    expect(settled).toMatchObject({ ok: false, error: { class: kind, type }, used: { outputTokens: 5 } });
    expect(sent).toHaveLength(1);
  });

  test('a truncated reply without a limit can be continued once', async () => {
    const { settled, sent } = await asked('anthropic', [message('One, two, ', 'max_tokens')], stream, {
      maxOutputTokens: null,
    });
    expect(settled).toMatchObject({
      ok: false,
      error: { type: 'TruncatedReplyError', partial: { text: 'One, two, ' }, continuations: 1 },
      used: { inputTokens: 10, outputTokens: 5 },
    });
    expect(sent).toHaveLength(1);
  });

  test('a paused turn can be continued five times', async () => {
    const { settled, sent } = await asked('anthropic', [message('Wait. ', 'pause_turn')], stream);
    expect(settled).toMatchObject({
      ok: false,
      error: { type: 'UnfinishedReplyError', partial: { text: 'Wait. ', paused: true }, continuations: 5 },
    });
    expect(sent).toHaveLength(1);
  });

  test('a paused turn without content is a failure of the provider', async () => {
    const { settled } = await asked('anthropic', [message('', 'pause_turn')], stream);
    expect(settled).toMatchObject({ ok: false, error: { type: 'UnfinishedReplyError' } });
    expect(settled).not.toHaveProperty('error.partial');
  });

  test('a finish reason that nobody knows ends the reply of a server that speaks Chat Completions', async () => {
    const { settled } = await asked('local', [completion('Done.', 'eos')], stream);
    expect(settled).toMatchObject({ ok: true, value: { text: 'Done.' } });
  });
});

test.each([
  { status: 'cancelled' },
  { status: 'queued' },
  { status: 'in_progress' },
  { status: 'incomplete', incomplete_details: null },
  { status: 'incomplete', incomplete_details: { reason: 'a_reason_of_next_year' } },
])('a response with $status holds no reply', async (fields) => {
  const { settled } = await asked('openai', [response('Half', fields)], false);
  expect(settled).toMatchObject({ ok: false, error: { class: 'transient', type: 'UnfinishedReplyError' } });
});

test('the message of a truncated reply names the limit and how to raise it', async () => {
  const { settled } = await asked('openai.chat', [completion('Half', 'length')], false, { maxOutputTokens: 5 });
  expect(settled).toMatchObject({
    error: {
      message:
        'openai.chat/m: the reply reached its limit of 5 output tokens; set `max_output_tokens` on the agent to allow more',
    },
  });
});

test.each([
  ['gpt-5-mini', 1, 32_768],
  ['gpt-5-mini', 0.04, 5_000],
  ['gpt-5-mini', 0.001, 4_096],
  ['gpt-4o', 1, 4_096],
  ['us.anthropic.claude-sonnet-4-5-20250929-v1:0', 1, 32_768],
  ['kimi-k2-thinking', 1, 32_768],
])('under a cost budget a reply of %s may have as many tokens as %d dollars allow: %i', (model, usd, tokens) => {
  const { flow } = compile({
    models: { m: { provider: 'openai', model, price: { input: 0.25, output: 2 } } },
    budgets: { cost_usd: usd },
    agents: [{ id: 'bot', model: 'm' }],
    flow: { id: 'f', entry: 'a', nodes: [{ id: 'a', type: 'agent', agent: 'bot' }] },
  });
  expect(flow?.agents['bot']?.maxOutputTokens).toBe(tokens);
});

test.each([
  ['an effort', { reasoning_effort: 'high' }, {}, 32_768],
  ['the effort none', { reasoning_effort: 'none' }, {}, 4_096],
  ['an option for thinking', {}, { options: { thinking: { type: 'enabled' } } }, 32_768],
])('a model of any name may think under a cost budget where the author sets %s', (_, agent, model, tokens) => {
  const { flow } = compile({
    models: { m: { provider: 'openai', model: 'my-deployment', price: { input: 0.25, output: 2 }, ...model } },
    budgets: { cost_usd: 1 },
    agents: [{ id: 'bot', model: 'm', ...agent }],
    flow: { id: 'f', entry: 'a', nodes: [{ id: 'a', type: 'agent', agent: 'bot' }] },
  });
  expect(flow?.agents['bot']?.maxOutputTokens).toBe(tokens);
});

test('an unknown stop reason of Gemini is no finished reply', async () => {
  const candidates = [{ content: { role: 'model', parts: [{ text: 'Half' }] }, finishReason: 'UNEXPECTED_TOOL_CALL' }];
  await using served = await serve(
    json(200, { candidates, usageMetadata: { promptTokenCount: 4, totalTokenCount: 5 } }),
  );
  expect(await call({ models: { m: { provider: 'google', model: 'm', base_url: served.url } } })).toMatchObject({
    ok: false,
    error: { type: 'UnfinishedReplyError', message: expect.stringContaining('UNEXPECTED_TOOL_CALL') as string },
  });
});
