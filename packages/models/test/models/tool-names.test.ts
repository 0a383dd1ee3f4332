/** Messages of the engine name tools as the provider knows them. Data that mentions a name stays as it is. */
import { expect, test } from 'vitest';
import { offerTools } from '../../src/tool-names.ts';
import { compile, createEngine, openMemory } from '@sluice-internal/library';
import { completion } from './bodies.ts';
import { flowOf } from './call.ts';
import { json, serve } from './serve.ts';
import type { Asked } from './serve.ts';

const flow = flowOf({ models: {}, tools: { 'http.get': { description: '', input: true }, look: { description: '' } } });
const agent = flow.agents['writer'] as NonNullable<(typeof flow.agents)[string]>;

test.each([
  ['tool', '[DENIED] http.get is not permitted: http.get', '[DENIED] http_get is not permitted: http_get'],
  [
    'tool',
    '[NOT FOUND] there is no tool x; you have: http.get, look',
    '[NOT FOUND] there is no tool x; you have: http_get, look',
  ],
  ['tool', 'const r = http.get(url)', 'const r = http.get(url)'],
  ['tool', '[ERROR] see my.http.get and http.get.example.com', '[ERROR] see my.http.get and http.get.example.com'],
  [
    'user',
    'step `s1` is not done: `http.get` has not succeeded',
    'step `s1` is not done: `http_get` has not succeeded',
  ],
  ['user', '{"id":"s1","tool":"http.get"}', '{"id":"s1","tool":"http_get"}'],
  ['user', '[obs.1] http.get {"url":"x"} succeeded', '[obs.1] http_get {"url":"x"} succeeded'],
  ['user', 'My code calls http.get("x")', 'My code calls http.get("x")'],
  ['system', 'Use `http.get`.', 'Use `http.get`.'],
] as const)('%s: %s', (role, content, expected) => {
  expect(offerTools(flow, agent).renamed(role, content)).toBe(expected);
});

/** Every way in which the engine refuses a call, and what the model reads about it. */
test('refusals, failures and unknown tools name no tool with a dot', async () => {
  const calls = [
    ['stock_look', '{"id": 7}'],
    ['stock_sell', '{"id": "a"}'],
    ['stock_sold', '{}'],
    ['stock_fails', '{}'],
    ['stock_ask', '{}'],
    ['stock_secret', '{}'],
  ] as const;
  let round = 0;
  await using served = await serve((response, asked) => {
    const [name, args] = calls[round++] ?? ['', ''];
    const call = { id: `c${round}`, type: 'function', function: { name, arguments: args } };
    const message = name === '' ? { content: 'Done.' } : { content: '', tool_calls: [call] };
    return json(200, completion(message))(response, asked);
  });
  const names = ['stock.look', 'stock.sell', 'stock.fails', 'stock.ask', 'stock.secret'];
  const { flow: compiled, diagnostics } = compile({
    models: { m: { provider: 'local', model: 'm', base_url: served.url } },
    agents: [{ id: 'bot', model: 'm', tools: names }],
    tools: {
      'stock.look': { effect: 'read', input: { type: 'object', properties: { id: { type: 'string' } } } },
      'stock.sell': {
        effect: 'write',
        input: { type: 'object', properties: { id: { type: 'number' } }, required: ['id'] },
      },
      'stock.fails': { effect: 'read' },
      'stock.ask': { effect: 'read' },
      'stock.secret': { effect: 'read' },
    },
    boundary: { untrusted: 'off', tools: { allow: names.slice(0, 4) } },
    flow: { id: 'f', entry: 'a', nodes: [{ id: 'a', type: 'agent', agent: 'bot' }] },
  });
  expect(diagnostics.filter(({ severity }) => severity === 'error')).toEqual([]);
  if (compiled === undefined) return;
  const engine = createEngine({
    journal: openMemory(),
    tools: {
      'stock.fails': () => {
        throw new Error('the tool stock.fails broke');
      },
      'stock.look': () => 1,
      'stock.sell': () => 1,
      'stock.ask': () => 'ok',
      'stock.secret': () => 1,
    },
  });
  const report = await engine.settled(await engine.start(compiled, { input: {} }));
  await engine.close();
  expect(report.code).toBe('SUCCESS');
  const last = (served.asked.at(-1) as Asked).body['messages'] as { role: string; content: string }[];
  const results = last.filter(({ role }) => role === 'tool').map(({ content }) => content);
  expect(results).toHaveLength(calls.length);
  expect(results.filter((content) => content.startsWith('['))).toHaveLength(4);
  for (const content of results) expect(content).not.toMatch(/stock\.\w/);
  expect(results.join('\n')).toContain('stock_sell');
});
