/** Agents of every notation, without a profile: an answer that claims what no call did is marked, and the run is no success. */
import { describe, expect, test } from 'vitest';
import type { CompiledFlow } from '@sluice-internal/kernel/ir';
import { compileLoop, drive } from '../../../notations/test/loop/drive.ts';
import { STAGED } from './play.ts';

const SHARED = {
  agents: [
    { id: 'clerk', instructions: 'Help.', tools: ['parts.find', 'parts.order'] },
    { id: 'writer', instructions: 'Write.' },
    { id: 'planner', instructions: 'Plan.' },
    { id: 'critic', instructions: 'Judge.' },
  ],
  tools: {
    'parts.find': { description: 'Finds a part.', effect: 'read', trust: 'trusted' },
    'parts.order': { description: 'Orders a part.', effect: 'write' },
  },
  boundary: { tools: { allow: ['parts.*'] } },
};
const agent = (id: string, more: object = {}) => ({
  id,
  type: 'agent',
  agent: id,
  input: { message: 'Order p-12.' },
  ...more,
});

const NOTATIONS: { readonly [notation: string]: object } = {
  flow: { flow: { id: 'demo', entry: 'clerk', nodes: [agent('clerk')] } },
  'flow with branches': {
    flow: {
      id: 'demo',
      entry: 'both',
      nodes: [
        { id: 'both', type: 'parallel', branches: [{ to: 'clerk' }, { to: 'writer' }], routes: [{ to: 'last' }] },
        agent('clerk'),
        agent('writer'),
        { id: 'last', type: 'agent', agent: 'writer', input: { message: 'Sum up.' } },
      ],
    },
  },
  workflow: {
    workflow: { name: 'demo', steps: [{ name: 'write', agent_id: 'clerk', prompt: 'Order p-12. {{input}}' }] },
  },
  staged: {
    staged: STAGED,
    budgets: { model_calls: 50, tool_calls: 10 },
  },
};

function compiled(notation: string): CompiledFlow {
  return compileLoop({ ...SHARED, ...NOTATIONS[notation] });
}
const order = { tools: [{ name: 'parts.order', args: { id: 'p-12' } }], text: '' };
const find = { tools: [{ name: 'parts.find', args: { id: 'p-12' } }], text: '' };
const play = (notation: string, clerk: readonly unknown[]) =>
  drive(
    compiled(notation),
    {
      agents: {
        clerk: clerk as never,
        writer: ['A text.'],
        planner: ['{"tasks": [{"id": "a", "brief": "Order p-12."}]}'],
        critic: ['{"ok": true, "confidence": 0.9}'],
      },
      tools: { 'parts.find': [{ result: { maker: 'Bosch' } }], 'parts.order': [{ result: { order: 'o-77' } }] },
    },
    { input: 'Order p-12.' },
  );

describe.each(Object.keys(NOTATIONS))('%s', (notation) => {
  test.each([
    ['a claim', 'I have ordered the part.'],
    ['a claim in German', 'Ich habe das Teil bestellt.'],
    ['a passive in Italian', 'Ordine effettuato.'],
    ['an announcement', 'Let me place that order for you now.'],
    ['a bare confirmation of what the prompt asks for', 'Done.'],
    ['a question', 'Which supplier should I use?'],
  ])('%s without the call', async (_, text) => {
    const { report, read, difference } = await play(notation, [text]);
    expect(report).toMatchObject({ state: 'completed', code: 'PARTIAL_SUCCESS' });
    expect(report.violations).toHaveLength(1);
    expect(report.reason).toBe(report.violations[0]?.message);
    expect(read.events.some((event) => event.type === 'effect.requested' && event.name === 'policy:answer')).toBe(true);
    expect(difference).toBeNull();
  });

  test('a claim after a call that only reads', async () => {
    const { report } = await play(notation, [find, 'Die Bestellung wurde aufgegeben.']);
    expect(report.code).toBe('PARTIAL_SUCCESS');
  });

  test.each(['I have ordered the part.', 'Done.', 'Ordine effettuato.', 'The order is o-77.'])(
    '%s with the call',
    async (text) => {
      const { report } = await play(notation, [order, text]);
      expect([report.code, report.violations]).toEqual(['SUCCESS', []]);
    },
  );

  test('a report of a lookup', async () => {
    const { report } = await play(notation, [find, 'The maker of this part is Bosch. It was not ordered.']);
    expect([report.code, report.violations]).toEqual(['SUCCESS', []]);
  });
});

describe('a flow of several agents', () => {
  const flow = (second: object) =>
    compileLoop({
      ...SHARED,
      agents: [...SHARED.agents, { id: 'other', instructions: 'Help.', tools: ['parts.find', 'parts.order'] }],
      flow: {
        id: 'demo',
        entry: 'clerk',
        nodes: [agent('clerk', { routes: [{ to: 'other' }] }), agent('other', second)],
      },
    });
  const tools = { 'parts.order': [{ result: { order: 'o-77' } }] };

  test('a reply that is not a result is settled by a later one', async () => {
    const { report } = await drive(flow({}), {
      agents: { clerk: ['Which part?'], other: [order, 'The order is o-77.'] },
      tools,
    });
    expect([report.code, report.violations]).toEqual(['SUCCESS', []]);
  });

  test('an agent may correct itself', async () => {
    const twice = compileLoop({
      ...SHARED,
      flow: {
        id: 'demo',
        entry: 'one',
        nodes: [
          { ...agent('one', { routes: [{ to: 'two' }] }), agent: 'clerk' },
          { ...agent('two'), agent: 'clerk' },
        ],
      },
    });
    const { report } = await drive(twice, {
      agents: { clerk: ['I have ordered the part.', order, 'Now it is ordered.'] },
      tools,
    });
    expect([report.code, report.violations]).toEqual(['SUCCESS', []]);
  });

  test('a false claim stays marked', async () => {
    const { report } = await drive(flow({}), {
      agents: { clerk: ['I have ordered the part.'], other: [order, 'The order is o-77.'] },
      tools,
    });
    expect(report.code).toBe('PARTIAL_SUCCESS');
  });

  test('an agent may report what another agent did', async () => {
    const { report } = await drive(flow({ input: { message: 'Say what was done.' } }), {
      agents: { clerk: [order, 'Ordered.'], other: ['The part was ordered: o-77.'] },
      tools,
    });
    expect([report.code, report.violations]).toEqual(['SUCCESS', []]);
  });
});

describe('a team', () => {
  const team = (Termination: object) =>
    compileLoop({
      Orchestration: {
        Name: 'demo',
        Agents: [
          { Name: 'dev', Instructions: 'Code.', Plugins: ['FileSystem'] },
          { Name: 'rev', Instructions: 'Review.' },
        ],
        Selection: { Type: 'sequential' },
        Termination,
      },
    });
  const ended = { Type: 'regex', Pattern: 'DONE', MaxIterations: 4 };

  test('a member that claims a file it never wrote is marked', async () => {
    const { report } = await drive(team(ended), {
      agents: { dev: ['I have written hello.py.'], rev: ['Fine. DONE'] },
    });
    expect(report).toMatchObject({ code: 'PARTIAL_SUCCESS', violations: [{ kind: 'action' }] });
  });

  test('talk between members is no result and is not marked', async () => {
    const { report } = await drive(team(ended), {
      agents: { dev: ['Let me look at that next. Which file?'], rev: ['Fine. DONE'] },
    });
    expect([report.code, report.violations]).toEqual(['SUCCESS', []]);
  });

  const shop = compileLoop({
    tools: SHARED.tools,
    boundary: SHARED.boundary,
    Orchestration: {
      Name: 'demo',
      Agents: [
        { Name: 'clerk', Instructions: 'Help.', Plugins: ['parts.find', 'parts.order'] },
        { Name: 'rev', Instructions: 'Review.' },
      ],
      Selection: { Type: 'roundrobin' },
      Termination: ended,
    },
  });
  const order = { tools: [{ name: 'parts.order', args: { part: 'p-12' } }], text: '' };
  const placed = { 'parts.order': [{ result: { id: 'o-1' } }] };

  test.each(['Let me place that order for you now.', 'Which colour?', 'I could not find the price.', 'All good.'])(
    'whose goal needs a tool of the document is no success by words: %s',
    async (said) => {
      const { report } = await drive(shop, { agents: { clerk: [said], rev: ['DONE'] } }, { input: 'Order p-12.' });
      expect([report.code, typeof report.reason]).toEqual(['PARTIAL_SUCCESS', 'string']);
    },
  );

  test('that did it, also after talk, is a success', async () => {
    const talk = ['Let me look at that. Which part?', order, 'Ordered p-12.'];
    const agents = { clerk: talk, rev: ['The pump p-12.', 'DONE'] };
    const { report } = await drive(shop, { agents, tools: placed }, { input: 'Order p-12.' });
    expect([report.code, report.violations]).toEqual(['SUCCESS', []]);
  });

  test('whose goal is a question is a success without a change', async () => {
    const find = { tools: [{ name: 'parts.find', args: { part: 'p-12' } }], text: '' };
    const { report } = await drive(
      shop,
      {
        agents: { clerk: [find, 'p-12 costs 59.50.'], rev: ['DONE'] },
        tools: { 'parts.find': [{ result: { price: 59.5 } }] },
      },
      { input: 'What does p-12 cost?' },
    );
    expect([report.code, report.violations]).toEqual(['SUCCESS', []]);
  });
});
