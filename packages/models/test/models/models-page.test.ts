/** docs/guide/models.md: every model of its snippets, and every provider of its table, is called on a local stand-in. */
import { mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, describe, expect, test } from 'vitest';
import { parse } from 'yaml';
import { compile } from '@sluice-internal/library';
import { PROVIDERS, packageOf } from '@sluice-internal/kernel/catalog';
import type { Json } from '@sluice-internal/kernel/expr';
import { completion } from './bodies.ts';
import { call } from './call.ts';
import { PROTOCOLS } from './protocols.ts';
import { json, serve, text } from './serve.ts';
import type { Answer } from './serve.ts';

const page = readFileSync(new URL('../../../../docs/guide/models.md', import.meta.url), 'utf8');
const snippets = [...page.matchAll(/```yaml\n([\s\S]*?)```/g)].map(([, snippet = '']) => snippet);
type Entry = { readonly provider: string; readonly [field: string]: Json };
const models = snippets.flatMap((snippet) =>
  Object.entries((parse(snippet) as { models?: { [alias: string]: Entry } }).models ?? {}),
);

/** Answers in the protocol of the path. */
const standIn: Answer = (response, asked) => {
  const [openai, anthropic, google] = PROTOCOLS.map((protocol) => text(200, protocol.body({ text: 'hello' })));
  if (asked.path.endsWith('/responses')) return openai?.(response, asked);
  if (asked.path.endsWith('/messages')) return anthropic?.(response, asked);
  if (asked.path.includes('generateContent')) return google?.(response, asked);
  return json(200, completion({ content: 'hello' }))(response, asked);
};

/** A folder with packages of these names that speak Chat Completions. */
const folder = mkdtempSync(join(tmpdir(), 'sluice-page-'));
afterAll(() => rmSync(folder, { recursive: true }));
for (const { name } of models.flatMap(([, { provider }]) => packageOf(provider) ?? [])) {
  const at = join(folder, 'node_modules', name);
  mkdirSync(at, { recursive: true });
  writeFileSync(join(at, 'package.json'), JSON.stringify({ name, type: 'module', exports: './main.js' }));
  writeFileSync(
    join(at, 'main.js'),
    `export function createProvider({ baseURL, fetch }) {
  return (modelId) => ({
    specificationVersion: 'v4', provider: 'stand-in', modelId, supportedUrls: {},
    async doGenerate() {
      const response = await fetch(baseURL + '/chat', { method: 'POST', body: JSON.stringify({ model: modelId }) });
      const { choices: [{ message }] } = await response.json();
      return { content: [{ type: 'text', text: message.content }], finishReason: { unified: 'stop', raw: 'stop' },
        usage: { inputTokens: { total: 3 }, outputTokens: { total: 2 } }, warnings: [] };
    },
    async doStream() { throw new Error('not streamed'); },
  });
}
`,
  );
}

async function ask(entry: { readonly [field: string]: Json }, provider: string) {
  await using served = await serve(standIn);
  const named = typeof entry['api_key_env'] === 'string' ? [entry['api_key_env']] : [];
  const keys = [...(PROVIDERS[provider]?.keys ?? []), ...named];
  const env = Object.fromEntries(keys.map((key) => [key, 'a-key-of-the-test-0001']));
  const m = { ...entry, provider, base_url: packageOf(provider) === null ? served.url : `${served.url}/v1` };
  const settled = await call({ models: { m } }, { env, documentDir: folder });
  return { settled, asked: served.asked };
}

describe('the page', () => {
  test('has documents that compile', () => {
    expect(snippets.length).toBeGreaterThan(3);
    for (const snippet of snippets) {
      const document = parse(snippet) as { [section: string]: unknown };
      const agents = document['agents'] ?? [{ id: 'a' }];
      const [{ id }] = agents as [{ id: string }];
      const whole = {
        models: { fast: { provider: 'openai', model: 'gpt-5-mini' } },
        ...document,
        agents,
        flow: { id: 'f', entry: 'n', nodes: [{ id: 'n', type: 'agent', agent: id }] },
      };
      const errors = compile(whole).diagnostics.filter(({ severity }) => severity === 'error');
      expect([snippet, errors]).toEqual([snippet, []]);
    }
  });

  test.each(models)('the model `%s` of a snippet answers', async (_, entry) => {
    const { settled, asked } = await ask(entry, entry.provider);
    expect(settled).toMatchObject({ ok: true, value: { text: 'hello' } });
    expect(asked).toHaveLength(1);
  });

  /** The names in the first column of the table of providers. */
  const table = [...page.matchAll(/^\| (`[^|]*`[^|]*) \| (?:Responses|Chat Completions|Messages|Gemini|A2A) \|/gm)]
    .flatMap(([, names = '']) => [...names.matchAll(/`([^`]+)`/g)].map(([, name = '']) => name))
    .filter((name) => name !== 'base_url');

  test('lists every provider', () => {
    expect(table.toSorted()).toEqual(Object.keys(PROVIDERS).toSorted());
  });

  // a2a.test.ts shows a remote agent.
  test.each(table.filter((name) => name !== 'a2a'))('the provider `%s` answers', async (provider) => {
    const { settled } = await ask({ model: 'm' }, provider);
    expect(settled).toMatchObject({ ok: true, value: { text: 'hello', served: `${provider}/m` } });
  });
});
