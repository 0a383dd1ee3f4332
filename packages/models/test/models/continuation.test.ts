/** A reply that reaches a limit of the engine's own choice, or that its provider pauses, is continued if the budget has room. */
import { describe, expect, test } from 'vitest';
import { compile, createEngine, openMemory } from '@sluice-internal/library';
import type { Event, RunEvent } from '@sluice-internal/library';
import type { CompiledFlow } from '@sluice-internal/kernel/ir';
import { completion } from './bodies.ts';
import { json, serve, sse } from './serve.ts';
import { streamOf } from './streams.ts';

const usage = { prompt_tokens: 100, completion_tokens: 1000 };
const reply = (content: string, finish: string) => json(200, completion({ content }, finish, { usage }));

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

type Message = { role: string; content: { text: string }[] };
const message = (text: string, stop_reason: string) => ({
  id: 'msg_1',
  type: 'message',
  role: 'assistant',
  model: 'm',
  content: [{ type: 'text', text }],
  stop_reason,
  usage: { input_tokens: 10, output_tokens: 7 },
});

async function converse(stops: readonly [string, string][], stream: boolean, budgets = '{ steps: 9 }') {
  await using served = await serve();
  served.answer = (response, asked) => {
    const [text, stop] = stops[served.asked.length - 1] ?? ['', 'end_turn'];
    const body = message(text, stop);
    return (stream ? sse(streamOf('anthropic', body)) : json(200, body))(response, asked);
  };
  const { flow } = compile(
    `models: { m: { provider: anthropic, model: m, base_url: "${served.url}", price: { input: 1, output: 1 } } }
agents: [{ id: bot, model: m }]
budgets: ${budgets}
flow: { id: f, entry: a, nodes: [{ id: a, type: agent, agent: bot }] }
`,
  );
  const engine = createEngine({
    journal: openMemory(),
    models: { stream, env: { ANTHROPIC_API_KEY: 'k-0000000001' } },
  });
  try {
    const run = await engine.start(flow as CompiledFlow, { input: 'Hello?' });
    const report = await engine.settled(run);
    const events: RunEvent[] = [];
    for await (const event of (await engine.open(run)).events()) events.push(event);
    const journal: Event[] = [];
    for await (const event of engine.events(run, { live: false })) journal.push(event);
    const sent = served.asked.map(({ body }) => body['messages'] as unknown as Message[]);
    return { report, events, sent, journal };
  } finally {
    await engine.close();
  }
}

describe.each([false, true])('streamed: %s', (stream) => {
  test('a paused turn goes on, and each continuation is an event', async () => {
    const stops: [string, string][] = [
      ['Wait. ', 'pause_turn'],
      ['Still. ', 'pause_turn'],
      ['Done.', 'end_turn'],
    ];
    const { report, events, sent, journal } = await converse(stops, stream);
    expect(report).toMatchObject({
      code: 'SUCCESS',
      output: 'Wait. Still. Done.',
      usage: { modelCalls: 1, retries: 2, inputTokens: 30, outputTokens: 21, costUsd: 0.000051 },
    });
    expect(sent.map((messages) => messages.map(({ role }) => role))).toEqual([
      ['user'],
      ['user', 'assistant'],
      ['user', 'assistant'],
    ]);
    expect(events.filter(({ type }) => type === 'model.continued')).toMatchObject([
      { node: 'a', agent: 'bot', reason: 'anthropic/m: the reply is not finished (pause_turn)' },
      { node: 'a', agent: 'bot' },
    ]);
    expect(events.filter(({ type }) => type === 'node.retried')).toEqual([]);
    expect(journal.filter((event) => event.type === 'effect.judged' && event.verdict === 'retry')).toMatchObject([
      { continues: true },
      { continues: true },
    ]);
    expect(report.decisions).toEqual([]);
  });

  test('a turn that is always paused is not a finished reply', async () => {
    const stops = Array.from({ length: 9 }, (): [string, string] => ['Wait. ', 'pause_turn']);
    const { report, sent } = await converse(stops, stream);
    expect(report).toMatchObject({ error: { type: 'UnfinishedReplyError' }, usage: { outputTokens: 42, retries: 5 } });
    expect(sent).toHaveLength(6);
  });

  test('a budget for retries bounds the continuations', async () => {
    const stops = Array.from({ length: 9 }, (): [string, string] => ['Wait. ', 'pause_turn']);
    const { report, sent } = await converse(stops, stream, '{ retries: 2 }');
    expect(report).toMatchObject({ state: 'failed', usage: { retries: 2 } });
    expect(sent).toHaveLength(3);
  });

  test('a truncated reply without a limit is continued once, and the model is asked to', async () => {
    const stops: [string, string][] = [
      ['One, two, ', 'max_tokens'],
      ['three.', 'end_turn'],
    ];
    const { report, events, sent } = await converse(stops, stream);
    expect(report).toMatchObject({ output: 'One, two, three.', usage: { modelCalls: 1, retries: 1, inputTokens: 20 } });
    expect(sent[1]?.map(({ role, content }) => [role, content[0]?.text])).toEqual([
      ['user', 'Hello?'],
      ['assistant', 'One, two, '],
      ['user', 'Your reply was cut off. Continue exactly where it stopped, and repeat nothing.'],
    ]);
    expect(events.filter(({ type }) => type === 'model.continued')).toHaveLength(1);
  });
});
