/**
 * For the same replies, an agent's requests are those of the AI SDK's own tool loop. `conversations.json` holds the replies
 * and the messages that `generateText` of the package `ai` 7.0.169 sent for them.
 */
import { readFileSync } from 'node:fs';
import { describe, expect, test } from 'vitest';
import { compile, createEngine, openMemory } from '@sluice-internal/library';
import type { Json } from '@sluice-internal/kernel/expr';
import { json, serve, sse } from './serve.ts';
import { streamOf } from './streams.ts';

interface Conversation {
  readonly name: string;
  readonly provider: string;
  readonly model: string;
  readonly replies: readonly { readonly [field: string]: Json }[];
  readonly requests: readonly Json[];
}
const conversations = JSON.parse(
  readFileSync(new URL('conversations.json', import.meta.url), 'utf8'),
) as Conversation[];

describe.each([false, true])('streamed: %s', (stream) => {
  test.each(conversations)('$name', async ({ provider, model, replies, requests }) => {
    await using served = await serve();
    served.answer = (response, asked) => {
      const body = replies[served.asked.length - 1] ?? {};
      const answer = stream ? sse(streamOf(provider, body)) : json(200, body);
      return answer(response, asked);
    };
    const { flow } = compile({
      models: { m: { provider, model, base_url: served.url } },
      tools: {
        look: {
          description: 'Looks.',
          effect: 'read',
          trust: 'trusted',
          input: { type: 'object', properties: { at: { type: 'string' } } },
        },
      },
      agents: [{ id: 'bot', model: 'm', instructions: 'Be brief.', tools: ['look'] }],
      flow: { id: 'f', entry: 'a', nodes: [{ id: 'a', type: 'agent', agent: 'bot' }] },
    });
    if (flow === undefined) throw new Error('it does not compile');
    const env = { OPENAI_API_KEY: 'k'.repeat(12), ANTHROPIC_API_KEY: 'k'.repeat(12) };
    const engine = createEngine({
      journal: openMemory(),
      models: { env, stream },
      tools: { look: ({ at }) => `seen ${String(at)}` },
    });
    try {
      const report = await engine.settled(await engine.start(flow, { input: {} }));
      expect(report).toMatchObject({ code: 'SUCCESS', output: expect.stringContaining('Done.') as string });
    } finally {
      await engine.close();
    }
    const sent = served.asked.map(({ body }) => body['input'] ?? body['messages'] ?? null);
    expect(sent.map(comparable)).toEqual(requests);
  });
});

/** Without what the engine adds on purpose: cache breakpoints, and the mark around data from outside. */
function comparable(value: Json): Json {
  const text = JSON.stringify(value, (key, each: Json) => {
    if (key === 'cache_control') return undefined;
    return typeof each === 'string' ? each.replace(/^<data from="[^"]*" id="[^"]*">\n(.*)\n<\/data>$/s, '$1') : each;
  });
  return JSON.parse(text) as Json;
}
