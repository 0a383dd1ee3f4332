/** `memory` outside `loop` gets a message that says where memory works. */
import { expect, test } from 'vitest';
import { compile } from '../../src/index.ts';

const AGENTS = 'agents: [{ id: a, instructions: x }]\n';
const NODE = '{ id: n, type: agent, agent: a, routes: [{ to: end }] }';

test.each([
  ['a document', `memory: true\n${AGENTS}flow: { id: f, entry: n, nodes: [${NODE}] }`],
  ['a flow', `${AGENTS}flow: { id: f, entry: n, memory: true, nodes: [${NODE}] }`],
  ['a node', `${AGENTS}flow: { id: f, entry: n, nodes: [{ id: n, type: agent, agent: a, memory: true }] }`],
  ['a workflow', `${AGENTS}workflow: { id: w, memory: true, steps: [{ name: s, agent: a, prompt: x }] }`],
  ['a step', `${AGENTS}workflow: { id: w, steps: [{ name: s, agent: a, prompt: x, memory: { recall: 2 } }] }`],
  ['staged', `${AGENTS}staged: { id: s, memory: true, plan: { agent: a }, workers: { agent: a } }`],
  ['an agent of a loop', 'agents: [{ id: a, memory: true }]\nbudgets: { model_calls: 5 }\nloop: { id: l, agent: a }'],
])('%s: an error', (_, text) => {
  const { flow, diagnostics } = compile(text);
  expect(flow).toBeUndefined();
  expect(diagnostics).toContainEqual(
    expect.objectContaining({
      code: 'unknown-key',
      help: expect.stringContaining('`loop: { agent: …, memory: true }`'),
    }),
  );
});

test.each([
  ['an agent of a flow', `agents: [{ id: a, memory: true }]\nflow: { id: f, entry: n, nodes: [${NODE}] }`, 'no-effect'],
  [
    'an agent of a team',
    'Orchestration: { Name: t, Agents: [{ Name: a, Instructions: x, EnableMemory: true }], Selection: { Type: sequential } }',
    'not-enforced',
  ],
])('%s: a warning, because documents of other systems have it', (_, text, code) => {
  const { diagnostics } = compile(text);
  expect(diagnostics).toContainEqual(
    expect.objectContaining({ code, help: expect.stringMatching(/^Only a `loop` has memory/) }),
  );
});
