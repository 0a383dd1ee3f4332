/** The typed builder gives the flow that YAML gives, byte for byte. */
import { hash } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { expect, test } from 'vitest';
import { parse } from 'yaml';
import { loop } from '../../src/loop/builder.ts';
import { compile } from '../../src/driver/compile.ts';
import { loopSchema } from '../../src/loop/schema.ts';
import { schemaOf } from '../../../compile/src/document/schema/schema.ts';
import { documentSchema } from '@sluice-internal/compile/document';

const options = { hash: (text: string) => hash('sha256', text, 'hex') };
const AGENTS = [{ id: 'bot', tools: ['find'] }, { id: 'judge' }] as const;
const TOOLS = { find: { effect: 'read' } } as const;

test('the same document, and the same hash', () => {
  const built = loop(
    {
      id: 'demo',
      agent: 'bot',
      verifier: { agent: 'judge', confidence: 0.7 },
      escalation: { safer: 'judge' },
    },
    { agents: AGENTS, tools: TOOLS, boundary: 'research' },
  );
  const text = `
agents: [{ id: bot, tools: [find] }, { id: judge }]
tools: { find: { effect: read } }
boundary: research
loop: { id: demo, agent: bot, verifier: { agent: judge, confidence: 0.7 }, escalation: { safer: judge } }
`;
  const written = compile(text, options);
  expect(written.diagnostics).toEqual([]);
  expect(compile(built, options).flow?.hash).toBe(written.flow?.hash);
});

test('the values of an answer can be bound to observations', () => {
  const built = loop({ agent: 'bot', grounding: { values: 'bound' } }, { agents: AGENTS, tools: TOOLS });
  const { nodes = {} } = compile(built, options).flow ?? {};
  expect(JSON.stringify(nodes)).toContain('"bound":"true"');
});

test('names that do not exist are type errors', () => {
  // @ts-expect-error there is no agent of that name
  loop({ agent: 'bott' }, { agents: AGENTS });
  // @ts-expect-error a planner plans for an executor
  loop({ planner: 'bot' }, { agents: AGENTS });
  // @ts-expect-error one agent, or a planner and an executor
  loop({ agent: 'bot', executor: 'judge' }, { agents: AGENTS });
  expect(loop({ executor: 'bot', planner: 'judge' }, { agents: AGENTS }).loop).toEqual({
    executor: 'bot',
    planner: 'judge',
  });
});

test('the schema for editors knows every field and takes the examples', () => {
  const { properties } = schemaOf(loopSchema) as { properties: { [field: string]: { description?: string } } };
  expect(Object.keys(properties)).toContain('grounding');
  expect(JSON.stringify(documentSchema([{ key: 'loop', schema: loopSchema }]))).toContain('"loop"');
  for (const name of ['research', 'plan-and-do', 'incident']) {
    const document = parse(
      readFileSync(new URL(`../../../../examples/${name}.loop.yaml`, import.meta.url), 'utf8'),
    ) as {
      loop: object;
    };
    expect(loopSchema.safeParse(document.loop).success).toBe(true);
  }
});
