/** One table of budget dimensions: every row is a key of documents, a meter, a field of certificates and a field of reports. */
import { describe, expect, test } from 'vitest';
import { compile, createEngine, openMemory } from '@sluice-internal/library';
import { DIMENSION_ROWS } from '@sluice-internal/kernel/ir';
import { usageText } from '../../packages/cli/src/view/report-text.ts';

const document = (budgets: object) => ({
  agents: [{ id: 'bot', model: 'm', max_output_tokens: 10 }],
  models: { m: { provider: 'openai', model: 'x', price: { input: 1, output: 1 } } },
  budgets,
  flow: {
    id: 'f',
    entry: 'a',
    nodes: [{ id: 'a', type: 'agent', agent: 'bot', routes: [{ to: 'end' }] }],
  },
});

const budgets = DIMENSION_ROWS.filter(({ reportOnly }) => reportOnly !== true);

describe.each(budgets)('the row of $name', ({ name, key, measure, scale, charged }) => {
  test('is a key of `budgets`, and its limit a meter', () => {
    const { flow, diagnostics } = compile(document({ [key]: 40 }));
    expect(diagnostics.filter(({ severity }) => severity === 'error')).toEqual([]);
    const meter = charged === 'visit' ? 'steps' : `budget.${name}`;
    expect(flow?.meters[meter]).toMatchObject({ unit: name, max: 40 * scale, label: `budgets.${key}` });
    const call = Object.values(flow?.nodes ?? {}).find((node) => node.op === 'do' && node.effect.kind === 'model');
    expect(call?.charges).toContain(meter);
  });

  test('is a field of certificates', () => {
    expect(compile(document({ [key]: 40 })).bounds?.flow[measure].most).toBeLessThanOrEqual(40);
  });
});

describe.each(DIMENSION_ROWS)('the row of $name', ({ measure }) => {
  test('is a field of reports', async () => {
    const { flow } = compile(document({}));
    const engine = createEngine({ journal: openMemory(), script: { agents: { bot: ['hello'] } } });
    const report = await engine.settled(await engine.start(flow as NonNullable<typeof flow>, { input: 'x' }));
    await engine.close();
    expect(report.usage[measure]).toBeTypeOf('number');
    expect(usageText(report.usage)).toContain('1 step, 1 model call, 0 tool calls');
  });
});

test('keys and measures are unique', () => {
  for (const field of ['key', 'measure', 'one', 'many', 'label'] as const)
    expect(new Set(DIMENSION_ROWS.map((row) => row[field])).size).toBe(DIMENSION_ROWS.length);
});
