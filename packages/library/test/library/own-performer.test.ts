/** L4, L7: the results of a custom `performer` are checked before they enter the journal. */
import { expect, test } from 'vitest';
import { createEngine, openMemory } from '../../src/index.ts';
import type { Settled } from '@sluice-internal/kernel/ir';
import { compiled, playOn } from '../../../../test/support/harness.ts';

const TOOLS = { 'pay.do': { effect: 'financial', compensate: 'pay.undo' }, 'pay.undo': { effect: 'financial' } };
const ASKS = compiled({
  budgets: { tokens: 2000 },
  agents: [{ id: 'clerk', max_output_tokens: 200 }],
  flow: {
    id: 'asks',
    entry: 'ask',
    max_iterations: 50,
    nodes: [
      { id: 'ask', type: 'agent', agent: 'clerk', on_error: [{ default: true, to: 'ask' }], routes: [{ to: 'ask' }] },
    ],
  },
});
const PAYS = compiled({
  tools: TOOLS,
  flow: { id: 'pays', entry: 'pay', nodes: [{ id: 'pay', type: 'tool', tool: 'pay.do', params: {} }] },
});

const engineWith = (perform: (tool: string) => unknown) =>
  createEngine({
    journal: openMemory(),
    performer: { perform: async ({ command }) => perform(command.name) as Settled },
  });

test.each([-500, Number.NaN, Number.POSITIVE_INFINITY, '9', null])(
  'a model call with %s tokens fails, and the reserved tokens count as spent',
  async (inputTokens) => {
    const engine = engineWith(() => ({ ok: true, value: { text: 'x' }, used: { inputTokens, outputTokens: 1 } }));
    const { report, events } = await playOn(engine, ASKS, { input: 'Go.' });
    expect(report).toMatchObject({ state: 'failed', code: 'BUDGET_EXHAUSTED' });
    expect(report.usage.modelCalls).toBeLessThan(20);
    expect(events.find(({ type }) => type === 'effect.settled')).toMatchObject({
      result: {
        error: {
          type: 'ResultError',
          message: `the performer reported \`inputTokens: ${inputTokens}\` for \`clerk\`, but amounts are numbers from 0`,
        },
      },
    });
  },
);

test('an amount that is undefined counts as not reported', async () => {
  const used = { inputTokens: 100, outputTokens: undefined, costMicros: undefined };
  const engine = engineWith(() => ({ ok: true, value: { text: 'x' }, used }));
  const { report } = await playOn(engine, ASKS, { input: 'Go.' });
  expect(report).toMatchObject({ state: 'failed', code: 'BUDGET_EXHAUSTED', error: { node: 'ask' } });
  expect(report.usage).toMatchObject({ modelCalls: 18, inputTokens: 1800, outputTokens: 0, costUsd: 0 });
});

test('a refused result keeps its usage', async () => {
  const used = { inputTokens: 100, outputTokens: 100 };
  const engine = engineWith(() => ({ ok: true, value: () => 'no JSON', used }));
  const { report } = await playOn(engine, ASKS, { input: 'Go.' });
  expect(report).toMatchObject({ state: 'failed', code: 'BUDGET_EXHAUSTED' });
  expect(report.usage.inputTokens).toBeGreaterThan(100);
});

test.each([
  [{ ok: true, value: 1, used: { costMicros: -1 } }, 'amounts are numbers from 0'],
  [{ value: 1 }, 'the performer returned neither `ok: true` nor `ok: false` for `pay.do`'],
  [undefined, 'the performer returned neither `ok: true` nor `ok: false` for `pay.do`'],
])('a tool call with the result %j took effect, and is undone', async (result, message) => {
  const calls: string[] = [];
  const engine = engineWith((tool) => {
    calls.push(tool);
    return tool === 'pay.do' ? result : { ok: true, value: null };
  });
  const { report } = await playOn(engine, PAYS, { input: {} });
  expect(calls).toEqual(['pay.do', 'pay.undo']);
  expect(report).toMatchObject({ state: 'failed', receipts: [{ tool: 'pay.do', status: 'compensated' }] });
  expect(report.error?.message).toContain(message);
});

test('a failure without a known class is a mistake of the performer', async () => {
  const engine = engineWith(() => ({ ok: false, error: { class: 'odd', type: 'E', message: 'm' } }));
  const { report } = await playOn(engine, PAYS, { input: {} });
  expect(report.error?.message).toContain('`class` of a PerformError must be one of');
});
