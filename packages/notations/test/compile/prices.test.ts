/** Prices in the flow: what the author wrote, what was looked up, and what nobody knows where money is limited. */
import { createHash } from 'node:crypto';
import { describe, expect, test } from 'vitest';
import { compile } from '../../src/driver/compile.ts';
import type { CompileOptions } from '../../src/driver/compile.ts';
import type { Node } from '@sluice-internal/kernel/ir';

const hash = (text: string): string => createHash('sha256').update(text).digest('hex');
const priceOf: CompileOptions['priceOf'] = (provider, model) =>
  model.startsWith('known') ? { input: 1, output: provider === 'openai' ? 4 : 5 } : null;

const document = (models: string, agent: string, more = '') => `
${models}
agents: [ { id: writer, instructions: Be brief., max_output_tokens: 100${agent} } ]
${more}
flow:
  id: hello
  entry: ask
  nodes: [ { id: ask, type: agent, agent: writer, input: { message: "{{event.payload.message}}" } } ]
`;
const compiled = (models: string, agent: string, more?: string, options: Partial<CompileOptions> = {}) =>
  compile(document(models, agent, more), { hash, priceOf, ...options });

describe('the price', () => {
  test('of the document outranks the one that is looked up', () => {
    const { flow } = compiled(
      'models: { own: { provider: openai, model: known-1, price: { input: 7, output: 8 } }, other: { provider: openai, model: known-2 } }',
      ', model: own',
    );
    expect(flow?.models).toMatchObject({
      own: { price: { input: 7, output: 8 } },
      other: { price: { input: 1, output: 4 } },
    });
  });

  test('of a model that an agent names directly, and of the one that agents run on by default', () => {
    expect(compiled('', ', model: anthropic/known-1').flow?.models).toEqual({
      'anthropic/known-1': { provider: 'anthropic', model: 'known-1', price: { input: 1, output: 5 } },
    });
    expect(compiled('', '', '', { model: 'openai/known-1' }).flow?.models).toEqual({
      '': { provider: 'openai', model: 'known-1', price: { input: 1, output: 4 } },
    });
    expect(
      compiled('models: { own: { provider: openai, model: known-1 } }', '', '', { model: 'own' }).flow?.models[''],
    ).toMatchObject({ model: 'known-1', price: { input: 1, output: 4 } });
    expect(compiled('', '').flow?.models).toEqual({});
  });

  test('is reserved before the call, and bounds the worst case', () => {
    const { flow, bounds } = compiled(
      'models: { own: { provider: openai, model: known-1, limits: { context_tokens: 1000 } } }',
      ', model: own',
    );
    const effect = Object.values<Node>(flow?.nodes ?? {}).flatMap((node) => (node.op === 'do' ? [node.effect] : []))[0];
    expect(effect?.reserve).toMatchObject({ outputTokens: 100, costMicros: 400 });
    expect(bounds?.flow.costUsd.most).toBeCloseTo((1000 * 1 + 100 * 4) / 1e6, 9);
  });
});

describe('money without a price', () => {
  const limited = 'budgets: { cost_usd: 1 }';
  const codes = (result: ReturnType<typeof compile>) =>
    result.diagnostics
      .filter(({ severity }) => severity === 'error')
      .map(({ code, line, help }) => ({ code, line, help }));

  test('is an error at the model, which says what to write', () => {
    const result = compiled('models: { own: { provider: openai, model: mystery } }', ', model: own', limited);
    expect(result.ok).toBe(false);
    expect(codes(result)).toEqual([
      {
        code: 'missing-price',
        line: 2,
        help: expect.stringContaining('Add `price: { input: 0.5, output: 1.5 }` to `models.own`') as string,
      },
    ]);
  });

  test('is an error for models that are named directly, by default, or that only stand in', () => {
    expect(codes(compiled('', ', model: openai/mystery', limited))).toMatchObject([
      { code: 'missing-price', help: expect.stringContaining('model: "mystery"') as string },
    ]);
    expect(codes(compiled('', '', limited, { model: 'openai/mystery' }))).toMatchObject([{ code: 'missing-price' }]);
    expect(
      codes(
        compiled(
          'models: { own: { provider: openai, model: known-1, fallback: [spare] }, spare: { provider: openai, model: mystery } }',
          ', model: own',
          limited,
        ),
      ),
    ).toMatchObject([{ code: 'missing-price' }]);
  });

  test('is no error if no agent uses the model, no model is named yet, or the price is zero', () => {
    const unused = 'models: { own: { provider: openai, model: known-1 }, idle: { provider: openai, model: mystery } }';
    expect(codes(compiled(unused, ', model: own', limited))).toEqual([]);
    expect(codes(compiled('', '', limited))).toEqual([]);
    expect(
      codes(
        compiled(
          'models: { own: { provider: openai, model: mystery, price: { input: 0, output: 0 } } }',
          ', model: own',
          limited,
        ),
      ),
    ).toEqual([]);
    expect(
      codes(
        compiled(
          'models: { own: { provider: openai, model: mystery } }',
          ', model: own',
          'budgets: { model_calls: 3 }',
        ),
      ),
    ).toEqual([]);
  });
});

describe('models that stand in', () => {
  const fallback = (value: string) =>
    compiled(
      `models: { own: { provider: openai, model: known-1, fallback: ${value} }, spare: { provider: google, model: known-2 } }`,
      ', model: own',
    );

  test('one or several, by alias or by name', () => {
    for (const value of ['spare', '[spare, "anthropic/known-3"]']) {
      const { flow } = fallback(value);
      const node = Object.values<Node>(flow?.nodes ?? {}).find((each) => each.op === 'do');
      expect(node).toMatchObject({
        effect: { kind: 'model' },
        retry: { fallback: { targets: value === 'spare' ? ['spare'] : ['spare', 'anthropic/known-3'] } },
      });
    }
    expect(fallback('["anthropic/known-3"]').flow?.models).toHaveProperty(['anthropic/known-3', 'price'], {
      input: 1,
      output: 5,
    });
  });

  test('count in the worst case', () => {
    expect(fallback('[spare]').bounds?.flow.modelCalls).toEqual({ least: 1, most: 2 });
  });

  test('must exist', () => {
    expect(fallback('[spar]').diagnostics).toMatchObject([
      { code: 'unknown-model', message: 'unknown model `spar` on model `own`', help: 'Did you mean `spare`?' },
    ]);
    expect(fallback('spar').diagnostics).toMatchObject([{ code: 'unknown-model' }]);
  });
});
