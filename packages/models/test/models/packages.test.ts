/** Model objects of a program, and provider packages that a document names. */
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createOpenAI } from '@ai-sdk/openai';
import { afterAll, describe, expect, test } from 'vitest';
import { compile, createEngine, openMemory } from '@sluice-internal/library';
import type { CompiledFlow } from '@sluice-internal/kernel/ir';
import type { ModelObject } from '@sluice-internal/models';
import { readModelRef } from '@sluice-internal/kernel/catalog';
import { callsOf } from '../../../library/src/host/world.ts';
import { worldBeside } from '../../../library/src/host/world-beside.ts';
import { completion } from './bodies.ts';
import { call } from './call.ts';
import { json, serve } from './serve.ts';

const usage = { prompt_tokens: 3, completion_tokens: 2 };
const reply = json(200, completion({ content: 'hello' }, 'stop', { usage }));
const DOCUMENT =
  'agents: [{ id: bot, model: fast }]\nflow: { id: f, entry: a, nodes: [{ id: a, type: agent, agent: bot }] }\n';

async function run(models: { readonly [alias: string]: ModelObject }) {
  const { flow } = compile(DOCUMENT);
  const engine = createEngine({ journal: openMemory(), models });
  try {
    return await engine.settled(await engine.start(flow as CompiledFlow, { input: 'Hi' }));
  } finally {
    await engine.close();
  }
}

describe('model objects', () => {
  test('createEngine takes a model of an AI SDK package', async () => {
    await using served = await serve(reply);
    const openai = createOpenAI({ apiKey: 'k', baseURL: `${served.url}/v1` });
    expect(await run({ fast: openai.chat('gpt-5-mini') })).toMatchObject({
      code: 'SUCCESS',
      output: 'hello',
      usage: { inputTokens: 3, outputTokens: 2 },
    });
    expect(served.asked[0]?.body).toMatchObject({ model: 'gpt-5-mini' });
  });

  test.each(['v2', 'v3'])('specification %s', async (version) => {
    const isOld = version === 'v2';
    const result = {
      content: [{ type: 'text', text: 'hello' }],
      finishReason: isOld ? 'stop' : { unified: 'stop', raw: 'stop' },
      usage: isOld
        ? { inputTokens: 3, outputTokens: 2, totalTokens: 5, cachedInputTokens: 1 }
        : { inputTokens: { total: 3, cacheRead: 1 }, outputTokens: { total: 2 } },
      warnings: [],
    };
    const object = {
      specificationVersion: version,
      provider: 'own.chat',
      modelId: 'x',
      supportedUrls: {},
      doGenerate: async () => result,
      doStream: async () => ({
        stream: ReadableStream.from([
          { type: 'stream-start', warnings: [] },
          { type: 'text-start', id: '1' },
          { type: 'text-delta', id: '1', delta: 'hello' },
          { type: 'text-end', id: '1' },
          { type: 'finish', finishReason: result.finishReason, usage: result.usage },
        ]),
      }),
    } as unknown as ModelObject;
    const expected = {
      code: 'SUCCESS',
      output: 'hello',
      usage: { inputTokens: 3, outputTokens: 2, cachedInputTokens: 1 },
    };
    expect(await run({ fast: object })).toMatchObject(expected);
    const { flow } = compile(DOCUMENT);
    const engine = createEngine({ journal: openMemory(), models: { stream: true, objects: { fast: object } } });
    expect(await engine.settled(await engine.start(flow as CompiledFlow, { input: 'Hi' }))).toMatchObject(expected);
    await engine.close();
  });

  test('a model that ends with an error of its own is a failure of the call', async () => {
    const broken = {
      specificationVersion: 'v4',
      provider: 'own',
      modelId: 'x',
      supportedUrls: {},
      doGenerate: async () => {
        throw new Error('out of order');
      },
      doStream: async () => {
        throw new Error('out of order');
      },
    } as unknown as ModelObject;
    expect(await run({ fast: broken })).toMatchObject({ state: 'failed', error: { class: 'transient' } });
  });
});

describe('provider packages', () => {
  const folder = mkdtempSync(join(tmpdir(), 'sluice-packages-'));
  afterAll(() => rmSync(folder, { recursive: true }));
  const install = (name: string, source: string): void => {
    const at = join(folder, 'node_modules', name);
    mkdirSync(at, { recursive: true });
    writeFileSync(
      join(at, 'package.json'),
      JSON.stringify({ name, type: 'module', exports: { '.': { types: './x.d.ts', import: './main.js' } } }),
    );
    writeFileSync(join(at, 'main.js'), source);
  };
  /** Speaks Chat Completions, as most packages do. It reads the one option `known`. */
  const factory = (name: string): string => `export function ${name}({ baseURL, headers, apiKey, region, fetch }) {
    return { languageModel: (modelId) => ({
      specificationVersion: 'v4', provider: 'toy.chat', modelId, supportedUrls: {},
      async doGenerate(options) {
        const known = options.providerOptions?.toy?.known;
        const body = JSON.stringify({ model: modelId, known, region });
        const response = await fetch(baseURL + '/chat', { method: 'POST', body, headers: { ...headers, authorization: 'Bearer ' + apiKey } });
        const { choices } = await response.json();
        return { content: [{ type: 'text', text: choices[0].message.content }], finishReason: { unified: 'stop', raw: 'stop' },
          usage: { inputTokens: { total: 3 }, outputTokens: { total: 2 } }, warnings: [] };
      },
      async doStream() { throw new Error('not in this toy'); },
    }) };
  }\n`;
  install('@toys/toy', `export const VERSION = 1;\n${factory('createToy')}`);
  install('many', `${factory('createOne')}${factory('createTwo')}`);

  const ask = async (provider: string, more: object = {}) => {
    await using served = await serve(reply);
    const entry = { provider, model: 'x', base_url: `${served.url}/v1`, api_key_env: 'OPENAI_API_KEY', ...more };
    const settled = await call({ models: { m: JSON.parse(JSON.stringify(entry)) } }, { documentDir: folder });
    return { settled, asked: served.asked };
  };

  test('a package is loaded from the folder of the document', async () => {
    const { settled, asked } = await ask('@toys/toy', {
      headers: { 'x-a': 'b' },
      settings: { region: 'eu' },
      options: { known: 1 },
    });
    expect(settled).toMatchObject({ ok: true, value: { text: 'hello', served: '@toys/toy/x' } });
    expect(asked[0]).toMatchObject({
      path: '/v1/chat',
      headers: { 'x-a': 'b', authorization: 'Bearer sk-openai-secret-000001' },
      body: { model: 'x', known: 1, region: 'eu' },
    });
  });

  test('an option that the package does not read is an error', async () => {
    const { settled } = await ask('@toys/toy', { options: { known: 1, unknwon: 2 } });
    expect(settled).toMatchObject({ ok: false, error: { type: 'OptionError' } });
    expect(JSON.stringify(settled)).toContain('`unknwon`');
  });

  test('a package with several factories needs the name of one', async () => {
    expect((await ask('npm:many#createTwo')).settled).toMatchObject({ ok: true });
    const { settled } = await ask('npm:many');
    expect(JSON.stringify(settled)).toContain('it has createOne, createTwo');
  });

  test('a missing package is an error with the command that installs it, before the run starts', async () => {
    const { settled } = await ask('@ai-sdk/azure');
    expect(settled).toMatchObject({ ok: false, error: { class: 'fatal', type: 'NotConfiguredError' } });
    expect(JSON.stringify(settled)).toContain('`@ai-sdk/azure` is not installed');
    const { flow } = compile(
      'models: { m: { provider: "@ai-sdk/azure", model: gpt-5 } }\n' + DOCUMENT.replace('fast', 'm'),
    );
    const { world } = worldBeside(undefined, { toolOptions: { documentDir: folder } });
    expect(() => world.require(flow as CompiledFlow, callsOf(flow as CompiledFlow))).toThrow('is not installed');
  });

  test('a reference names the package and the model', () => {
    expect(readModelRef('@ai-sdk/azure/gpt-5')).toEqual({ provider: '@ai-sdk/azure', model: 'gpt-5' });
    expect(readModelRef('openrouter/meta/llama')).toEqual({ provider: 'openrouter', model: 'meta/llama' });
  });
});
