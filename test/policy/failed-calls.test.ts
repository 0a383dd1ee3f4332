/** A turn whose calls all failed is a partial success at best, in every notation and language. Failures that are refusals are not calls. */
import { describe, expect, test } from 'vitest';
import { play } from './play.ts';

const SHARED = {
  tools: {
    'orders.get': { description: 'Looks up an order.', effect: 'read', trust: 'trusted' },
    'shell.run': { description: 'Runs a command.', effect: 'read', trust: 'trusted' },
  },
  boundary: { tools: { allow: ['*'] } },
};
const agents = [
  { id: 'clerk', instructions: 'Help.', tools: ['orders.get', 'shell.run'] },
  { id: 'writer', instructions: 'Write.' },
  { id: 'planner', instructions: 'Plan.' },
  { id: 'critic', instructions: 'Judge.' },
];
const NOTATIONS: { readonly [notation: string]: object } = {
  loop: { agents, loop: { id: 'demo', agent: 'clerk' } },
  flow: { agents, flow: { id: 'demo', entry: 'look', nodes: [{ id: 'look', type: 'agent', agent: 'clerk' }] } },
  workflow: { agents, workflow: { name: 'demo', steps: [{ name: 'look', agent_id: 'clerk', prompt: '{{input}}' }] } },
  team: {
    Orchestration: {
      Agents: [{ Name: 'clerk', Instructions: 'Help.', Plugins: ['orders.get', 'shell.run'] }],
    },
  },
  staged: {
    agents,
    staged: {
      id: 'demo',
      plan: { agent: 'planner' },
      workers: { agent: 'clerk' },
      aggregate: { agent: 'writer' },
      validate: { agent: 'critic' },
      finalize: { agent: 'writer' },
    },
    budgets: { model_calls: 50, tool_calls: 10 },
  },
};
const get = { tools: [{ name: 'orders.get', args: { id: 'A-9' } }], text: '' };
const run = { tools: [{ name: 'shell.run', args: { command: 'grep A-9 orders.txt' } }], text: '' };

const playIn = (notation: string, clerk: readonly unknown[], results: readonly unknown[], more: object = {}) =>
  play(
    { ...SHARED, ...NOTATIONS[notation], ...more },
    {
      agents: {
        clerk: clerk as never,
        writer: ['A text.'],
        planner: ['{"tasks": [{"id": "a", "brief": "Find order A-9."}]}'],
        critic: ['{"ok": true, "confidence": 0.9}'],
      },
      tools: { 'orders.get': results as never, 'shell.run': [{ result: { exitCode: 1, stdout: '' } }] },
    },
    { input: 'Find order A-9.' },
  );

describe.each(Object.keys(NOTATIONS))('%s', (notation) => {
  test.each(['Nothing found.', 'Nichts gefunden.', '見つかりませんでした。'])(
    'the only call failed: %s',
    async (text) => {
      const { report } = await playIn(notation, [get, text], [{ error: 'fatal', message: 'connection refused' }]);
      expect(report).toMatchObject({
        state: 'completed',
        code: 'PARTIAL_SUCCESS',
        reason: 'no tool call succeeded; the last one, orders.get, failed: connection refused',
      });
    },
  );

  test('an error that is the answer is reported with its reason', async () => {
    const { report } = await playIn(
      notation,
      [get, 'There is no order A-9.'],
      [{ error: 'fatal', message: '404: order A-9 does not exist' }],
    );
    expect([report.code, report.reason]).toEqual(['PARTIAL_SUCCESS', expect.stringContaining('404: order A-9')]);
  });

  test('one call that succeeds is enough', async () => {
    const failed = { error: 'fatal', message: 'connection refused' };
    const { report } = await playIn(notation, [get, get, 'It is on its way.'], [failed, { result: { state: 'sent' } }]);
    expect(report.code).toBe('SUCCESS');
  });

  test('an empty result, and a command that finds nothing, are results', async () => {
    const empty = await playIn(notation, [get, 'Nothing found.'], [{ result: [] }]);
    expect(empty.report.code).toBe('SUCCESS');
    const { report } = await playIn(notation, [run, 'Nothing found.'], []);
    expect(report.code).toBe('SUCCESS');
  });

  test('a task that needs no call', async () => {
    const { report } = await playIn(notation, ['Order A-9 is the one that you named.'], []);
    expect(report.code).toBe('SUCCESS');
  });
});

describe('the result is proven otherwise', () => {
  const failed = [{ error: 'fatal', message: 'connection refused' }];

  test('by a condition of the author', async () => {
    const validate = [{ when: 'answer.contains("A-9")', reason: 'name the order' }];
    const loop = { loop: { id: 'demo', agent: 'clerk', validate } };
    const { report } = await playIn('loop', [get, 'Order A-9, by your own words.'], failed, loop);
    expect(report.code).toBe('SUCCESS');
  });

  test('by a judge', async () => {
    const loop = { loop: { id: 'demo', agent: 'clerk', verifier: 'critic' } };
    const { report } = await playIn('loop', [get, 'Order A-9, by your own words.'], failed, loop);
    expect(report.code).toBe('SUCCESS');
  });

  test('by a later agent of a flow', async () => {
    const nodes = [
      { id: 'look', type: 'agent', agent: 'clerk', routes: [{ to: 'again' }] },
      { id: 'again', type: 'agent', agent: 'clerk' },
    ];
    const { report } = await playIn(
      'flow',
      [get, 'Nothing found.', get, 'It was sent.'],
      [...failed, { result: 'sent' }],
      {
        flow: { id: 'demo', entry: 'look', nodes },
      },
    );
    expect([report.code, report.violations]).toEqual(['SUCCESS', []]);
  });

  test('`claims: false` of a loop switches it off', async () => {
    const loop = { loop: { id: 'demo', agent: 'clerk', grounding: { claims: false } } };
    const { report } = await playIn('loop', [get, 'Nothing found.'], failed, loop);
    expect(report.code).toBe('SUCCESS');
  });
});
