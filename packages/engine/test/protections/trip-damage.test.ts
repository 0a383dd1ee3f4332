/** Trip conditions that other files do not show both ways: first the damage with the protection off, then the trip. */
import { describe, expect, test } from 'vitest';
import type { Json } from '@sluice-internal/kernel/expr';
import { AGENTS, FLOW, flowOf, lab, says } from './run-flow.ts';
import type { Provider } from './run-flow.ts';

const TOOLS = { find: { description: 'Finds.', input: { type: 'object' }, effect: 'read' } };
const SEARCHER = [{ id: 'bot', model: 'main', instructions: 'Find.', tools: ['find'] }];
const asks = (args: Json) => says('', [{ id: 'c', name: 'find', args }]);

async function both(provider: () => Provider, document: object, off: object, on: object) {
  const one = async (protections: object) => {
    const { run, close } = lab(provider());
    const report = await run(flowOf({ ...AGENTS, flow: FLOW, ...document, protections }));
    await close();
    return report;
  };
  return { damaged: await one(off), protectedRun: await one(on) };
}

describe('loop detector', () => {
  /** The arguments of the calls in turn; the last is repeated for ever. */
  const calling = (next: (index: number) => Json, result: () => ReturnType<Provider>): (() => Provider) => {
    return () => {
      let calls = 0;
      return ({ command }) => (command.kind === 'tool' ? result() : asks(next(calls++)));
    };
  };
  const document = { tools: TOOLS, agents: SEARCHER, budgets: { tool_calls: 30 } };
  const nothing = () => ({ ok: true, value: 'nothing' }) as const;
  const down = () => ({ ok: false, error: { class: 'fatal', type: 'Error', message: 'no such index' } }) as const;

  test('a block of three calls that repeats', async () => {
    const provider = calling((index) => ({ q: index % 3 }), nothing);
    const { damaged, protectedRun } = await both(provider, document, { loop: false }, { loop: { identical: 5 } });
    expect(damaged).toMatchObject({ code: 'BUDGET_EXHAUSTED', usage: { toolCalls: 30 } });
    expect(protectedRun).toMatchObject({ code: 'REPEATED_FAILURE', usage: { toolCalls: 6 } });
  });

  test('failures of one tool in a row', async () => {
    const provider = calling((index) => ({ q: index }), down);
    const { damaged, protectedRun } = await both(provider, document, { loop: false }, {});
    expect(damaged).toMatchObject({ code: 'BUDGET_EXHAUSTED', usage: { toolCalls: 30 } });
    expect(protectedRun).toMatchObject({ code: 'REPEATED_FAILURE', usage: { toolCalls: 4 } });
  });

  test('one call that fails again with the same error', async () => {
    const provider = calling(() => ({ q: 'x' }), down);
    const { damaged, protectedRun } = await both(provider, document, { loop: false }, {});
    expect(damaged).toMatchObject({ code: 'BUDGET_EXHAUSTED', usage: { toolCalls: 30 } });
    expect(protectedRun).toMatchObject({ code: 'REPEATED_FAILURE', usage: { toolCalls: 2 } });
    expect(protectedRun.decisions.map(({ action }) => action)).toEqual(['surface', 'block', 'abort']);
  });
});

describe('circuit breaker', () => {
  const fallback = { model: 'cheap' };

  test('replies that do not fit their schema', async () => {
    const output = { type: 'object', properties: { ok: { type: 'boolean' } }, required: ['ok'] };
    const agents = [{ id: 'bot', model: 'main', instructions: 'Answer.', output }];
    const runs = async (breaker: object | false) => {
      const { run, sent, close } = lab(({ command }) => says(command.target === 'cheap' ? '{"ok":true}' : 'no JSON'));
      const flow = flowOf({ ...AGENTS, agents, flow: FLOW, protections: { breaker } });
      const states = [];
      for (let index = 0; index < 6; index++) states.push((await run(flow)).state);
      await close();
      return { states, useless: sent.filter(({ model }) => model !== 'cheap').length };
    };
    expect(await runs(false)).toEqual({ states: Array(6).fill('failed'), useless: 12 });
    expect(await runs({ fallback })).toEqual({
      states: ['failed', 'failed', ...Array(4).fill('completed')],
      useless: 4,
    });
  });

  test('identical tool calls in a row, although each brings a new result', async () => {
    const provider = (): Provider => {
      let hits = 0;
      return ({ command }) => {
        if (command.kind === 'tool') return { ok: true, value: `hit ${hits++}` };
        return command.target === 'cheap' ? says('done') : asks({ q: 'x' });
      };
    };
    const document = { tools: TOOLS, agents: SEARCHER, budgets: { tool_calls: 30 } };
    const { damaged, protectedRun } = await both(provider, document, { breaker: false }, { breaker: { fallback } });
    expect(damaged).toMatchObject({ code: 'BUDGET_EXHAUSTED', usage: { toolCalls: 30 } });
    expect(protectedRun).toMatchObject({ state: 'completed', output: 'done', usage: { toolCalls: 3 } });
  });
});

test('cost velocity: dollars an hour', async () => {
  const flow = {
    id: 'many',
    entry: 'a',
    nodes: [
      { id: 'a', type: 'agent', agent: 'bot', max_visits: 40, on_exhausted: 'done', routes: [{ to: 'a' }] },
      { id: 'done', type: 'terminal', output: 'done' },
    ],
  };
  const agents = [{ id: 'bot', model: 'main', instructions: 'Answer.', max_output_tokens: 100 }];
  const velocity = { usd_per_hour: 0.01, on_trip: 'stop' };
  const { damaged, protectedRun } = await both(
    () => () => says('more'),
    { agents, flow },
    { velocity: false },
    { velocity },
  );
  expect(damaged.usage).toMatchObject({ modelCalls: 40, costUsd: 0.04 });
  expect(protectedRun.code).toBe('BUDGET_EXHAUSTED');
  expect(protectedRun.usage.costUsd).toBeLessThanOrEqual(0.01);
});

describe('saga', () => {
  const tool = (compensate?: string) => ({
    description: 'Books.',
    input: { type: 'object' },
    effect: 'write',
    ...(compensate === undefined ? {} : { compensate }),
  });
  const nodes = [
    { id: 'flight', type: 'tool', tool: 'flight.book', params: {}, routes: [{ to: 'hotel' }] },
    { id: 'hotel', type: 'tool', tool: 'hotel.book', params: {}, routes: [{ to: 'stop' }] },
    { id: 'stop', type: 'fail', code: 'VALIDATION_FAIL', message: 'No car.' },
  ];
  const booked = async (tools: object) => {
    const { run, close } = lab(() => ({ ok: true, value: { id: 7 } }));
    const report = await run(flowOf({ tools, flow: { id: 'trip', entry: 'flight', nodes } }));
    await close();
    return report.receipts.map(({ status }) => status);
  };

  test('off: a failed run leaves its bookings; on: both are undone', async () => {
    const cancels = { 'flight.cancel': tool(), 'hotel.cancel': tool() };
    expect(await booked({ 'flight.book': tool(), 'hotel.book': tool() })).toEqual(['committed', 'committed']);
    const undone = { ...cancels, 'flight.book': tool('flight.cancel'), 'hotel.book': tool('hotel.cancel') };
    expect((await booked(undone)).slice(0, 2)).toEqual(['compensated', 'compensated']);
  });
});
