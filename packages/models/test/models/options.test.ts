/** No option is lost: it is sent as written, or an error names it. */
import { readFileSync } from 'node:fs';
import { describe, expect, test } from 'vitest';
import { SDK_OPTIONS } from '@sluice-internal/kernel/catalog';
import type { Json } from '@sluice-internal/kernel/expr';
import type { AgentDef } from '@sluice-internal/kernel/ir';
import { compile } from '@sluice-internal/library';
import { completion } from './bodies.ts';
import { call } from './call.ts';
import type { Given } from './call.ts';
import { json, serve } from './serve.ts';

interface Options {
  readonly model?: string;
  readonly options?: { readonly [name: string]: Json };
  readonly agent?: Partial<AgentDef>;
  readonly tools?: Given['tools'];
  readonly input?: Given['input'];
}

/** The body of the request. The provider answers with an error, as only the request matters. */
async function sent(provider: string, { model = 'm', options = {}, ...given }: Options) {
  await using served = await serve(json(400, { error: { message: 'no' } }));
  await call({ models: { m: { provider, model, base_url: served.url, options } }, ...given });
  return served.asked[0]?.body ?? {};
}

const PROVIDERS = ['openai', 'openai.chat', 'anthropic', 'google', 'openai-compatible'];
const TOOLS = { 'a.b': { description: 'One.', input: true as const } };

describe('options', () => {
  test.each(PROVIDERS)('%s: names that the AI SDK does not know are sent as written', async (provider) => {
    const options = { reasoning: { effort: 'high' }, cache_control: { type: 'ephemeral' }, reasoningEfort: 'high' };
    expect(await sent(provider, { options })).toMatchObject(options);
  });

  test("a value in the provider's own spelling is sent as written", async () => {
    const thinking = { type: 'enabled', budget_tokens: 2048 };
    expect(await sent('anthropic', { model: 'claude-sonnet-4-5', options: { thinking } })).toMatchObject({ thinking });
  });

  test('names of the AI SDK are translated', async () => {
    const effort = { reasoningEffort: 'high' };
    expect(await sent('openai', { model: 'gpt-5', options: effort })).toMatchObject({ reasoning: { effort: 'high' } });
    expect(await sent('openai.chat', { model: 'gpt-5', options: effort })).toMatchObject({ reasoning_effort: 'high' });
    const thinking = { thinking: { type: 'enabled', budgetTokens: 2048 } };
    expect(await sent('anthropic', { model: 'claude-sonnet-4-5', options: thinking })).toMatchObject({
      thinking: { type: 'enabled', budget_tokens: 2048 },
    });
  });

  test('an option that the AI SDK leaves out for the model is an error that names it', async () => {
    await using served = await serve(json(200, completion({ content: 'ok' })));
    const models = {
      m: { provider: 'openai.chat', model: 'gpt-4o', base_url: served.url, options: { serviceTier: 'flex' } },
    };
    const { error } = (await call({ models })) as { readonly error: { readonly message: string } };
    expect(error).toMatchObject({ class: 'fatal', type: 'OptionError' });
    expect(error.message).toContain('`serviceTier`');
  });

  test('the names are those of the installed packages', () => {
    const namesIn = (name: string): string[] => {
      const source = readFileSync(
        new URL(`../../../../node_modules/@ai-sdk/${name}/dist/index.js`, import.meta.url),
        'utf8',
      );
      const list = /const \w+ProviderOptions = \{ ?\s*language: \{([\s\S]*?)\n\t?\}/.exec(source)?.[1] ?? '';
      return [...list.matchAll(/^\t+(\w+): \{ description/gm)].map(([, option = '']) => option);
    };
    expect([...SDK_OPTIONS.openai]).toEqual(namesIn('openai'));
    expect([...SDK_OPTIONS.anthropic]).toEqual(namesIn('anthropic'));
    expect([...SDK_OPTIONS.google]).toEqual(namesIn('google'));
    expect(SDK_OPTIONS.compatible.size).toBe(4);
  });
});

describe('settings of an agent', () => {
  const settings = { topP: 0.5, seed: 7, stop: ['END'] };

  test.each<[string, string, object]>([
    ['openai', 'gpt-5', { temperature: 0.3, top_p: 0.5, seed: 7, stop: ['END'] }],
    ['openai.chat', 'o3', { temperature: 0.3, top_p: 0.5, seed: 7, stop: ['END'] }],
    ['openai-compatible', 'm', { temperature: 0.3, top_p: 0.5, seed: 7, stop: ['END'] }],
    ['anthropic', 'claude-sonnet-4-5', { temperature: 0.3, top_p: 0.5, seed: 7, stop_sequences: ['END'] }],
    [
      'google',
      'gemini-2.5-pro',
      { generationConfig: { temperature: 0.3, topP: 0.5, seed: 7, stopSequences: ['END'] } },
    ],
  ])('%s: all are sent, also those that the model refuses', async (provider, model, body) => {
    expect(await sent(provider, { model, agent: { temperature: 0.3, settings } })).toMatchObject(body);
  });

  test.each<[string, string, object]>([
    ['openai', 'gpt-5', { reasoning: { effort: 'low' } }],
    ['openai', 'gpt-4o', { reasoning: { effort: 'low' } }],
    ['openai.chat', 'gpt-5', { reasoning_effort: 'low' }],
    ['openai-compatible', 'm', { reasoning_effort: 'low' }],
  ])('%s %s: the reasoning effort is sent', async (provider, model, body) => {
    expect(await sent(provider, { model, agent: { settings: { reasoningEffort: 'low' } } })).toMatchObject(body);
  });

  test('anthropic and google get the reasoning effort in their own form', async () => {
    const agent = { settings: { reasoningEffort: 'high' as const }, maxOutputTokens: null };
    expect(JSON.stringify(await sent('anthropic', { model: 'claude-opus-4-5', agent }))).toMatch(/effort|thinking/);
    expect(JSON.stringify(await sent('google', { model: 'gemini-2.5-pro', agent }))).toContain('thinkingConfig');
  });

  test.each<[string, object]>([
    ['openai', { parallel_tool_calls: false }],
    ['openai.chat', { parallel_tool_calls: false }],
    ['openai-compatible', { parallel_tool_calls: false }],
    ['anthropic', { tool_choice: { disable_parallel_tool_use: true } }],
  ])('%s: one tool call at a time', async (provider, body) => {
    const agent = { settings: { parallelToolCalls: false } };
    expect(await sent(provider, { agent, tools: TOOLS })).toMatchObject(body);
    expect(await sent(provider, { agent })).not.toMatchObject(body);
  });

  test('a forced tool call applies until the turn has a result', async () => {
    const agent = { settings: { toolChoice: 'required' as const } };
    const messages: Json = [
      { role: 'assistant', content: '', toolCalls: [{ id: 'c', name: 'a.b', args: {} }] },
      { role: 'tool', content: 'x', toolCallId: 'c', name: 'a.b' },
    ];
    const after = { prompt: 'Hello?', messages };
    expect(await sent('openai.chat', { agent, tools: TOOLS })).toMatchObject({ tool_choice: 'required' });
    expect(await sent('openai.chat', { agent, tools: TOOLS, input: after })).toMatchObject({ tool_choice: 'auto' });
    const named = { settings: { toolChoice: { tool: 'a.b' } } };
    expect(await sent('openai.chat', { agent: named, tools: TOOLS })).toMatchObject({
      tool_choice: { type: 'function', function: { name: 'a_b' } },
    });
    const none = { settings: { toolChoice: 'none' as const } };
    expect(await sent('openai.chat', { agent: none, tools: TOOLS })).toMatchObject({ tool_choice: 'none' });
  });
});

describe('the limit of a reply', () => {
  const model = 'claude-sonnet-4-5';
  test('thinking by effort counts towards it', async () => {
    const agent = { maxOutputTokens: 4000, settings: { reasoningEffort: 'high' as const } };
    expect(await sent('anthropic', { model, agent })).toMatchObject({
      max_tokens: 4000,
      thinking: { type: 'enabled', budget_tokens: 3200 },
    });
  });

  test('thinking that the author sets is sent as written', async () => {
    const options = { thinking: { type: 'enabled', budgetTokens: 3900 } };
    expect(await sent('anthropic', { model, options, agent: { maxOutputTokens: 4000 } })).toMatchObject({
      max_tokens: 4000,
      thinking: { type: 'enabled', budget_tokens: 3900 },
    });
  });

  test.each([
    ['anthropic', 'max_tokens'],
    ['openai', 'max_output_tokens'],
    ['openai.chat', 'max_completion_tokens'],
    ['openai.chat', 'maxCompletionTokens'],
    ['google', 'maxOutputTokens'],
  ])('%s: the option %s cannot raise it', async (provider, option) => {
    await using served = await serve();
    const raised = { [option]: 5000 };
    const options = provider === 'google' ? { generationConfig: raised } : raised;
    const models = { m: { provider, model: 'm', base_url: served.url, options } };
    const settled = await call({ models, agent: { maxOutputTokens: 4000 } });
    expect(settled).toMatchObject({ ok: false, error: { class: 'fatal', type: 'OptionError' } });
    expect(settled).toHaveProperty('error.message', expect.stringContaining(`\`${option}\``));
    expect(served.asked).toEqual([]);
  });
});

test('a timeout of a model that no timer can hold is refused', () => {
  const models = (timeout: number): string => `models: { m: { provider: openai, model: g, timeout: ${timeout} } }\n`;
  const found = (timeout: number) =>
    compile(`${models(timeout)}agents: [{ id: a, model: m }]\nloop: { id: l, agent: a }`);
  expect(found(86_400).diagnostics.filter(({ severity }) => severity === 'error')).toEqual([]);
  expect(found(3_000_000).diagnostics).toContainEqual(expect.objectContaining({ code: 'bad-value', line: 1 }));
});

describe('in documents', () => {
  const settings = {
    reasoningEffort: 'low',
    topP: 0.5,
    seed: 7,
    stop: ['END'],
    parallelToolCalls: false,
  };
  const fields =
    'reasoning_effort: low, top_p: 0.5, seed: 7, stop: [END], parallel_tool_calls: false, tool_choice: required, max_output_tokens: 9';

  test.each([
    ['flow', 'flow: { id: f, entry: a, nodes: [{ id: a, type: agent, agent: bot }] }'],
    ['workflow', 'workflow: { name: w, steps: [{ name: s, agent: bot }] }'],
    ['loop', 'loop: { id: l, agent: bot }'],
  ])('%s', (_, notation) => {
    const { flow, diagnostics } = compile(`agents: [{ id: bot, ${fields} }]\n${notation}\n`);
    expect(diagnostics.filter(({ severity }) => severity === 'error')).toEqual([]);
    expect(flow?.agents['bot']).toMatchObject({
      maxOutputTokens: 9,
      settings: { ...settings, toolChoice: 'required' },
    });
  });

  test('team', () => {
    const model =
      '{ ModelId: gpt-5, ReasoningEffort: low, TopP: 0.5, Seed: 7, Stop: [END], ParallelToolCalls: false, MaxTokens: 9, Headers: { x-team: a }, Organization: o, TimeoutSeconds: 5, Retries: 1 }';
    const { flow, diagnostics } = compile(
      `Orchestration:\n  Agents: [{ Name: bot, FunctionChoice: required, Model: ${model} }]\n  Selection: { Type: sequential }\n  Termination: { MaxIterations: 1 }\n`,
    );
    expect(diagnostics.filter(({ severity }) => severity === 'error')).toEqual([]);
    expect(flow?.agents['bot']).toMatchObject({
      maxOutputTokens: 9,
      settings: { ...settings, toolChoice: 'required' },
    });
    expect(flow?.models['gpt-5']).toMatchObject({
      headers: { 'x-team': 'a' },
      organization: 'o',
      timeout: 5,
      retries: 1,
    });
  });

  test.each([
    ['flow', 'agents: [{ id: bot, model: m }]\nflow: { id: f, entry: a, nodes: [{ id: a, type: agent, agent: bot }] }'],
    [
      'flow on the default model',
      'agents: [{ id: bot }]\nflow: { id: f, entry: a, nodes: [{ id: a, type: agent, agent: bot }] }',
    ],
    ['workflow without agents', 'workflow: { name: w, steps: [{ name: s, agent_name: bot }] }'],
    ['loop', 'agents: [{ id: bot, model: m }]\nloop: { id: l, agent: bot }'],
    ['team', 'Orchestration: { Agents: [{ Name: bot, Model: m }], Selection: { Type: sequential } }'],
    [
      'team in place',
      'Orchestration: { Agents: [{ Name: bot, Model: { ModelId: m } }], Selection: { Type: sequential } }',
    ],
  ])('the temperature and the limit of a model hold for its agents: %s', (_, notation) => {
    const models =
      'models: { m: { provider: openai, model: gpt-4o, temperature: 0.3, limits: { max_output_tokens: 77 } } }';
    const { flow, diagnostics } = compile(`${models}\n${notation}\n`, { model: 'm' });
    expect(diagnostics.filter(({ severity }) => severity === 'error')).toEqual([]);
    expect(flow?.agents['bot']).toMatchObject({ temperature: 0.3, maxOutputTokens: 77 });
  });

  test('a model under Models brings its settings, and a model in place adds to it', () => {
    const strong = '{ ModelId: gpt-4o, Temperature: 0.3, MaxTokens: 77, TopP: 0.5, Headers: { x-team: a } }';
    const { flow } = compile(
      `Orchestration:\n  Models: { strong: ${strong} }\n  Agents: [{ Name: one, Model: strong }, { Name: two, Model: { ModelId: strong, Temperature: 0.9, Retries: 0 } }]\n  Selection: { Type: sequential }\n`,
    );
    const { one, two } = flow?.agents ?? {};
    expect(one).toMatchObject({ model: 'strong', temperature: 0.3, maxOutputTokens: 77, settings: { topP: 0.5 } });
    expect(two).toMatchObject({ temperature: 0.9, maxOutputTokens: 77, settings: { topP: 0.5 } });
    expect(flow?.models[two?.model ?? '']).toMatchObject({
      model: 'gpt-4o',
      headers: { 'x-team': 'a' },
      retries: 0,
    });
    expect(flow?.models['strong']).not.toHaveProperty('retries');
  });

  test('two agents that set up the same model differently keep their own settings', () => {
    const agent = (name: string, header: string): string =>
      `{ Name: ${name}, Model: { ModelId: gpt-4o, Headers: { x-team: ${header} } } }`;
    const { flow } = compile(
      `Orchestration:\n  Agents: [${agent('one', 'a')}, ${agent('two', 'b')}, ${agent('three', 'a')}]\n  Selection: { Type: sequential }\n`,
    );
    const headers = ['one', 'two', 'three'].map((name) => flow?.models[flow.agents[name]?.model ?? '']);
    expect(headers).toMatchObject([
      { headers: { 'x-team': 'a' } },
      { headers: { 'x-team': 'b' } },
      { headers: { 'x-team': 'a' } },
    ]);
    expect(flow?.agents['three']?.model).toBe(flow?.agents['one']?.model);
  });

  test('a misspelt setting is an error with the nearest name', () => {
    const { diagnostics } = compile('agents: [{ id: bot, reasoning_efort: low }]\nloop: { id: l, agent: bot }\n');
    expect(diagnostics).toMatchObject([{ code: 'unknown-key', help: 'Did you mean `reasoning_effort`?' }]);
  });
});
