/** What goes wrong with providers, class by class. None of it is tried again here, none of it hangs, none of it throws. */
import { describe, expect, test } from 'vitest';
import type { Failure } from '@sluice-internal/kernel/ir';
import { RESPONSE_BYTES_MAX } from '../../src/connect.ts';
import { call } from './call.ts';
import { PROTOCOLS } from './protocols.ts';
import type { ProtocolMock } from './protocols.ts';
import { dropped, serve, sse, text } from './serve.ts';
import type { Answer } from './serve.ts';

const STREAM = { stream: true };

async function failing(
  { provider }: ProtocolMock,
  answer: Answer,
  streamed: boolean,
): Promise<Failure & { readonly tokens: number | undefined }> {
  await using served = await serve(answer);
  const settled = await call({ models: { m: { provider, model: 'm', base_url: served.url } } }, streamed ? STREAM : {});
  expect(served.asked).toHaveLength(1);
  if (settled.ok) throw new Error(`expected a failure, but was told ${JSON.stringify(settled.value)}`);
  return { ...settled.error, tokens: settled.used?.inputTokens };
}

describe.each(PROTOCOLS)('$provider', (protocol) => {
  const labels = { openai: 'server_error', anthropic: 'overloaded_error', google: 'UNAVAILABLE' };

  test.each([false, true])('429 keeps how long to wait, streamed: %s', async (streamed) => {
    const body = protocol.error(
      protocol.provider === 'google' ? 'RESOURCE_EXHAUSTED' : 'rate_limit_error',
      'Slow down.',
    );
    expect(await failing(protocol, text(429, body, { 'retry-after': '7' }), streamed)).toMatchObject({
      class: 'rate_limit',
      type: 'RateLimitError',
      retryAfterMs: 7000,
    });
    expect(await failing(protocol, text(429, body, { 'retry-after-ms': '250' }), streamed)).toMatchObject({
      class: 'rate_limit',
      retryAfterMs: 250,
    });
    expect(await failing(protocol, text(429, 'no JSON', {}), streamed)).not.toHaveProperty('retryAfterMs');
  });

  test('429 that counts tokens is a rate limit, not a prompt that is too long', async () => {
    const body = protocol.error('throttling', 'Too many tokens, please wait before trying again.');
    expect(await failing(protocol, text(429, body), false)).toMatchObject({ type: 'RateLimitError' });
    expect(await failing(protocol, text(400, body), false)).toMatchObject({ type: 'ContextLengthError' });
  });

  test.each([500, 502, 503, 529])('%d is transient', async (status) => {
    for (const streamed of [false, true])
      expect(
        await failing(protocol, text(status, protocol.error(labels[protocol.provider], 'Oops.')), streamed),
      ).toMatchObject({
        class: 'transient',
        type: 'TransientError',
        message: expect.stringContaining(`${status}`) as string,
      });
  });

  test('a body that is no JSON, or something else', async () => {
    for (const body of ['{"id": "resp', '', '[]', 'null', '<html>', '{"hello": 1}']) {
      expect(await failing(protocol, text(200, body), false)).toMatchObject({
        class: 'transient',
        type: 'TransientError',
      });
      expect(await failing(protocol, sse(body), true)).toMatchObject({
        class: 'transient',
        type: expect.stringMatching(/^(Transient|EmptyReply)Error$/) as string,
      });
    }
    expect(
      await failing(protocol, sse(protocol.stream({ text: 'Hello' }).replace('data: {', 'data: {{')), true),
    ).toMatchObject({ class: 'transient' });
  });

  test('a connection that breaks: before, within a body, within a stream', async () => {
    const whole = protocol.stream({ text: 'Hello, this is a long reply' });
    expect(await failing(protocol, (response) => void response.destroy(), false)).toMatchObject({ class: 'transient' });
    expect(
      await failing(protocol, dropped('application/json', protocol.body({ text: 'Hello' }).slice(0, 40)), false),
    ).toMatchObject({ class: 'transient' });
    // What has come was paid for, although nobody says how much.
    const broken = await failing(
      protocol,
      dropped('text/event-stream', whole.slice(0, Math.floor(whole.length / 2))),
      true,
    );
    expect(broken).toMatchObject({ class: 'transient' });
    expect(broken.tokens).toBeGreaterThan(0);
  });

  test('a stream that is cut after any event is no reply, and no half call is in it', async () => {
    const tool = { id: 'c1', name: 'pay', args: '{"to":"Ann","sum":12345}' };
    const chunks = protocol.stream({ text: 'Hi', call: tool }).split('\n\n');
    const ends = { openai: 1, anthropic: 2, google: 1 }[protocol.provider];
    await using served = await serve();
    const models = { m: { provider: protocol.provider, model: 'm', base_url: served.url } };
    for (let count = 1; count < chunks.length - ends; count += 1) {
      served.answer = sse(`${chunks.slice(0, count).join('\n\n')}\n\n`);
      const settled = await call({ models, tools: { pay: { input: true } } }, { stream: true });
      const lost = settled.used === undefined ? {} : { unmeasured: true };
      expect(settled).toMatchObject({ ok: false, error: { class: 'transient', type: 'TransientError', ...lost } });
    }
  });

  test('a stream that ends without an end', async () => {
    const whole = protocol.stream({ text: 'Hello' }).split('\n\n');
    const ends = { openai: 1, anthropic: 2, google: 1 }[protocol.provider];
    expect(await failing(protocol, sse(`${whole.slice(0, -1 - ends).join('\n\n')}\n\n`), true)).toMatchObject({
      class: 'transient',
      type: 'TransientError',
    });
  });

  test('a key that is not accepted names its variable §pathologies/tool-credential-expiry', async () => {
    const variable = { openai: 'OPENAI_API_KEY', anthropic: 'ANTHROPIC_API_KEY', google: 'GEMINI_API_KEY' }[
      protocol.provider
    ];
    const label = { openai: 'invalid_api_key', anthropic: 'authentication_error', google: 'UNAUTHENTICATED' }[
      protocol.provider
    ];
    expect(await failing(protocol, text(401, protocol.error(label, 'Bad key.')), false)).toMatchObject({
      class: 'fatal',
      type: 'AuthenticationError',
      message: expect.stringContaining(variable) as string,
    });
  });

  test('input that is too long, a model that is not there, a request that is wrong', async () => {
    const long = {
      openai: ['context_length_exceeded', 'Too long.'],
      anthropic: ['invalid_request_error', 'prompt is too long: 200001 tokens > 200000 maximum'],
      google: ['INVALID_ARGUMENT', 'The input token count (9) exceeds the maximum number of tokens allowed (8).'],
    }[protocol.provider] as [string, string];
    expect(await failing(protocol, text(400, protocol.error(...long)), false)).toMatchObject({
      class: 'fatal',
      type: 'ContextLengthError',
    });
    expect(
      await failing(protocol, text(404, protocol.error('not_found_error', 'No such model.')), false),
    ).toMatchObject({ class: 'fatal', type: 'ModelNotFoundError' });
    expect(await failing(protocol, text(400, protocol.error('invalid_request_error', 'No.')), false)).toMatchObject({
      class: 'fatal',
      type: 'RequestError',
    });
  });

  test('a redirect is not followed', async () => {
    await using elsewhere = await serve();
    expect(await failing(protocol, text(307, '', { location: `${elsewhere.url}/v1` }), false)).toMatchObject({
      class: 'fatal',
      type: 'RequestError',
    });
    expect(elsewhere.asked).toHaveLength(0);
  });

  test('a call that is aborted lets go of a body that never comes', async () => {
    for (const streamed of [false, true]) {
      const closed = Promise.withResolvers<void>();
      const controller = new AbortController();
      await using served = await serve((response) => {
        response.on('close', () => closed.resolve());
        response.writeHead(200, { 'content-type': streamed ? 'text/event-stream' : 'application/json' });
        response.write(streamed ? protocol.stream({ text: 'Hello' }).slice(0, 200) : '{');
        setTimeout(() => controller.abort(), 20);
      });
      const settled = await call(
        { models: { m: { provider: protocol.provider, model: 'm', base_url: served.url } }, signal: controller.signal },
        streamed ? STREAM : {},
      );
      expect(settled).toMatchObject({ ok: false, error: { class: 'timeout' } });
      await closed.promise;
    }
  });
});

describe('within a stream', () => {
  test('Anthropic is overloaded after it had begun', async () => {
    const [, anthropic] = PROTOCOLS as [ProtocolMock, ProtocolMock, ProtocolMock];
    const start = anthropic.stream({ text: 'Hello' }).split('\n\n').slice(0, 3).join('\n\n');
    const broken = `${start}\n\nevent: error\ndata: ${anthropic.error('overloaded_error', 'Overloaded')}\n\n`;
    expect(await failing(anthropic, sse(broken), true)).toMatchObject({
      class: 'transient',
      type: 'TransientError',
      message: expect.stringContaining('Overloaded') as string,
    });
  });

  test('OpenAI fails a response that it had begun', async () => {
    const [openai] = PROTOCOLS as [ProtocolMock];
    const failed = {
      type: 'response.failed',
      response: { id: 'resp_1', status: 'failed', error: { code: 'server_error', message: 'Sorry.' }, usage: null },
    };
    const start = openai.stream({ text: 'Hello' }).split('\n\n').slice(0, 3).join('\n\n');
    expect(await failing(openai, sse(`${start}\n\ndata: ${JSON.stringify(failed)}\n\n`), true)).toMatchObject({
      class: 'transient',
    });
  });
});

test('quota that is used up is not a matter of waiting', async () => {
  const [openai] = PROTOCOLS as [ProtocolMock];
  expect(
    await failing(openai, text(429, openai.error('insufficient_quota', 'You exceeded your quota.')), false),
  ).toMatchObject({ class: 'fatal', type: 'QuotaError' });
});

test('Google says in the body how long to wait', async () => {
  const google = PROTOCOLS[2] as ProtocolMock;
  const body = JSON.stringify({
    error: {
      code: 429,
      status: 'RESOURCE_EXHAUSTED',
      message: 'Quota.',
      details: [{ '@type': 'type.googleapis.com/google.rpc.RetryInfo', retryDelay: '34.5s' }],
    },
  });
  expect(await failing(google, text(429, body), false)).toMatchObject({ class: 'rate_limit', retryAfterMs: 34_500 });
});

test('a prompt that Google blocks is refused', async () => {
  const google = PROTOCOLS[2] as ProtocolMock;
  expect(
    await failing(google, text(200, JSON.stringify({ promptFeedback: { blockReason: 'SAFETY' } })), false),
  ).toMatchObject({ class: 'refused' });
});

test.each([
  ['body', 'application/json', false],
  ['line of a stream', 'text/event-stream', true],
])('a %s without end is cut off', async (_, type, streamed) => {
  const [openai] = PROTOCOLS as [ProtocolMock];
  const chunk = 'x'.repeat(1024 * 1024);
  const flood: Answer = (response) => {
    response.writeHead(200, { 'content-type': type });
    if (streamed) response.write('data: ');
    const more = (): void => {
      while (!response.destroyed && response.write(chunk));
      if (!response.destroyed) response.once('drain', more);
    };
    more();
  };
  expect(await failing(openai, flood, streamed)).toMatchObject({
    class: 'fatal',
    type: 'ResponseTooLargeError',
    message: expect.stringContaining(`${RESPONSE_BYTES_MAX}`) as string,
  });
});

test('no server listens at the address', async () => {
  const settled = await call({ models: { m: { provider: 'ollama', model: 'm', base_url: 'http://127.0.0.1:9' } } });
  expect(settled).toMatchObject({ ok: false, error: { class: 'transient', type: 'TransientError' } });
});

test('messages say what to change: a page instead of JSON, a redirect, a body that broke off, no Responses', async () => {
  const message = async (answer: Parameters<typeof serve>[0], provider = 'local'): Promise<unknown> => {
    await using served = await serve(answer);
    const settled = await call({ models: { m: { provider, model: 'm', base_url: served.url } } });
    return settled.ok ? null : settled.error.message;
  };
  const page = text(200, '<html>Sign in</html>', { 'content-type': 'text/html; charset=utf-8' });
  expect(await message(page)).toContain('it is text/html and not JSON; check the `base_url`');
  expect(await message(text(302, '', { location: 'http://127.0.0.1:9/' }))).toContain('redirects are not followed');
  expect(await message(dropped('application/json', '{"id": '))).toMatch(
    /the connection failed: (other side closed|terminated)/,
  );
  expect(await message(text(405, ''), 'openai')).toContain('use the provider `openai.chat`');
});
