/** The ways by which results of a confidential tool could leave, in every notation: none without a person. */
import { describe, expect, test } from 'vitest';
import { openMemory } from '@sluice-internal/engine/memory';
import { createEngine } from '@sluice-internal/library/compose';
import { createMemoryStore } from '@sluice-internal/store-sqlite';
import { compiled } from '../../../../test/support/harness.ts';
import type { Json } from '@sluice-internal/kernel/expr';
import { play, STAGED } from './play.ts';

const SECRET = 'DE89370400440532013000';
const CODED = Buffer.from(SECRET).toString('base64');
const TOOLS = {
  'crm.get': { description: 'Reads a customer.', effect: 'read', confidential: true },
  'mail.send': { description: 'Sends a mail.', effect: 'communication' },
};
const SHARED = {
  agents: [
    { id: 'clerk', instructions: 'Help.', tools: Object.keys(TOOLS) },
    { id: 'sender', instructions: 'Send.', tools: ['mail.send'] },
    { id: 'planner', instructions: 'Plan.' },
    { id: 'writer', instructions: 'Write.' },
    { id: 'critic', instructions: 'Judge.' },
  ],
  tools: TOOLS,
  boundary: { untrusted: 'off', tools: { allow: ['*'] } },
  budgets: { model_calls: 50, tool_calls: 20 },
};
const call = (name: string, args: Json) => ({ tools: [{ name, args }], text: '' });
const READS = call('crm.get', {});
const SENDS = call('mail.send', { to: 'ann@corp.example', text: CODED });
const agent = (id: string, who: string, to: string, more: object = {}) => ({
  id,
  type: 'agent',
  agent: who,
  routes: [{ to }],
  ...more,
});
const flow = (nodes: readonly object[], more: object = {}) => ({ flow: { id: 'demo', entry: 'a', nodes }, ...more });
const team = (selection: object) => ({
  agents: undefined,
  Orchestration: {
    Agents: [
      { Name: 'clerk', Instructions: 'Help.', Plugins: Object.keys(TOOLS) },
      { Name: 'sender', Instructions: 'Send.', Plugins: ['mail.send'] },
    ],
    Selection: selection,
    Termination: { Type: 'maxiterations', MaxIterations: 2 },
  },
});

const ONE: { readonly [notation: string]: object } = {
  flow: flow([agent('a', 'clerk', 'end')]),
  'sub-flow': {
    flows: { inner: { id: 'inner', entry: 'a', nodes: [agent('a', 'clerk', 'end')] } },
    flow: { id: 'demo', entry: 'sub', nodes: [{ id: 'sub', type: 'flow', flow: 'inner' }] },
  },
  workflow: { workflow: { name: 'demo', steps: [{ name: 'a', agent_id: 'clerk', prompt: 'Do: {{input}}' }] } },
  staged: { staged: STAGED },
  loop: { loop: { agent: 'clerk' } },
  team: team({ Type: 'sequential' }),
};
const TWO: { readonly [notation: string]: object } = {
  'the next node of a flow': flow([
    agent('a', 'clerk', 'b'),
    agent('b', 'sender', 'end', { input: { task: '{{a.output}}' } }),
  ]),
  'a node after a parallel one': flow([
    { id: 'a', type: 'parallel', branches: [{ to: 'c' }, { to: 'd' }], routes: [{ to: 'b' }] },
    agent('c', 'clerk', 'end'),
    agent('d', 'writer', 'end'),
    agent('b', 'sender', 'end'),
  ]),
  'an item of a map': flow([
    agent('a', 'clerk', 'b'),
    { id: 'b', type: 'map', over: '{{[1]}}', as: 'item', do: 'c', routes: [{ to: 'end' }] },
    agent('c', 'sender', 'end', { input: { task: '{{a.output}}' } }),
  ]),
  'a sub-flow': {
    flows: {
      inner: {
        id: 'inner',
        entry: 'x',
        nodes: [agent('x', 'sender', 'end', { input: { task: '{{event.payload.text}}' } })],
      },
    },
    ...flow([
      agent('a', 'clerk', 'b'),
      { id: 'b', type: 'flow', flow: 'inner', input: { text: '{{a.output}}' }, routes: [{ to: 'end' }] },
    ]),
  },
  'after a sub-flow': {
    flows: { inner: { id: 'inner', entry: 'x', nodes: [agent('x', 'clerk', 'end')] } },
    ...flow([
      { id: 'a', type: 'flow', flow: 'inner', routes: [{ to: 'b' }] },
      agent('b', 'sender', 'end', { input: { task: '{{a.output}}' } }),
    ]),
  },
  'the next step': {
    workflow: {
      name: 'demo',
      steps: [
        { name: 'a', agent_id: 'clerk', prompt: 'Do: {{input}}' },
        { name: 'b', agent_id: 'sender', prompt: 'Send: {{input}}' },
      ],
    },
  },
  'the next member of a team': team({ Type: 'sequential' }),
  'a tool node before': flow([
    { id: 'a', type: 'tool', tool: 'crm.get', routes: [{ to: 'b' }] },
    agent('b', 'sender', 'end', { input: { task: '{{a.result}}' } }),
  ]),
};

async function sent(document: object, script: object): Promise<readonly [string, boolean]> {
  const { report, dispatched } = await play(
    JSON.parse(JSON.stringify({ ...SHARED, ...document })),
    {
      agents: {
        planner: ['{"tasks": [{"id": "a", "brief": "Look at the mails."}]}'],
        writer: ['A text.'],
        critic: ['{"ok": true, "confidence": 0.9}'],
        ...script,
      },
      tools: { 'crm.get': [{ result: { iban: SECRET } }], 'mail.send': [{ result: 'sent' }] },
    },
    { input: 'Answer ann@corp.example.' },
  );
  return [report.state, dispatched.includes('mail.send')];
}

describe.each(Object.keys(ONE))('%s', (notation) => {
  test('an agent reads and sends', async () => {
    const script = { clerk: [READS, SENDS, 'Done.'], sender: ['Done.'] };
    expect(await sent(ONE[notation] ?? {}, script)).toEqual(['suspended', false]);
  });
  test('without reading, it sends', async () => {
    const script = { clerk: [SENDS, 'Done.'], sender: ['Done.'] };
    expect((await sent(ONE[notation] ?? {}, script))[1]).toBe(true);
  });
});

test.each(Object.keys(TWO))('another agent sends: %s', async (way) => {
  const script = { clerk: [READS, `Code ${CODED}`], sender: [SENDS, 'Done.'] };
  expect(await sent(TWO[way] ?? {}, script)).toEqual(['suspended', false]);
});

describe('a tool node', () => {
  const nodes = (text: string) =>
    flow([
      agent('a', 'clerk', 'b'),
      { id: 'b', type: 'tool', tool: 'mail.send', params: { to: 'ann@corp.example', text }, routes: [{ to: 'end' }] },
    ]);
  test('that passes on the text of an agent asks', async () => {
    expect(await sent(nodes('{{a.output}}'), { clerk: [READS, `Code ${CODED}`] })).toEqual(['suspended', false]);
  });
  test('that passes on the words of the author does not', async () => {
    expect(await sent(nodes('Hello'), { clerk: [READS, `Code ${CODED}`] })).toEqual(['completed', true]);
  });
});

test.each(['flow', 'loop'])('memory of an earlier run: %s', async (notation) => {
  const memory = createMemoryStore();
  const document = {
    ...SHARED,
    ...ONE[notation],
    agents: [{ id: 'clerk', instructions: 'Help.', tools: Object.keys(TOOLS), memory: true }],
    tools: { ...TOOLS, 'crm.get': { ...TOOLS['crm.get'], trust: 'trusted' } },
    ...(notation === 'loop' ? { loop: { agent: 'clerk', verifier: false } } : {}),
  };
  const run = async (replies: readonly Json[]) => {
    const script = {
      agents: { clerk: replies },
      tools: { 'crm.get': [{ result: CODED }], 'mail.send': [{ result: 1 }] },
    };
    await using engine = createEngine({ journal: openMemory(), script: script as never, toolOptions: { memory } });
    const started = await engine.run(compiled(document), 'Answer ann@corp.example.');
    return (await started.waiting()).map(({ message }) => message);
  };
  expect(await run([READS, `The code is ${CODED}.`])).toEqual([]);
  const [entry] = await memory.find({ operator: 'olga' }, { now: 0 });
  expect(entry?.trust).toBe('trusted');
  await memory.release({ operator: 'olga' }, entry?.id ?? '', 0);
  expect(await run([SENDS, 'Done.'])).toEqual([expect.stringContaining('memory')]);
});
