/** Cost velocity: a run that spends too fast changes to a cheaper model, asks a person, or stops. §flow/cost-velocity */
import { describe, expect, test } from 'vitest';
import { compile } from '../../src/index.ts';
import type { Json } from '../../src/expr/json.ts';
import { AGENTS, flowOf, lab, says } from './run-flow.ts';
import type { Provider } from './run-flow.ts';

/** A flow that asks the model ten times; each call uses 200 tokens and takes a second. */
const NODES = [
  { id: 'a', type: 'agent', agent: 'bot', max_visits: 10, on_exhausted: 'done', routes: [{ to: 'a' }] },
  { id: 'done', type: 'terminal', output: 'done' },
];
const flowWith = (velocity: object | false) =>
  flowOf({
    ...AGENTS,
    agents: [{ id: 'bot', model: 'main', instructions: 'Answer.', max_output_tokens: 100 }],
    flow: { id: 'many', entry: 'a', nodes: NODES },
    protections: { velocity },
  });
const steady: Provider = async ({ clock }) => {
  await clock.sleep(1000);
  return says('more');
};

describe('trips', () => {
  test('off: the run spends as fast as it can', async () => {
    const one = lab(steady);
    expect(await one.run(flowWith(false))).toMatchObject({ state: 'completed', usage: { modelCalls: 10 } });
    await one.close();
  });

  test('stop: the call that would exceed the limit is not made', async () => {
    const one = lab(steady);
    const report = await one.run(flowWith({ tokens_per_minute: 1000, on_trip: 'stop' }));
    expect(report).toMatchObject({
      state: 'failed',
      code: 'BUDGET_EXHAUSTED',
      decisions: [{ failure: 'cost_overrun', action: 'abort', mast: 'FM-1.5' }],
    });
    expect(report.usage.tokens).toBeLessThanOrEqual(1000);
    const trip = (await one.events(report.run)).find(({ type }) => type === 'meter.tripped');
    expect(trip).toMatchObject({ velocity: { max: 1000, perMs: 60_000 } });
    expect(trip).toMatchObject({ velocity: { spent: expect.toSatisfy((spent: number) => spent > 700) } });
    await one.close();
  });

  test('cheaper: the other model takes over until the run is slow enough', async () => {
    const one = lab(steady);
    const report = await one.run(
      flowWith({ tokens_per_minute: 1000, on_trip: 'cheaper', fallback: { model: 'cheap' } }),
    );
    expect(report).toMatchObject({ state: 'completed', usage: { modelCalls: 10 } });
    expect(report.decisions[0]).toMatchObject({ failure: 'cost_overrun', action: 'fallback' });
    expect(one.sent.slice(0, 3).map(({ model }) => model)).toEqual([undefined, undefined, undefined]);
    expect(one.sent.at(-1)?.model).toBe('cheap');
    await one.events(report.run);
    await one.close();
  });

  test('escalate: a person lets the run go on, or stops it', async () => {
    const one = lab(steady);
    const flow = flowWith({ tokens_per_minute: 1000, on_trip: 'escalate' });
    const report = await one.run(flow);
    expect(report).toMatchObject({
      state: 'suspended',
      waiting: [{ choices: ['continue', 'stop'], message: 'a spends faster than 1000 tokens a minute' }],
      decisions: [{ failure: 'cost_overrun', action: 'escalate' }],
    });
    await one.answer(report.waiting[0]?.id ?? '', 'continue');
    const second = await one.settled(report.run);
    expect(second.usage.modelCalls).toBeGreaterThan(report.usage.modelCalls);
    const other = await one.run(flow);
    await one.answer(other.waiting[0]?.id ?? '', 'stop');
    expect(await one.settled(other.run)).toMatchObject({ state: 'failed', code: 'BUDGET_EXHAUSTED' });
    await one.close();
  });

  test('dollars an hour', async () => {
    const one = lab(steady);
    const report = await one.run(flowWith({ usd_per_hour: 0.009, on_trip: 'stop' }));
    expect(report).toMatchObject({ code: 'BUDGET_EXHAUSTED' });
    expect(report.usage.costUsd).toBeLessThanOrEqual(0.009);
    await one.close();
  });

  test('a run that is slow enough is not stopped, however much it spends in all', async () => {
    const one = lab(async ({ clock }) => {
      await clock.sleep(30_000);
      return says('more');
    });
    expect(await one.run(flowWith({ tokens_per_minute: 1000, on_trip: 'stop' }))).toMatchObject({
      state: 'completed',
      usage: { modelCalls: 10, tokens: 2000 },
    });
    await one.close();
  });
});

test('`cheaper` needs a model', () => {
  const { diagnostics } = compile({
    ...AGENTS,
    flow: { id: 'many', entry: 'a', nodes: NODES as unknown as Json },
    protections: { velocity: { on_trip: 'cheaper' } },
  });
  expect(diagnostics).toContainEqual(expect.objectContaining({ code: 'missing-field', severity: 'error' }));
});
