/** What a loop comes to in the certificate: it runs at least once, and at most as often as it says. */
import { readFileSync } from 'node:fs';
import { describe, expect, test } from 'vitest';
import { compileText } from './compile-text.ts';
import { drive } from './steps-drive.ts';

const loop = (name: string, agent: string, max: number, more = ''): string =>
  `{ name: ${name}, agent_name: ${agent}, mode: { Loop: { until: DONE, max_iterations: ${max} } }${more} }`;

describe('the certificate of a Loop step', () => {
  test.each([
    ['by itself', `steps: [${loop('r', 'a', 3)}]`, { steps: [1, 3], modelCalls: [1, 3] }],
    ['once', `steps: [${loop('r', 'a', 1)}]`, { steps: [1, 1], modelCalls: [1, 1] }],
    [
      'with retries',
      `steps: [${loop('r', 'a', 3, ', error_mode: { Retry: { max_retries: 2 } }')}]`,
      { steps: [1, 3], modelCalls: [1, 9] },
    ],
    [
      'that may be skipped',
      `steps: [${loop('r', 'a', 4, ', error_mode: skip')}]`,
      { steps: [1, 4], modelCalls: [1, 4] },
    ],
    [
      'after another one',
      `steps: [${loop('r', 'a', 3)}, ${loop('s', 'b', 2)}, { agent_name: c }]`,
      { steps: [3, 6], modelCalls: [3, 6] },
    ],
    [
      'whose output is kept',
      `steps: [${loop('r', 'a', 3, ', output_var: draft')}, { agent_name: b, prompt: "{{draft}}" }]`,
      { steps: [2, 4], modelCalls: [2, 4] },
    ],
    [
      'that may meet its own agent',
      `steps: [{ agent_name: a }, { agent_name: b, mode: { Conditional: { condition: x } } }, ${loop('r', 'a', 3)}]`,
      { steps: [2, 5], modelCalls: [2, 5] },
    ],
  ])('%s', (_, source, expected) => {
    const { flow } = compileText(source).bounds ?? {};
    for (const measure of ['steps', 'modelCalls'] as const) {
      const [least, most] = expected[measure];
      expect(flow?.[measure]).toEqual({ least, most });
    }
  });

  test('with tools is entered at least once, and as often as it may go round', () => {
    const { bounds } = compileText(
      `tools: { t.x: { effect: read } }
agents: [{ name: a, tools: [t.x] }]
budgets: { tool_calls: 9 }
steps: [${loop('r', 'a', 3)}]`,
    );
    expect(bounds?.flow.steps).toEqual({ least: 1, most: 3 });
    expect(bounds?.flow.modelCalls.least).toBe(1);
  });

  test('is met by runs at both ends', () => {
    const source = `steps: [${loop('r', 'a', 3)}, ${loop('s', 'b', 2)}]`;
    const calls = (reply: string): number => {
      const { commands } = drive(source, { a: () => reply, b: () => reply });
      return commands.length;
    };
    expect([calls('DONE'), calls('not yet')]).toEqual([2, 5]);
    expect(compileText(source).bounds?.flow.modelCalls).toEqual({ least: 2, most: 5 });
  });

  test('costs what its iterations cost, so that a limit on money refuses nothing sound', () => {
    const { bounds } = compileText(
      `models: { m: { provider: openai, model: x, price: { input: 0, output: 1000000 }, limits: { context_tokens: 1000 } } }
agents: [{ name: a, model: m, max_output_tokens: 1 }]
steps: [${loop('r', 'a', 3)}]`,
    );
    expect(bounds?.flow.costUsd).toEqual({ least: 1, most: 3 });
  });

  test('in the example that ships', () => {
    const text = readFileSync(new URL('../../../../examples/refine-loop.workflow.yaml', import.meta.url), 'utf8');
    const { flow } = compileText(text).bounds ?? {};
    expect(flow?.steps).toEqual({ least: 5, most: 8 });
    expect(flow?.modelCalls.least).toBe(4);
  });
});

describe('the certificate of a cycle through branches', () => {
  const agents = '[{ id: a }, { id: b }, { id: c }]';
  /** One agent, a fork of two, and back: 3 calls in 4 visits. */
  const parallel = (flow: string, a = ''): string => `agents: ${agents}
flow:
  { id: f, entry: a, ${flow}, nodes: [
    { id: a, type: agent, agent: a, ${a} routes: [{ to: p }] },
    { id: p, type: parallel, branches: [{ to: b }, { to: c }], routes: [{ when: "a.output == 'x'", to: a }, { to: end }] },
    { id: b, type: agent, agent: b }, { id: c, type: agent, agent: c }] }`;
  test.each([
    ['ten visits', parallel('max_iterations: 10'), 7],
    ['a hundred visits', parallel('max_iterations: 100'), 75],
    ['a thousand visits', parallel('max_iterations: 1000'), 750],
    ['ten visits of one node', parallel('max_iterations: 1000', 'max_visits: 10,'), 30],
  ])('under %s is exact', (_, source, most) => {
    expect(compileText(source).bounds?.flow.modelCalls.most).toBe(most);
  });

  test('counts the items of a written list once per visit of the map', () => {
    const source = `agents: ${agents}
flow:
  { id: f, entry: a, max_iterations: 100, nodes: [
    { id: a, type: agent, agent: a, routes: [{ to: m }] },
    { id: m, type: map, over: [1, 2, 3], do: w, routes: [{ when: "a.output == 'x'", to: a }, { to: end }] },
    { id: w, type: agent, agent: b }] }`;
    expect(compileText(source).bounds?.flow.modelCalls.most).toBe(80);
  });
});

test('a flow of a thousand nodes in cycles is certified in reasonable time', { timeout: 30_000 }, () => {
  const nodes = Array.from({ length: 1000 }, (_, index) => ({
    id: `n${index}`,
    type: 'agent',
    agent: 'a',
    routes: [
      ...(index % 10 === 9 ? [{ when: "n0.output == 'x'", to: 'n0' }] : []),
      { to: index === 999 ? 'end' : `n${index + 1}` },
    ],
  }));
  const flow = { id: 'f', entry: 'n0', max_iterations: 2000, nodes };
  expect(compileText({ agents: [{ id: 'a' }], flow }).bounds?.flow.modelCalls.most).toBe(2000);
});

test('the tool rounds of an agent are a cycle of its node, and parts of the node are not named', () => {
  const source = `agents: [{ id: a, tools: [look] }]
tools: { look: { description: Looks., effect: read } }
flow: { id: f, entry: n, nodes: [{ id: n, type: agent, agent: a, timeout: 5 }] }`;
  expect(compileText(source).bounds?.cycles.map(({ nodes }) => nodes)).toEqual([['n']]);
});
