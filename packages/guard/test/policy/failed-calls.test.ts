/**
 * A loop whose calls all failed is a partial success at best, in every language. In other notations the author's routes judge a
 * reply that says so; a reply that does not is marked.
 */
import { describe, expect, test } from 'vitest';
import type { Script } from '../../../library/src/host/scripted/script.ts';
import { play, STAGED } from './play.ts';

const SHARED = {
  tools: {
    'orders.get': { description: 'Looks up an order.', effect: 'read', trust: 'trusted' },
    'shell.run': { description: 'Runs a command.', effect: 'read', trust: 'trusted' },
  },
  boundary: { tools: { allow: ['*'] } },
};
const agents = [
  { id: 'clerk', instructions: 'Help.', tools: ['orders.get', 'shell.run'] },
  { id: 'critic', instructions: 'Judge.' },
];
const LOOP = { agents, loop: { id: 'demo', agent: 'clerk' } };
const get = { tools: [{ name: 'orders.get', args: { id: 'A-9' } }], text: '' };
const run = { tools: [{ name: 'shell.run', args: { command: 'grep A-9 orders.txt' } }], text: '' };

/** A task without lookups scripts none. */
const toolsOf = (results: readonly unknown[]): NonNullable<Script['tools']> => {
  const others = { 'shell.run': [{ result: { exitCode: 1, stdout: '' } }] };
  return results.length === 0 ? others : { ...others, 'orders.get': results as never };
};

const playLoop = (clerk: readonly unknown[], results: readonly unknown[], more: object = {}) =>
  play(
    { ...SHARED, ...LOOP, ...more },
    {
      agents: {
        clerk: clerk as never,
        critic: ['{"ok": true, "confidence": 0.9}'],
      },
      tools: toolsOf(results),
    },
    { input: 'Find order A-9.' },
  );

describe('a loop', () => {
  test.each(['Nothing found.', 'Nichts gefunden.', '見つかりませんでした。'])(
    'the only call failed: %s',
    async (text) => {
      const { report } = await playLoop([get, text], [{ error: 'fatal', message: 'connection refused' }]);
      expect(report).toMatchObject({
        state: 'completed',
        code: 'PARTIAL_SUCCESS',
        reason: 'no tool call succeeded; the last one, orders.get, failed: connection refused',
      });
    },
  );

  test('an error that is the answer is reported with its reason', async () => {
    const { report } = await playLoop(
      [get, 'There is no order A-9.'],
      [{ error: 'fatal', message: '404: order A-9 does not exist' }],
    );
    expect([report.code, report.reason]).toEqual(['PARTIAL_SUCCESS', expect.stringContaining('404: order A-9')]);
  });

  test('one call that succeeds is enough', async () => {
    const failed = { error: 'fatal', message: 'connection refused' };
    const { report } = await playLoop([get, get, 'It is on its way.'], [failed, { result: { state: 'sent' } }]);
    expect(report.code).toBe('SUCCESS');
  });

  test('an empty result, and a command that finds nothing, are results', async () => {
    const empty = await playLoop([get, 'Nothing found.'], [{ result: [] }]);
    expect(empty.report.code).toBe('SUCCESS');
    const { report } = await playLoop([run, 'Nothing found.'], []);
    expect(report.code).toBe('SUCCESS');
  });

  test('a tool that does not exist was not called', async () => {
    const unknown = { tools: [{ name: 'orders.find', args: {} }], text: '' };
    const { report } = await playLoop([unknown, 'Order A-9 is the one that you named.'], []);
    expect([report.code, report.usage.toolCalls]).toEqual(['SUCCESS', 0]);
  });

  test('a task that needs no call', async () => {
    const { report } = await playLoop(['Order A-9 is the one that you named.'], []);
    expect(report.code).toBe('SUCCESS');
  });
});

describe('the result is proven otherwise', () => {
  const failed = [{ error: 'fatal', message: 'connection refused' }];

  test('by a condition of the author', async () => {
    const validate = [{ when: 'answer.contains("A-9")', reason: 'name the order' }];
    const loop = { loop: { id: 'demo', agent: 'clerk', validate } };
    const { report } = await playLoop([get, 'Order A-9, by your own words.'], failed, loop);
    expect(report.code).toBe('SUCCESS');
  });

  test('by a judge', async () => {
    const loop = { loop: { id: 'demo', agent: 'clerk', verifier: 'critic' } };
    const { report } = await playLoop([get, 'Order A-9, by your own words.'], failed, loop);
    expect(report.code).toBe('SUCCESS');
  });

  test('`claims: false` of a loop switches it off', async () => {
    const loop = { loop: { id: 'demo', agent: 'clerk', grounding: { claims: false } } };
    const { report } = await playLoop([get, 'Nothing found.'], failed, loop);
    expect(report.code).toBe('SUCCESS');
  });
});

const NOTATIONS: { readonly [notation: string]: object } = {
  flow: { agents, flow: { id: 'demo', entry: 'look', nodes: [{ id: 'look', type: 'agent', agent: 'clerk' }] } },
  workflow: { agents, workflow: { name: 'demo', steps: [{ name: 'look', agent_id: 'clerk', prompt: '{{input}}' }] } },
  team: {
    Orchestration: { Agents: [{ Name: 'clerk', Instructions: 'Help.', Plugins: ['orders.get', 'orders.cancel'] }] },
  },
  staged: {
    agents: [...agents, { id: 'writer', instructions: 'Write.' }, { id: 'planner', instructions: 'Plan.' }],
    staged: STAGED,
    budgets: { model_calls: 50, tool_calls: 10 },
  },
};

describe.each(Object.keys(NOTATIONS))('%s', (notation) => {
  const refused = { error: 'fatal', message: 'connection refused' };
  const playIn = (clerk: readonly unknown[], results: readonly unknown[]) =>
    play(
      {
        ...SHARED,
        ...NOTATIONS[notation],
        tools: { ...SHARED.tools, 'orders.cancel': { description: 'Cancels an order.', effect: 'write' } },
      },
      {
        agents: {
          clerk: clerk as never,
          writer: ['A text.'],
          planner: ['{"tasks": [{"id": "a", "brief": "Find order A-9."}]}'],
          critic: ['{"ok": true, "confidence": 0.9}'],
        },
        tools: toolsOf(results),
      },
      { input: 'Find order A-9.' },
    );

  test.each(['It is on its way.', 'Sie ist unterwegs.', 'Your order arrives tomorrow.'])(
    'hides it: %s',
    async (text) => {
      const { report } = await playIn([get, text], [refused]);
      expect(report).toMatchObject({ state: 'completed', code: 'PARTIAL_SUCCESS', violations: [{ kind: 'calls' }] });
      expect(report.reason).toBe(
        'no tool call succeeded, and the answer does not say so; the last one, orders.get, failed: connection refused',
      );
    },
  );

  test.each(['Nothing found.', 'Nichts gefunden.', 'The connection was refused.'])('says it: %s', async (text) => {
    const { report } = await playIn([get, text], [refused]);
    expect([report.code, report.violations]).toEqual(['SUCCESS', []]);
  });

  test('one call that succeeds is enough', async () => {
    const { report } = await playIn([get, get, 'It is on its way.'], [refused, { result: { state: 'sent' } }]);
    expect([report.code, report.violations]).toEqual(['SUCCESS', []]);
  });

  test('a task that needs no call', async () => {
    const { report } = await playIn(['Order A-9 is the one that you named.'], []);
    expect(report.code).toBe('SUCCESS');
  });
});

test('a later call of the flow that succeeds settles it', async () => {
  const nodes = [
    { id: 'look', type: 'agent', agent: 'clerk', routes: [{ to: 'again' }] },
    { id: 'again', type: 'agent', agent: 'clerk' },
  ];
  const { report } = await play(
    { ...SHARED, agents, flow: { id: 'demo', entry: 'look', nodes } },
    {
      agents: { clerk: [get, 'It is on its way.', get, 'It was sent.'] as never },
      tools: { 'orders.get': [{ error: 'fatal', message: 'connection refused' }, { result: 'sent' }] as never },
    },
  );
  expect([report.code, report.violations]).toEqual(['SUCCESS', []]);
});
