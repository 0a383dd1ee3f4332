/** Beside a script, a real agent may call every tool that it has. A tool that nothing implements stops the run before it starts. */
import { readFileSync, readdirSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { expect, test } from 'vitest';
import { parse } from 'yaml';
import { callsOf } from '../../../library/src/host/world.ts';
import { worldBeside } from '../../../library/src/host/world-beside.ts';
import type { Script } from '../../../library/src/host/scripted/script.ts';
import { compile } from '@sluice-internal/library';
import type { CompiledFlow } from '@sluice-internal/kernel/ir';

const { flow } = compile({
  agents: [
    { id: 'one', tools: ['svc.put'] },
    { id: 'two', tools: [] },
  ],
  tools: { 'svc.put': { effect: 'read' } },
  flow: {
    id: 'f',
    entry: 'a',
    nodes: [
      { id: 'a', type: 'agent', agent: 'one', routes: [{ to: 'b' }] },
      { id: 'b', type: 'agent', agent: 'two' },
    ],
  },
});
const MODELS = { model: 'openai/gpt-4o', env: { OPENAI_API_KEY: 'k'.repeat(12) } };

function starts(calling: CompiledFlow | undefined, script: Script, models?: typeof MODELS): () => void {
  if (calling === undefined) throw new Error('it does not compile');
  const { world } = worldBeside(undefined, { script, ...(models === undefined ? {} : { models }) });
  return () => world.require(calling, callsOf(calling));
}

test('a real agent with a tool that nothing implements does not start', () => {
  expect(starts(flow, { agents: { two: ['done'] } }, MODELS)).toThrow('the tool `svc.put` has no implementation');
});

test('it starts if the script has the tool or plays the agent, or without a real model', () => {
  expect(starts(flow, { tools: { 'svc.put': [{ result: 1 }] } }, MODELS)).not.toThrow();
  expect(starts(flow, { agents: { one: ['done'] } }, MODELS)).not.toThrow();
  expect(starts(flow, { agents: { two: ['done'] } })).not.toThrow();
});

const root = new URL('../../../../examples/', import.meta.url);
const NOTATION = /\.(flow|workflow|loop|team|staged)\.yaml$/;
const examples = readdirSync(root).filter(
  (name) => NOTATION.test(name) && readdirSync(root).includes(name.replace(NOTATION, '.script.yaml')),
);

test.each(examples)('%s starts on a real model with the tools of its script', (name) => {
  const file = fileURLToPath(new URL(name, root));
  const script = parse(readFileSync(new URL(name.replace(NOTATION, '.script.yaml'), root), 'utf8')) as Script;
  const compiled = compile(readFileSync(file, 'utf8'), { file, model: MODELS.model });
  expect(starts(compiled.flow, { ...script, agents: {} }, MODELS)).not.toThrow();
});
