/** A worst case that is unbounded or absurd is said so, with the budget that would mend it. */
import { describe, expect, test } from 'vitest';
import { compileText } from './compile-text.ts';

const withTools = (more: { budgets?: string; agent?: string; nodes?: string; cap?: number }): string => `
tools: { t.x: { effect: read } }
agents: [{ id: a, tools: [t.x]${more.agent ?? ''} }]
${more.budgets === undefined ? '' : `budgets: ${more.budgets}`}
flow:
  id: f
  entry: s
  max_iterations: ${more.cap ?? 0}
  nodes:
    ${more.nodes ?? '- { id: s, type: agent, agent: a }'}`;

const warnings = (source: string) =>
  compileText(source).diagnostics.map(({ severity, code, help }) => ({ severity, code, help }));

describe('the most of an agent with tools', () => {
  test('names the budget that would bound its tool calls', () => {
    const { diagnostics, bounds } = compileText(withTools({}));
    expect(diagnostics).toMatchObject([
      {
        severity: 'warning',
        code: 'unbounded-cost',
        message: 'nothing bounds the tool calls of a run',
        help: 'Set `budgets.tool_calls`.',
        line: 5,
      },
    ]);
    expect(bounds?.flow.toolCalls.most).toBeNull();
  });

  test.each([
    ['of the run', { budgets: '{ tool_calls: 5 }' }, 5],
    ['of the agent', { agent: ', budget: { tool_calls: 7 }' }, 7],
  ])('is bounded by a budget %s', (_, more, most) => {
    const { diagnostics, bounds } = compileText(withTools(more));
    expect(diagnostics).toEqual([]);
    expect(bounds?.flow.toolCalls.most).toBe(most);
  });

  // One call, 50 tool rounds, and two repairs of an answer that refers to no observation.
  test('adds up over agents that each have a budget', () => {
    const { bounds } = compileText(`
tools: { t.x: { effect: read } }
agents:
  - { id: a, tools: [t.x], budget: { tool_calls: 3, model_calls: 5 } }
  - { id: b, tools: [t.x], budget: { tool_calls: 4 } }
flow:
  id: f
  entry: s
  nodes:
    - { id: s, type: agent, agent: a, routes: [{ to: t }] }
    - { id: t, type: agent, agent: b, routes: [{ to: u }] }
    - { id: u, type: tool, tool: t.x }`);
    expect(bounds?.flow.toolCalls.most).toBe(8);
    expect(bounds?.flow.modelCalls.most).toBe(5 + 53);
  });

  test('is that of one turn where it has one, and of as many as it can have', () => {
    const most = (nodes: string, cap = 0) =>
      compileText(withTools({ nodes, cap, budgets: '{ tool_calls: 9 }' })).bounds?.flow.modelCalls.most;
    const shared = `- { id: s, type: parallel, branches: [{ to: x }, { to: y }] }
    - { id: x, type: decision, expr: "1", routes: [{ to: z }] }
    - { id: y, type: decision, expr: "2", routes: [{ to: z }] }
    - { id: z, type: agent, agent: a }`;
    expect(most('- { id: s, type: agent, agent: a }')).toBe(53);
    expect(most('- { id: s, type: agent, agent: a }', 30)).toBe(53);
    expect(most(shared)).toBe(106);
  });
});

describe('a most that is there but absurd', () => {
  test('of a step', () => {
    const source = 'steps: [{ agent_name: a, mode: { Loop: { until: DONE, max_iterations: 5000000 } } }]';
    expect(warnings(source)).toEqual([
      {
        severity: 'warning',
        code: 'huge-bound',
        help: 'Lower its caps, or set `budgets.steps` and `budgets.model_calls`.',
      },
    ]);
  });

  test('is told once where a cap already says so', () => {
    const nodes = '- { id: s, type: agent, agent: a, routes: [{ to: s }] }';
    expect(
      warnings(withTools({ nodes, cap: 1_000_000, budgets: '{ tool_calls: 5 }' })).map(({ code }) => code),
    ).toEqual(['huge-bound']);
  });
});
