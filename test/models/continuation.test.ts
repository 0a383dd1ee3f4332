/** A reply that reaches a limit of the engine's own choice is continued, if the budget has room. */
import { expect, test } from 'vitest';
import { compile, createEngine, openMemory } from '../../src/index.ts';
import type { CompiledFlow } from '../../src/ir/nodes.ts';
import { json, serve } from './serve.ts';

const reply = (content: string, finish_reason: string) =>
  json(200, {
    id: 'c1',
    object: 'chat.completion',
    created: 1,
    model: 'm',
    choices: [{ index: 0, message: { role: 'assistant', content }, finish_reason }],
    usage: { prompt_tokens: 100, completion_tokens: 1000 },
  });

async function run(budgets: string, agent: string, replies: readonly [string, string][]) {
  await using served = await serve();
  served.answer = (response, asked) => {
    const [text, finish] = replies[served.asked.length - 1] ?? ['', 'stop'];
    return reply(text, finish)(response, asked);
  };
  const { flow, diagnostics } = compile(
    `models: { m: { provider: openai-compatible, model: m, base_url: "${served.url}", price: { input: 1, output: 1 } } }
agents: [{ id: bot, model: m${agent} }]
budgets: ${budgets}
flow: { id: f, entry: a, nodes: [{ id: a, type: agent, agent: bot }] }
`,
  );
  expect(diagnostics.filter(({ severity }) => severity === 'error')).toEqual([]);
  const engine = createEngine({ journal: openMemory() });
  try {
    const report = await engine.settled(await engine.start(flow as CompiledFlow, { input: 'Tell me.' }));
    return { report, asked: served.asked };
  } finally {
    await engine.close();
  }
}

test('the second request continues the reply, and both are charged', async () => {
  const { report, asked } = await run('{ cost_usd: 0.02 }', '', [
    ['Once upon', 'length'],
    [' a time', 'stop'],
  ]);
  expect(report).toMatchObject({
    code: 'SUCCESS',
    output: 'Once upon a time',
    usage: { modelCalls: 1, retries: 1, inputTokens: 200, outputTokens: 2000 },
  });
  const [first, second] = asked.map(({ body }) => body['messages'] as { role: string; content: unknown }[]);
  expect(second?.slice(0, first?.length)).toEqual(first);
  expect(second?.slice(first?.length).map(({ role }) => role)).toEqual(['assistant', 'user']);
});

test('without room in the budget the reply fails', async () => {
  const { report, asked } = await run('{ cost_usd: 0.005 }', '', [
    ['Once upon', 'length'],
    [' a time', 'stop'],
  ]);
  expect(report).toMatchObject({ code: 'VALIDATION_FAIL', error: { type: 'TruncatedReplyError' } });
  expect(asked).toHaveLength(1);
});

test('a limit of the author holds', async () => {
  const { report, asked } = await run('{ cost_usd: 1 }', ', max_output_tokens: 50', [['Once upon', 'length']]);
  expect(report).toMatchObject({ code: 'VALIDATION_FAIL', error: { type: 'TruncatedReplyError' } });
  expect(asked).toHaveLength(1);
});

test('a reply is continued once', async () => {
  const { report, asked } = await run('{ cost_usd: 1 }', '', [
    ['Once upon', 'length'],
    [' a time', 'length'],
    [' there was', 'stop'],
  ]);
  expect(report).toMatchObject({ code: 'VALIDATION_FAIL', usage: { modelCalls: 1, retries: 1 } });
  expect(asked).toHaveLength(2);
});
