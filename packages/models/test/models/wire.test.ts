/** OpenAI, Anthropic and Google on loopback: replies, streams and tool calls, each for exactly one request. */
import { describe, expect, test } from 'vitest';
import type { Json } from '@sluice-internal/kernel/expr';
import { call, KEYS } from './call.ts';
import { PROTOCOLS } from './protocols.ts';
import { serve, sse, text } from './serve.ts';

const WEATHER = {
  'weather.look_up': {
    description: 'The weather.',
    input: { type: 'object', properties: { city: { type: 'string' } } },
  },
} as const;
const KEY_OF = { openai: KEYS.OPENAI_API_KEY, anthropic: KEYS.ANTHROPIC_API_KEY, google: KEYS.GEMINI_API_KEY };

describe.each(PROTOCOLS)('$provider', (protocol) => {
  const { provider } = protocol;
  const price = { input: 2, output: 10 };

  test.each([false, true])('a reply with text and its price, streamed: %s', async (streamed) => {
    await using served = await serve();
    const heard: string[] = [];
    served.answer = streamed
      ? sse(protocol.stream({ text: 'Hello 🌍' }))
      : text(200, protocol.body({ text: 'Hello 🌍' }));
    const settled = await call({
      models: { m: { provider, model: 'm', base_url: served.url, price } },
      onText: streamed ? (delta) => heard.push(delta) : undefined,
    });
    expect(settled).toMatchObject({
      ok: true,
      value: { text: 'Hello 🌍', finish: 'stop', served: `${provider}/m` },
      used: { inputTokens: 12, outputTokens: 5, costMicros: 12 * 2 + 5 * 10 },
    });
    expect(heard.join('')).toBe(streamed ? 'Hello 🌍' : '');
    expect(served.asked).toHaveLength(1);
    expect(served.asked[0]?.path).toMatch(protocol.path);
    expect(protocol.keyIn(served.asked[0]?.headers ?? {})).toBe(KEY_OF[provider]);
  });

  test.each([false, true])('a tool call under the name that we gave it, streamed: %s', async (streamed) => {
    await using served = await serve();
    // The reason for stopping says nothing of a call; it is read from the content.
    const reply = { text: 'Looking.', call: { id: 'call_7', name: 'weather_look_up', args: '{"city":"Bern"}' } };
    served.answer = streamed ? sse(protocol.stream(reply)) : text(200, protocol.body(reply));
    const settled = await call(
      { models: { m: { provider, model: 'm', base_url: served.url } }, tools: WEATHER },
      streamed ? { stream: true } : {},
    );
    expect(settled).toMatchObject({
      ok: true,
      value: { text: 'Looking.', toolCalls: [{ name: 'weather.look_up', args: { city: 'Bern' } }] },
    });
    expect(protocol.toolNames(served.asked[0]?.body ?? {})).toEqual(['weather_look_up']);
    expect(served.asked).toHaveLength(1);
  });

  test('what the provider wants back comes back with the result of the call', async () => {
    await using served = await serve();
    served.answer = text(
      200,
      protocol.body({ text: '', call: { id: 'call_7', name: 'weather_look_up', args: '{"city":"Bern"}' } }),
    );
    const given = { models: { m: { provider, model: 'm', base_url: served.url } }, tools: WEATHER };
    const first = await call(given);
    const { toolCalls } = (first as unknown as { value: { toolCalls: { id: string }[] } }).value;
    const messages: Json = [
      { role: 'assistant', content: '', toolCalls },
      { role: 'tool', content: 'rain', toolCallId: toolCalls[0]?.id ?? '', name: 'weather.look_up' },
    ];
    served.answer = text(200, protocol.body({ text: 'It rains.' }));
    const second = await call({ ...given, input: { prompt: 'Weather in Bern?', messages } });
    expect(second).toMatchObject({ ok: true, value: { text: 'It rains.' } });
    const sent = JSON.stringify(served.asked[1]?.body);
    expect(sent).toContain('weather_look_up');
    expect(sent).toContain('rain');
    expect(sent.includes('c2ln')).toBe(provider === 'google');
  });

  test('arguments that were no object go back inside of one, which every provider takes', async () => {
    await using served = await serve(text(200, protocol.body({ text: 'Once more.' })));
    const raw = '{"city": "Be';
    const messages: Json = [
      { role: 'assistant', content: '', toolCalls: [{ id: 'call_7', name: 'weather.look_up', args: null, raw }] },
      { role: 'tool', content: '[INVALID] no object', toolCallId: 'call_7', name: 'weather.look_up' },
    ];
    const models = { m: { provider, model: 'm', base_url: served.url } };
    const settled = await call({ models, tools: WEATHER, input: { prompt: 'Weather?', messages } });
    expect(settled).toMatchObject({ ok: true });
    const sent = JSON.stringify(served.asked[0]?.body).replaceAll('\\', '');
    expect(sent).toContain(`{"invalid_json":"${raw}"}`);
  });

  test('a refusal is a refusal, and is paid for', async () => {
    for (const streamed of [false, true]) {
      await using served = await serve(
        streamed ? sse(protocol.stream(protocol.refused)) : text(200, protocol.body(protocol.refused)),
      );
      const settled = await call(
        { models: { m: { provider, model: 'm', base_url: served.url, price } } },
        streamed ? { stream: true } : {},
      );
      expect(settled).toMatchObject({
        ok: false,
        error: { class: 'refused', type: 'RefusalError' },
        used: { inputTokens: 12, outputTokens: 5, costMicros: 74 },
      });
    }
  });
});
