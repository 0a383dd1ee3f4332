/** `memory` in the wrong place gets a message that names the right one. */
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

test('`Memory` of a whole team: a warning, because documents of other systems have it', () => {
  const text =
    'Orchestration: { Name: t, Memory: true, Agents: [{ Name: a, Instructions: x }], Selection: { Type: sequential } }';
  expect(compile(text).diagnostics).toContainEqual(
    expect.objectContaining({ code: 'not-enforced', help: expect.stringContaining('`EnableMemory: true`') }),
  );
});
