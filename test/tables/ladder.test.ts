/** The tiers of autonomy: what each is written as, and what is said where a simpler one is enough. */
import { describe, expect, test } from 'vitest';
import { compile } from '@sluice-internal/library';
import { play } from '../../packages/guard/test/policy/play.ts';

const READ = { effect: 'read', input: { type: 'object', properties: { q: { type: 'string' } } } };
const NOTHING = { effect: 'read', input: { type: 'object', properties: {}, additionalProperties: false } };
const findings = (document: object): string[] =>
  compile(document).diagnostics.map(({ code, message }) => `${code}: ${message}`);
const agentFlow = { id: 'demo', entry: 'work', nodes: [{ id: 'work', type: 'agent', agent: 'bot' }] };
const LOOP = {
  tools: { find: READ, look: READ },
  agents: [{ id: 'bot', tools: ['find', 'look'] }],
  budgets: { tool_calls: 9 },
  loop: { agent: 'bot' },
};

describe('a simpler tier is named', () => {
  test.each<[string, object, string]>([
    [
      'an agent without tools answers at once §ladder/direct-response',
      { agents: [{ id: 'bot' }], loop: { agent: 'bot' } },
      'tier 1 (direct response) is enough',
    ],
    [
      'several without tools are a chain §ladder/prompt-chain',
      { agents: [{ id: 'boss' }, { id: 'bot' }], loop: { planner: 'boss', executor: 'bot' } },
      'tier 2 (prompt chain) is enough',
    ],
    [
      'one tool that can be called in one way is a fixed step §ladder/deterministic-workflow §pathologies/tool-overreach',
      {
        tools: { clock: NOTHING },
        agents: [{ id: 'bot', tools: ['clock'] }],
        budgets: { tool_calls: 9 },
        flow: agentFlow,
      },
      'tier 3 (deterministic workflow) is enough',
    ],
  ])('%s', (_, document, words) => {
    expect(findings(document)).toEqual([expect.stringContaining(`simpler-tier: `)]);
    expect(findings(document)[0]).toContain(words);
  });
});

describe('a tier that is needed is not questioned', () => {
  test('branches over what an agent said, and a cycle with its cap §ladder/conditional-graph', async () => {
    const flow = {
      id: 'demo',
      entry: 'judge',
      max_iterations: 4,
      nodes: [
        {
          id: 'judge',
          type: 'agent',
          agent: 'bot',
          routes: [{ when: "verdict == 'again'", to: 'judge' }, { to: 'done' }],
        },
        { id: 'done', type: 'terminal', output: '{{judge.output.verdict}}' },
      ],
    };
    const document = { agents: [{ id: 'bot' }], flow };
    expect(findings(document)).toEqual([]);
    const twice = await play(document, { agents: { bot: ['{"verdict": "again"}', '{"verdict": "fine"}'] } });
    expect(twice.report).toMatchObject({ code: 'SUCCESS', path: ['judge', 'judge', 'done'] });
    const endless = await play(document, { agents: { bot: ['{"verdict": "again"}'] } });
    expect(endless.report).toMatchObject({ code: 'BUDGET_EXHAUSTED', usage: { steps: 4 } });
  });

  test('tools chosen by the model, and people who agree to the plan §ladder/supervised-agentic-loop', async () => {
    const document = {
      ...LOOP,
      agents: [{ id: 'boss' }, ...LOOP.agents],
      loop: { planner: 'boss', executor: 'bot', plan: { approve: true } },
    };
    expect(findings(document)).toEqual([]);
    const steps = JSON.stringify({ steps: [{ id: 'a', do: 'look', tool: 'find' }] });
    const { report } = await play(document, { agents: { boss: [steps], bot: ['done'] } }, { input: 'go' });
    expect(report).toMatchObject({ state: 'suspended', waiting: [{ node: 'plan' }], usage: { toolCalls: 0 } });
  });

  test('tools chosen by the model within budgets §ladder/bounded-agentic-loop', async () => {
    const document = { ...LOOP, budgets: { steps: 3, tool_calls: 9 } };
    expect(findings(document)).toEqual([]);
    const bot = [1, 2, 3, 4, 5].map((q) => ({ text: '', tools: [{ name: 'find', args: { q: String(q) } }] }));
    const { report } = await play(document, { agents: { bot }, tools: { find: [{ result: 1 }] } }, { input: 'go' });
    expect(report).toMatchObject({ code: 'BUDGET_EXHAUSTED', usage: { steps: 3 } });
  });
});

test('what has no bound does not compile §ladder/open-ended-loop', () => {
  const Orchestration = {
    Name: 'T',
    Agents: [{ Name: 'A', Instructions: 'x' }],
    Selection: { Type: 'roundrobin' },
  };
  expect(compile({ Orchestration }).diagnostics.map(({ code, severity }) => [code, severity])).toEqual([
    ['no-termination', 'error'],
  ]);
});
