/** Requests that a provider can cache: each starts with the one before. Cached and written tokens are counted and priced. */
import { createAnthropic } from '@ai-sdk/anthropic';
import { describe, expect, test } from 'vitest';
import { compile, createEngine, openMemory } from '@sluice-internal/library';
import type { Json } from '@sluice-internal/kernel/expr';
import { completion, message, response } from './bodies.ts';
import type { Body } from './bodies.ts';
import { call } from './call.ts';
import { json, serve, sse } from './serve.ts';
import { streamOf } from './streams.ts';

const ROUNDS = 10;
const tools = {
  look: {
    description: 'Looks.',
    effect: 'read',
    trust: 'trusted',
    input: { type: 'object', properties: { at: { type: 'number' } } },
  },
};
const agents = [{ id: 'bot', name: 'bot', model: 'm', instructions: 'Look ten times, then report.', tools: ['look'] }];

const DOCUMENTS: { readonly [notation: string]: object } = {
  flow: { agents, flow: { id: 'f', entry: 'a', nodes: [{ id: 'a', type: 'agent', agent: 'bot' }] } },
  workflow: { agents, workflow: { name: 'w', steps: [{ name: 's', agent_name: 'bot', prompt: '{{input}}' }] } },
  loop: { agents, budgets: { steps: 60 }, loop: { agent: 'bot', goal: '{{input.message}}' } },
  'loop with a plan': {
    agents: [...agents, { id: 'planner', model: 'm' }],
    budgets: { steps: 60 },
    loop: { planner: 'planner', executor: 'bot', goal: '{{input.message}}' },
  },
  staged: {
    agents: [...agents, { id: 'planner', model: 'm' }],
    staged: { id: 's', topology: 'supervisor', plan: { agent: 'planner' }, workers: { agent: 'bot', max: 1 } },
  },
  team: {
    Orchestration: {
      Name: 't',
      Agents: [{ Name: 'bot', Instructions: 'Look ten times, then report.', Model: 'm', Plugins: ['look'] }],
      Selection: { Type: 'sequential' },
    },
  },
};

describe.each(Object.keys(DOCUMENTS))('%s', (notation) => {
  test('over ten tool rounds every request starts with the one before', async () => {
    await using served = await serve();
    let rounds = 0;
    served.answer = (response, asked) => {
      const isPlan = !Array.isArray(asked.body['tools']);
      const content = isPlan
        ? '{"steps": [{"id": "s1", "do": "look", "tool": "look"}], "tasks": [{"id": "t1", "brief": "Look around."}]}'
        : rounds === ROUNDS
          ? 'I looked ten times.'
          : null;
      const call = { id: `c${rounds}`, type: 'function', function: { name: 'look', arguments: `{"at":${rounds}}` } };
      if (!isPlan) rounds += 1;
      const calls = content === null ? { tool_calls: [call] } : {};
      return json(200, completion({ content, ...calls }))(response, asked);
    };
    const models = { m: { provider: 'local', model: 'm', base_url: served.url, price: { input: 0, output: 0 } } };
    const { flow, diagnostics } = compile({ models, tools, ...DOCUMENTS[notation] });
    if (flow === undefined) throw new Error(JSON.stringify(diagnostics));
    const engine = createEngine({
      journal: openMemory(),
      tools: { look: ({ at }) => `seen ${String(at)} `.repeat(20) },
    });
    try {
      await engine.settled(await engine.start(flow, { input: { message: 'Look around.' } }));
    } finally {
      await engine.close();
    }
    const sent = served.asked.map(({ body }) => body).filter((body) => Array.isArray(body['tools']));
    expect(sent.length).toBeGreaterThan(ROUNDS);
    const texts = sent.slice(0, ROUNDS + 1).map((body) => JSON.stringify([body['tools'], body['messages']]));
    const shares = texts.slice(1).map((text, index) => sharedPart(texts[index] ?? '', text));
    expect(shares.filter((share) => share <= 0.95)).toEqual([]);
  });
});

/** The part of the first text that the second one starts with. */
function sharedPart(one: string, other: string): number {
  let shared = 0;
  while (shared < one.length && one[shared] === other[shared]) shared += 1;
  return shared / one.length;
}

test('for Anthropic, the instructions and the latest input are marked for the cache', async () => {
  const messages: Json = [
    { role: 'assistant', content: '', toolCalls: [{ id: 'c1', name: 'look', args: { at: 1 } }] },
    { role: 'tool', content: 'seen 1', toolCallId: 'c1', name: 'look' },
    { role: 'assistant', content: '', toolCalls: [{ id: 'c2', name: 'look', args: { at: 2 } }] },
    { role: 'tool', content: 'seen 2', toolCallId: 'c2', name: 'look' },
  ];
  await using served = await serve(json(200, reply({})));
  await call({
    models: { m: { provider: 'anthropic', model: 'm', base_url: served.url } },
    input: { prompt: 'Go.', messages },
  });
  const { system, messages: sent } = (served.asked[0] as (typeof served.asked)[number]).body as unknown as {
    system: { cache_control?: object }[];
    messages: { content: { type: string; cache_control?: object }[] }[];
  };
  expect(system.map((part) => part.cache_control !== undefined)).toEqual([true]);
  const marked = sent.map(({ content }) => content.some((part) => part.cache_control !== undefined));
  expect(marked).toEqual([false, false, true, false, true]);
});

test('a model object that reaches Claude is marked too', async () => {
  await using served = await serve(json(200, reply({})));
  const anthropic = createAnthropic({ apiKey: 'k', baseURL: `${served.url}/v1` });
  const { flow } = compile({
    agents: [{ id: 'bot', model: 'fast', instructions: 'Be brief.' }],
    flow: { id: 'f', entry: 'a', nodes: [{ id: 'a', type: 'agent', agent: 'bot' }] },
  });
  if (flow === undefined) throw new Error('it does not compile');
  const engine = createEngine({ journal: openMemory(), models: { fast: anthropic('claude-sonnet-4-5') } });
  try {
    await engine.settled(await engine.start(flow, { input: {} }));
  } finally {
    await engine.close();
  }
  expect(served.asked[0]?.body).toMatchObject({
    system: [{ cache_control: { type: 'ephemeral' } }],
    messages: [{ content: [{ cache_control: { type: 'ephemeral' } }] }],
  });
});

const reply = (usage: object): Body => message('ok', { usage: { input_tokens: 100, output_tokens: 50, ...usage } });
const usage = {
  input_tokens: 2000,
  input_tokens_details: { cached_tokens: 1500 },
  output_tokens: 300,
  output_tokens_details: { reasoning_tokens: 200 },
};

/** Micro-dollars by hand from the published prices per million tokens. */
test.each([
  // 100 new, 2000 read and 3000 written of 5100 input tokens; 50 output tokens.
  ['anthropic', 'claude-sonnet-4-5', 100 * 3 + 2000 * 0.3 + 3000 * 3.75 + 50 * 15],
  ['anthropic', 'claude-haiku-4-5', 100 * 1 + 2000 * 0.1 + 3000 * 1.25 + 50 * 5],
  // 500 new and 1500 read of 2000 input tokens; 300 output tokens, 200 of them reasoning.
  ['openai', 'gpt-5-mini', 500 * 0.25 + 1500 * 0.025 + 300 * 2],
  ['openai', 'gpt-4o', 500 * 2.5 + 1500 * 1.25 + 300 * 10],
])('%s/%s: cached, written and reasoning tokens are counted and priced', async (provider, model, micros) => {
  const isAnthropic = provider === 'anthropic';
  const body = isAnthropic
    ? reply({ cache_read_input_tokens: 2000, cache_creation_input_tokens: 3000 })
    : response('ok', { usage });
  await using served = await serve(json(200, body));
  const { flow } = compile({
    models: { m: { provider, model, base_url: served.url } },
    budgets: { cost_usd: 1, input_tokens: 9000 },
    agents: [{ id: 'bot', model: 'm' }],
    flow: { id: 'f', entry: 'a', nodes: [{ id: 'a', type: 'agent', agent: 'bot' }] },
  });
  if (flow === undefined) throw new Error('it does not compile');
  const env = { OPENAI_API_KEY: 'k'.repeat(12), ANTHROPIC_API_KEY: 'k'.repeat(12) };
  const engine = createEngine({ journal: openMemory(), models: { env } });
  try {
    const { usage: used } = await engine.settled(await engine.start(flow, { input: {} }));
    expect(used).toMatchObject(
      isAnthropic
        ? { inputTokens: 5100, cachedInputTokens: 2000, cacheWriteTokens: 3000, outputTokens: 50 }
        : { inputTokens: 2000, cachedInputTokens: 1500, outputTokens: 300, reasoningTokens: 200 },
    );
    expect(used.costUsd).toBeCloseTo(micros / 1_000_000, 6);
  } finally {
    await engine.close();
  }
});

describe.each([false, true])('input that the cache keeps for an hour, streamed: %s', (stream) => {
  const written = { cache_creation_input_tokens: 3000, cache_read_input_tokens: 2000 };
  const cache_creation = { ephemeral_5m_input_tokens: 1000, ephemeral_1h_input_tokens: 2000 };

  async function costOfReply(model: object) {
    const body = reply({ ...written, cache_creation });
    await using served = await serve(stream ? sse(streamOf('anthropic', body)) : json(200, body));
    const { flow } = compile({
      models: { m: { provider: 'anthropic', model: 'claude-sonnet-4-5', base_url: served.url, ...model } },
      budgets: { cost_usd: 1 },
      agents: [{ id: 'bot', model: 'm', instructions: 'Be brief.' }],
      flow: { id: 'f', entry: 'a', nodes: [{ id: 'a', type: 'agent', agent: 'bot' }] },
    });
    if (flow === undefined) throw new Error('it does not compile');
    const env = { ANTHROPIC_API_KEY: 'k'.repeat(12) };
    const engine = createEngine({ journal: openMemory(), models: { env, stream } });
    try {
      const { usage } = await engine.settled(await engine.start(flow, { input: {} }));
      return { usage, flow, body: served.asked[0]?.body };
    } finally {
      await engine.close();
    }
  }

  test('is priced by the table', async () => {
    const options = { cache_control: { type: 'ephemeral', ttl: '1h' } };
    const { usage, flow, body } = await costOfReply({ options });
    // Published prices: input 3, read 0.30, five minutes 3.75, one hour 6, output 15.
    const micros = 100 * 3 + 2000 * 0.3 + 1000 * 3.75 + 2000 * 6 + 50 * 15;
    expect(usage).toMatchObject({ inputTokens: 5100, cacheWriteTokens: 3000, costUsd: micros / 1_000_000 });
    expect(flow.models['m']).toMatchObject({ price: { cache_write: 3.75, cache_write_1h: 6 } });
    expect(body).toMatchObject({
      cache_control: { ttl: '1h' },
      system: [{ cache_control: { type: 'ephemeral', ttl: '1h' } }],
      messages: [{ content: [{ cache_control: { type: 'ephemeral', ttl: '1h' } }] }],
    });
  });

  test('costs twice the price of input if only the price of a write is known', async () => {
    const { usage } = await costOfReply({ price: { input: 1, output: 5, cache_write: 1.25 } });
    expect(usage.costUsd).toBe((100 + 2000 + 1000 * 1.25 + 2000 * 2 + 50 * 5) / 1_000_000);
  });
});

test('without the option, no call reserves the price of an hour', () => {
  const { flow } = compile({
    models: { m: { provider: 'anthropic', model: 'claude-sonnet-4-5' } },
    agents: [{ id: 'bot', model: 'm' }],
    flow: { id: 'f', entry: 'a', nodes: [{ id: 'a', type: 'agent', agent: 'bot' }] },
  });
  expect(flow?.models['m']).not.toHaveProperty('price.cache_write_1h');
});
