import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { boundsOf } from '@sluice-internal/compile/prove';
import { graphOf } from '@sluice-internal/compile/graph';
import type { FlowBody } from '@sluice-internal/kernel/ir';
import { compileText } from './compile-text.ts';
import { TOO_MANY, outcomesFrom, randomFlow } from '../../../compile/test/compile/random-flow.ts';

const seed = Number(process.env['SEED'] ?? Math.floor(Math.random() * 2 ** 31));

test('a fork that is entered again from its own branch goes on after each join', () => {
  const end = { op: 'end', label: { name: 'end' }, state: 'completed', code: 'SUCCESS', output: 'null' };
  const body = {
    ...{ ir: 1, id: 'f', notation: 'test', entry: 'fork', fail: 'end', agents: {}, tools: {}, models: {}, least: {} },
    meters: { max: { unit: 'visits', max: 4, over: 'end', label: 'max' } },
    nodes: {
      end,
      fork: {
        ...{
          op: 'fork',
          label: { name: 'fork' },
          charges: ['max'],
          widthMax: 2,
          need: 1,
          eager: false,
          timeoutMs: null,
        },
        over: { heads: ['end', 'fork'].map((to) => ({ name: to, to })) },
        ...{ into: 'j', gather: [], next: 'ask', failed: [], fail: 'end' },
      },
      ask: {
        ...{ op: 'do', label: { name: 'ask' }, charges: ['max'], writes: [], timeoutMs: null, next: 'end', failed: [] },
        effect: { kind: 'model', agent: 'a', input: {}, reserve: { modelCalls: 1 } },
        ...{ retry: { max: 0, baseMs: 0, capMs: 0, on: [] }, fail: 'end' },
      },
    },
  } as unknown as FlowBody;
  expect(boundsOf(graphOf(body)).bounds.flow.modelCalls.most).toBe(2);
});

test('a budget for all tokens limits input and output, and budgets for both limit the sum', () => {
  const most = (budgets: string): unknown[] => {
    const flow = 'flow: { id: f, entry: a, nodes: [{ id: a, type: agent, agent: bot }] }';
    const { bounds } = compileText(`agents: [{ id: bot, max_output_tokens: 900 }]\nbudgets: ${budgets}\n${flow}`);
    return [bounds?.flow.inputTokens.most, bounds?.flow.outputTokens.most, bounds?.flow.tokens.most];
  };
  expect(most('{ tokens: 1500 }')).toEqual([1500, 900, 1500]);
  expect(most('{ tokens: 500 }')).toEqual([500, 500, 500]);
  expect(most('{ input_tokens: 2000 }')).toEqual([2000, 900, 2900]);
  expect(most('{ output_tokens: 600 }')).toEqual([null, 600, null]);
});

describe('the certificate against every way through random small flows', () => {
  test(`holds for all of them, and is exact without forks and for nine in ten with forks (seed ${seed})`, () => {
    let [exact, forked, forkedExact] = [0, 0, 0];
    fc.assert(
      fc.property(randomFlow(), (body) => {
        const budget = { spent: 0 };
        const outcomes = outcomesFrom(body, 'n0', body.meters['max']?.max ?? Infinity, budget);
        fc.pre(budget.spent <= TOO_MANY);
        const { flow } = boundsOf(graphOf(body)).bounds;
        const good = outcomes.filter(({ end, cut }) => end === 'good' && !cut);
        const counted = [
          [flow.steps, 'steps', 'steps'],
          [flow.modelCalls, 'calls', 'calls'],
          [flow.outputTokens, 'tokens', 'peak'],
        ] as const;
        for (const [bound, total, least] of counted) {
          const most = Math.max(0, ...outcomes.map((each) => each[total]));
          expect(bound.most ?? Infinity).toBeGreaterThanOrEqual(most);
          const lowest = Math.min(...good.map((each) => each[least]));
          expect(good.length === 0 || bound.least <= lowest).toBe(true);
          if (hasForks(body)) {
            forked += 1;
            if (bound.most === most) forkedExact += 1;
            continue;
          }
          exact += 1;
          expect(bound.most).toBe(most);
          expect(good.length === 0 || bound.least === lowest).toBe(true);
        }
      }),
      { seed, numRuns: 2000 },
    );
    expect(exact).toBeGreaterThan(100);
    // The others have a join that cannot be met, which the certificate does not look at.
    expect(forkedExact / forked).toBeGreaterThan(0.9);
  });

  test(`gives the least of a fork exactly where the branches do not share the cap (seed ${seed})`, () => {
    fc.assert(
      fc.property(randomFlow(), (body) => {
        fc.pre(body.meters['max'] === undefined);
        const budget = { spent: 0 };
        const good = outcomesFrom(body, 'n0', Infinity, budget).filter(({ end }) => end === 'good');
        fc.pre(budget.spent <= TOO_MANY && good.length > 0);
        const { flow } = boundsOf(graphOf(body)).bounds;
        expect(flow.steps.least).toBe(Math.min(...good.map(({ steps }) => steps)));
        expect(flow.modelCalls.least).toBe(Math.min(...good.map(({ calls }) => calls)));
        expect(flow.outputTokens.least).toBe(Math.min(...good.map(({ peak }) => peak)));
      }),
      { seed, numRuns: 1000 },
    );
  });
});

describe('the certificate of a document', () => {
  test('says what a cycle is ended by, how a run can end, and what runs at once §handoffs/reference-architectures', () => {
    const { bounds } = compileText(`
agents: [{ id: bot }]
flow:
  id: demo
  entry: split
  max_iterations: 9
  nodes:
    - { id: split, type: parallel, branches: [{ to: a }, { to: b }], routes: [{ to: judge }] }
    - { id: a, type: agent, agent: bot }
    - { id: b, type: agent, agent: bot, routes: [{ to: c }] }
    - { id: c, type: agent, agent: bot }
    - { id: judge, type: agent, agent: bot, routes: [{ when: "again == true", to: split }] }`);
    expect(bounds?.cycles).toEqual([{ nodes: ['split', 'judge'], caps: [{ label: 'max_iterations', max: 9 }] }]);
    expect(bounds?.concurrent).toEqual([{ at: 'split', branches: [['a'], ['b', 'c']] }]);
    expect(bounds?.codes).toEqual(expect.arrayContaining(['SUCCESS', 'BUDGET_EXHAUSTED', 'TIMEOUT', 'USER_CANCEL']));
    expect(bounds?.flow.steps).toEqual({ least: 5, most: 9 });
    expect(bounds?.nodes['judge']?.steps.least).toBe(1);
  });

  test('counts money where prices and limits are known, and calls it unbounded where they are not', () => {
    const priced = (limits: string): string => `
models: { fast: { provider: x, model: y, price: { input: 2, output: 10 }${limits} } }
agents: [{ id: bot, model: fast, max_output_tokens: 1000 }]
flow:
  id: demo
  entry: one
  nodes:
    - { id: one, type: agent, agent: bot, routes: [{ to: two }] }
    - { id: two, type: agent, agent: bot }`;
    const known = compileText(priced(', limits: { context_tokens: 5000 }'));
    expect(known.bounds?.flow.costUsd.most).toBeCloseTo(2 * (5000 * 2e-6 + 1000 * 10e-6), 10);
    expect(known.diagnostics).toEqual([]);
    const unknown = compileText(priced(''));
    expect(unknown.bounds?.flow.costUsd.most).toBeNull();
    expect(unknown.diagnostics.map(({ code, severity }) => [code, severity])).toEqual([['unbounded-cost', 'warning']]);
  });

  test('a budget is the most, and what is needed at least is there for the run §estimation/upper', () => {
    const { flow, bounds } = compileText(`
agents: [{ id: bot, max_output_tokens: 50 }]
budgets: { model_calls: 4, output_tokens: 90, cost_usd: 0.5 }
tools: { t.call: { cost: 0.2 } }
flow:
  id: demo
  entry: one
  max_iterations: 20
  nodes:
    - { id: one, type: agent, agent: bot, routes: [{ when: "again == true", to: one }, { to: two }] }
    - { id: two, type: tool, tool: t.call, routes: [{ to: three }] }
    - { id: three, type: agent, agent: bot }`);
    expect(bounds?.flow.modelCalls).toEqual({ least: 2, most: 4 });
    expect(bounds?.flow.costUsd).toEqual({ least: 0.2, most: 0.5 });
    expect(flow?.least['one']).toEqual({ modelCalls: 2, outputTokens: 50, costMicros: 200_000 });
    expect(flow?.least['three']).toEqual({ modelCalls: 1, outputTokens: 50 });
  });
});

function hasForks({ nodes }: FlowBody): boolean {
  return Object.values(nodes).some(({ op }) => op === 'fork');
}
