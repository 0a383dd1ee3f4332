/** A key of an agent in the wrong place gets a message that names the right one. */
import { describe, expect, test } from 'vitest';
import { compile } from '@sluice-internal/library';

const AGENTS = 'agents: [{ id: a, instructions: x }]\n';
const NODE = '{ id: n, type: agent, agent: a, routes: [{ to: end }] }';

test.each([
  ['a document', `memory: true\n${AGENTS}flow: { id: f, entry: n, nodes: [${NODE}] }`],
  ['a flow', `${AGENTS}flow: { id: f, entry: n, memory: true, nodes: [${NODE}] }`],
  ['a node', `${AGENTS}flow: { id: f, entry: n, nodes: [{ id: n, type: agent, agent: a, memory: true }] }`],
  ['a workflow', `${AGENTS}workflow: { id: w, memory: true, steps: [{ name: s, agent: a, prompt: x }] }`],
  ['a step', `${AGENTS}workflow: { id: w, steps: [{ name: s, agent: a, prompt: x, memory: { recall: 2 } }] }`],
  ['staged', `${AGENTS}staged: { id: s, memory: true, plan: { agent: a }, workers: { agent: a } }`],
])('%s: an error', (_, text) => {
  const { flow, diagnostics } = compile(text);
  expect(flow).toBeUndefined();
  expect(diagnostics).toContainEqual(
    expect.objectContaining({
      code: 'unknown-key',
      help: expect.stringContaining('`agents: [{ id: …, memory: true }]`'),
    }),
  );
});

test.each([
  ['output', `flow: { id: f, entry: n, nodes: [{ id: n, type: agent, agent: a, output: { type: object } }] }`],
  ['model', `flow: { id: f, entry: n, nodes: [{ id: n, type: agent, agent: a, model: openai/gpt-5-mini }] }`],
  ['tools', `workflow: { id: w, steps: [{ name: s, agent: a, prompt: x, tools: [t] }] }`],
])('`%s` at a node or a step: the help names the agent', (key, text) => {
  expect(compile(AGENTS + text).diagnostics).toMatchObject([
    { code: 'unknown-key', help: expect.stringContaining(`\`agents: [{ id: …, ${key}: … }]\``) as string },
  ]);
});

test('`Memory` of a whole team: a warning, because documents of other systems have it', () => {
  const text =
    'Orchestration: { Name: t, Memory: true, Agents: [{ Name: a, Instructions: x }], Selection: { Type: sequential } }';
  expect(compile(text).diagnostics).toContainEqual(
    expect.objectContaining({ code: 'not-enforced', help: expect.stringContaining('`EnableMemory: true`') }),
  );
});

const TOOLS = { find: { effect: 'read', trust: 'trusted' } };
const CLERK = { id: 'clerk', tools: ['find'], memory: true };
const flowOf = (clerk: object) => ({
  agents: [clerk],
  tools: TOOLS,
  flow: { id: 'f', entry: 'n', nodes: [{ id: 'n', type: 'agent', agent: 'clerk' }] },
});

describe('agents with memory', () => {
  const diagnosed = (document: object) => compile(document).diagnostics;

  test('a condition that cannot be read, in an agent and in a member of a team', () => {
    const validate = [{ when: 'anser != ""', reason: 'x' }];
    expect(diagnosed(flowOf({ ...CLERK, memory: { validate } }))).toContainEqual(
      expect.objectContaining({ severity: 'error', help: expect.stringContaining('answer') }),
    );
    const team = {
      Agents: [{ Name: 'a', Instructions: 'x', Memory: { Validate: [{ When: 'anser != ""', Reason: 'x' }] } }],
      Selection: { Type: 'sequential' },
    };
    expect(diagnosed({ Orchestration: team })).toContainEqual(
      expect.objectContaining({ severity: 'error', help: expect.stringContaining('answer') }),
    );
  });

  test('in a loop only the agent that does the work remembers, and says so once', () => {
    const loop = { id: 'l', agent: 'clerk', verifier: 'judge' };
    const agents = [CLERK, { id: 'judge', memory: true }];
    expect(diagnosed({ agents, tools: TOOLS, loop })).toContainEqual(
      expect.objectContaining({ code: 'not-supported', message: expect.stringContaining('only `clerk` can') }),
    );
    expect(
      diagnosed({ agents: [CLERK], tools: TOOLS, loop: { id: 'l', agent: 'clerk', memory: true } }),
    ).toContainEqual(expect.objectContaining({ code: 'bad-value', message: expect.stringContaining('stands twice') }));
  });

  test('memory of the system that the graph notation comes from has no effect', () => {
    expect(diagnosed(flowOf({ id: 'clerk', memory: { enabled: true } }))).toContainEqual(
      expect.objectContaining({ severity: 'warning', code: 'no-effect' }),
    );
  });
});
