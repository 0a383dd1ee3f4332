/** Cost velocity: a run that spends too fast changes to a cheaper model, asks a person, or stops. §flow/cost-velocity */
import { describe, expect, test } from 'vitest';
import { compile } from '@sluice-internal/library';
import type { Json } from '@sluice-internal/kernel/expr';
import { AGENTS, DOWN, flowOf, lab, says } from './run-flow.ts';
import type { Provider } from './run-flow.ts';

/** A flow that asks the model ten times; each call uses 200 tokens and takes a second. */
const NODES = [
  { id: 'a', type: 'agent', agent: 'bot', max_visits: 10, on_exhausted: 'done', routes: [{ to: 'a' }] },
  { id: 'done', type: 'terminal', output: 'done' },
];
const flowWith = (velocity: object | false, more: object = {}) =>
  flowOf({
    ...AGENTS,
    agents: [{ id: 'bot', model: 'main', instructions: 'Answer.', max_output_tokens: 100 }],
    flow: { id: 'many', entry: 'a', nodes: NODES },
    protections: { velocity },
    ...more,
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
    expect(NODES.map(({ id }) => id)).toContain(report.error?.node);
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
    expect(report.path.filter((node) => node === 'a')).toHaveLength(10);
    expect(report.decisions[0]).toMatchObject({ failure: 'cost_overrun', action: 'fallback' });
    expect(one.sent.slice(0, 3).map(({ model }) => model)).toEqual([undefined, undefined, undefined]);
    expect(one.sent.at(-1)?.model).toBe('cheap');
    await one.events(report.run);
    await one.close();
  });

  test('escalate: a question without an answer expires as `approval_timeout` says', () => {
    const flow = flowWith({ tokens_per_minute: 1000, on_trip: 'escalate' }, { boundary: { approval_timeout: 90 } });
    const questions = Object.values(flow.nodes).filter((node) => node.op === 'do' && node.effect.kind === 'ask');
    expect(questions.map((node) => node.op === 'do' && node.timeoutMs)).toEqual([90_000]);
  });

  test('escalate: a person lets the run go on, or stops it', async () => {
    const one = lab(steady);
    const flow = flowWith({ tokens_per_minute: 1000, on_trip: 'escalate' });
    const report = await one.run(flow);
    expect(report).toMatchObject({
      state: 'suspended',
      waiting: [
        {
          choices: ['continue', 'stop'],
          message: 'a spends faster than 1000 tokens a minute',
          data: { escalation: { row: 'budget_reached' } },
        },
      ],
      decisions: [{ failure: 'cost_overrun', action: 'escalate' }],
    });
    await one.answer(report.waiting[0]?.id ?? '', 'continue');
    const second = await one.settled(report.run);
    expect(second.usage.modelCalls).toBeGreaterThan(report.usage.modelCalls);
    const other = await one.run(flow);
    await one.answer(other.waiting[0]?.id ?? '', 'stop');
    expect(await one.settled(other.run)).toMatchObject({
      state: 'failed',
      code: 'BUDGET_EXHAUSTED',
      error: { node: 'a' },
    });
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

  test.each([
    [59, 'failed'],
    [60, 'completed'],
  ])('after a wait of %d seconds, an amount of a minute ago no longer counts', async (seconds, state) => {
    const ask = (id: string, to: string): object => ({ id, type: 'agent', agent: 'bot', routes: [{ to }] });
    const nodes = [
      ask('a', 'pause'),
      { id: 'pause', type: 'wait', for: seconds, routes: [{ to: 'b' }] },
      ask('b', 'end'),
    ];
    const one = lab(() => says('more'));
    const limits = flowWith({ tokens_per_minute: 300, on_trip: 'stop' }, { flow: { id: 'two', entry: 'a', nodes } });
    expect(await one.run(limits)).toMatchObject({ state });
    await one.close();
  });
});

describe('by agent and by stage', () => {
  const fast: Provider = async ({ clock, command }) => {
    await clock.sleep(1000);
    return says(command.name === 'planner' ? '{"tasks": [{"id": "a", "brief": "A"}, {"id": "b", "brief": "B"}]}' : 'x');
  };
  const staged = (workers: object, velocity: object | false = {}) =>
    flowOf({
      ...AGENTS,
      agents: ['planner', 'worker', 'writer'].map((id) => ({ id, model: 'main', max_output_tokens: 100 })),
      protections: { velocity },
      staged: {
        plan: { agent: 'planner' },
        workers: { agent: 'worker', max: 1, ...workers },
        finalize: { agent: 'writer' },
      },
    });

  test('without limits of their own, an agent and a stage spend as the run does', async () => {
    const one = lab(fast);
    expect(await one.run(staged({}))).toMatchObject({ state: 'completed', usage: { modelCalls: 4 } });
    await one.close();
  });

  test('calls that run at the same time do not count before they have spent anything', async () => {
    const one = lab(fast);
    // Each worker reserves over 600 tokens and uses 200.
    const together = flowOf({
      ...AGENTS,
      agents: ['planner', 'worker'].map((id) => ({ id, model: 'main', max_output_tokens: 600 })),
      protections: { velocity: { tokens_per_minute: 1000, on_trip: 'stop' } },
      staged: { plan: { agent: 'planner' }, workers: { agent: 'worker', max: 2 } },
    });
    expect(await one.run(together)).toMatchObject({ state: 'completed', usage: { modelCalls: 3, tokens: 600 } });
    await one.close();
  });

  test('an agent that spends too fast is stopped, although the run does not', async () => {
    const one = lab(fast);
    const report = await one.run(
      staged({}, { tokens_per_minute: 100_000, agents: { worker: { tokens_per_minute: 320 } }, on_trip: 'escalate' }),
    );
    expect(report).toMatchObject({ state: 'suspended', waiting: [{ choices: ['continue', 'stop'] }] });
    expect(report.waiting[0]?.message).toContain('320 tokens a minute for worker');
    const trip = (await one.events(report.run)).find(({ type }) => type === 'meter.tripped');
    expect(trip).toMatchObject({ meter: 'velocity.tokens@agent:worker', velocity: { max: 320, perMs: 60_000 } });
    await one.answer(report.waiting[0]?.id ?? '', 'continue');
    expect(await one.settled(report.run)).toMatchObject({ state: 'completed' });
    await one.close();
  });

  test('a stage has limits and an action of its own', async () => {
    const one = lab(fast);
    const own = (velocity: object | false) => ({ protections: { velocity } });
    const report = await one.run(
      staged(own({ tokens_per_minute: 320, on_trip: 'cheaper', fallback: { model: 'cheap' } })),
    );
    expect(report).toMatchObject({ state: 'completed', decisions: [{ failure: 'cost_overrun', action: 'fallback' }] });
    expect(one.sent.map(({ model }) => model)).toEqual([undefined, undefined, 'cheap', undefined]);
    const trip = (await one.events(report.run)).find(({ type }) => type === 'meter.tripped');
    expect(trip).toMatchObject({ meter: 'velocity.tokens@stage:workers' });
    const stopped = await one.run(staged(own({ tokens_per_minute: 320, on_trip: 'stop' })));
    expect(stopped).toMatchObject({ state: 'failed', code: 'BUDGET_EXHAUSTED', usage: { modelCalls: 2 } });
    const off = staged(own(false), { tokens_per_minute: 500, on_trip: 'stop' });
    expect(await one.run(off)).toMatchObject({ state: 'completed' });
    await one.close();
  });

  test('the breaker and the retry budget of a stage replace those of the document', async () => {
    const one = lab((call, at) =>
      call.command.name === 'worker' && call.command.target !== 'cheap' ? DOWN : fast(call, at),
    );
    const flow = staged({ protections: { breaker: { provider_errors: 1, fallback: { model: 'cheap' } } } });
    const report = await one.run(flow);
    expect(report).toMatchObject({ state: 'completed' });
    expect(one.sent.filter(({ model }) => model === 'cheap').length).toBeGreaterThan(0);
    await one.events(report.run);
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
