/** L4: a budget holds also if a model function reports no usage, or amounts that cannot be right. */
import { expect, test } from 'vitest';
import type { CompiledFlow } from '@sluice-internal/kernel/ir';
import { openMemory } from '@sluice-internal/engine/memory';
import { compile } from '../../src/compile.ts';
import { createEngine } from '../../src/create-engine.ts';
import type { ModelReply } from '../../src/host/functions.ts';
import { playOn } from '../../../../test/support/harness.ts';

const TEXT = 'x'.repeat(300);
const VISITS = 50;

function flowWith(budgets: object): CompiledFlow {
  const { flow } = compile({
    budgets,
    models: { priced: { provider: 'openai', model: 'm', price: { input: 1, output: 10 } } },
    agents: [{ id: 'clerk', model: 'priced', max_output_tokens: 200 }],
    flow: {
      id: 'demo',
      entry: 'work',
      max_iterations: VISITS,
      nodes: [{ id: 'work', type: 'agent', agent: 'clerk', routes: [{ when: 'true', to: 'work' }] }],
    },
  });
  return flow as CompiledFlow;
}

test.each<[string, string | ModelReply]>([
  ['a text', TEXT],
  ['a reply without usage', { text: TEXT }],
  ['amounts below zero', { text: TEXT, usage: { inputTokens: -1000, outputTokens: -1000, costUsd: -1 } }],
  ['no numbers', { text: TEXT, usage: { inputTokens: Number.NaN, outputTokens: '9' as never, costUsd: Number.NaN } }],
])('%s: tokens and money are estimated', async (_, reply) => {
  for (const budgets of [{ tokens: 2000 }, { cost_usd: 0.006 }]) {
    const engine = createEngine({ journal: openMemory(), model: () => reply });
    const { report } = await playOn(engine, flowWith(budgets), { input: 'Go.' });
    expect(report.usage.modelCalls).toBeGreaterThan(1);
    expect(report).toMatchObject({ state: 'failed', code: 'BUDGET_EXHAUSTED' });
    expect(report.usage.outputTokens).toBeGreaterThan(0);
    expect(report.usage.tokens).toBeLessThanOrEqual(2000);
    expect(report.usage.costUsd).toBeGreaterThan(0);
  }
});

test('amounts that the function reports count as they are', async () => {
  const reply = { text: TEXT, usage: { inputTokens: 10, outputTokens: 0, costUsd: 0 } };
  const { report } = await playOn(
    createEngine({ journal: openMemory(), model: () => reply }),
    flowWith({ tokens: 20_000 }),
    { input: 'Go.' },
  );
  expect(report.usage).toMatchObject({ modelCalls: VISITS, inputTokens: 10 * VISITS, outputTokens: 0, costUsd: 0 });
});
