/** A run whose provider is down: it goes on with the model that stands in, and the journal says so and replays. */
import { expect, test } from 'vitest';
import { compile, createEngine, openMemory, replay } from '@sluice-internal/library';
import type { ChainedEvent, CompiledFlow, Engine } from '@sluice-internal/library';
import { KEYS } from './call.ts';
import { PROTOCOLS } from './protocols.ts';
import type { ProtocolMock } from './protocols.ts';
import { serve, text } from './serve.ts';

const [openai, anthropic] = PROTOCOLS as [ProtocolMock, ProtocolMock];

function flowOn(first: string, second: string, more = ''): CompiledFlow {
  const { flow, diagnostics } = compile(`
models:
  own: { provider: openai, model: m, base_url: "${first}", price: { input: 1, output: 1 }, fallback: [spare] }
  spare: { provider: anthropic, model: m, base_url: "${second}", price: { input: 2, output: 20 } }
agents: [ { id: writer, model: own, max_output_tokens: 50 } ]
${more}
flow:
  id: hello
  entry: ask
  nodes: [ { id: ask, type: agent, agent: writer, input: { message: "{{event.payload.message}}" } } ]
`);
  if (flow === undefined) throw new Error(JSON.stringify(diagnostics));
  return flow;
}

async function eventsOf(engine: Engine, run: string): Promise<ChainedEvent[]> {
  const events: ChainedEvent[] = [];
  for await (const event of engine.events(run, { live: false })) events.push(event);
  return events;
}

test('a model that stands in is asked once, paid at its price, and recorded §escalation/provider-outage §handoffs/fallback-modes', async () => {
  await using first = await serve(text(503, openai.error('server_error', 'Down.')));
  await using second = await serve(text(200, anthropic.body({ text: 'Here I am.' })));
  const store = openMemory();
  const engine = createEngine({ journal: store, models: { env: KEYS } });
  const run = await engine.start(flowOn(first.url, second.url), { input: { message: 'Hi' } });
  const report = await engine.settled(run);
  expect(report).toMatchObject({
    code: 'SUCCESS',
    output: 'Here I am.',
    // The first model is asked three times: two transport retries, which do not count as model calls.
    usage: { modelCalls: 2, retries: 3, inputTokens: 12, outputTokens: 5 },
  });
  expect(report.usage.costUsd).toBeCloseTo((12 * 2 + 5 * 20) / 1e6, 9);
  expect([first.asked.length, second.asked.length]).toEqual([3, 1]);
  const events = await eventsOf(engine, run);
  expect(events).toContainEqual(
    expect.objectContaining({
      type: 'effect.judged',
      verdict: 'retry',
      target: 'spare',
      error: expect.objectContaining({ class: 'transient' }) as unknown,
    }),
  );
  expect(events).toContainEqual(
    expect.objectContaining({
      type: 'effect.settled',
      attempt: 4,
      result: expect.objectContaining({
        value: expect.objectContaining({ served: 'anthropic/m' }) as unknown,
      }) as unknown,
    }),
  );
  const replayed = await replay(store.journal, run);
  expect(replayed).toMatchObject({ agrees: true });
  await engine.close();
});

test('a rejected key does not lead to the fallback model', async () => {
  await using first = await serve(text(401, openai.error('invalid_api_key', 'No.')));
  await using second = await serve();
  const engine = createEngine({ journal: openMemory(), models: { env: KEYS } });
  const report = await engine.settled(await engine.start(flowOn(first.url, second.url), { input: { message: 'Hi' } }));
  expect(report).toMatchObject({
    state: 'failed',
    code: 'UNAVAILABLE_DEP',
    error: { type: 'AuthenticationError', message: expect.stringContaining('OPENAI_API_KEY') as string },
  });
  expect(second.asked).toHaveLength(0);
  await engine.close();
});

test('a model that stands in and does not fit the budget is not asked', async () => {
  await using first = await serve(text(503, openai.error('server_error', 'Down.')));
  await using second = await serve();
  const engine = createEngine({ journal: openMemory(), models: { env: KEYS } });
  const report = await engine.settled(
    await engine.start(flowOn(first.url, second.url, 'budgets: { cost_usd: 0.0005 }'), { input: { message: 'Hi' } }),
  );
  expect(report).toMatchObject({ state: 'failed' });
  expect([first.asked.length, second.asked.length]).toEqual([3, 0]);
  await engine.close();
});
