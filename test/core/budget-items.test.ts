/** A budget that stops an item of a map or a branch is a failure with a name, and stops the starting of further items. */
import { describe, expect, test } from 'vitest';
import type { Event } from '@sluice-internal/kernel/ir';
import type { Script } from '@sluice-internal/library/host';
import { compiled, playOn, scriptedEngine } from '../support/harness.ts';
import type { Played } from '../support/harness.ts';

const TOOLS = {
  look: { description: 'Looks.', effect: 'read', input: { type: 'object' }, http: { url: 'https://x.test/' } },
  pay: {
    description: 'Pays.',
    effect: 'financial',
    input: { type: 'object' },
    idempotent: true,
    http: { method: 'POST', url: 'https://pay.test/' },
  },
};
const LOST = { error: { type: 'BudgetError', message: 'budgets.tool_calls has 0 left, and 1 is needed' } };

function play(document: object, script: Script = {}): Promise<Played> {
  const { engine } = scriptedEngine({ tools: { look: [{ result: 'seen' }] }, ...script });
  return playOn(engine, compiled({ tools: TOOLS, ...document }), { input: 'go' });
}

function mapOf(policy: string, width: number, more: object = {}): object {
  return {
    budgets: { tool_calls: 3 },
    flow: {
      id: 'items',
      entry: 'each',
      nodes: [
        {
          id: 'each',
          type: 'map',
          over: [1, 2, 3, 4, 5, 6, 7, 8],
          do: 'one',
          width,
          on_item_error: policy,
          routes: [{ to: 'done' }],
          ...more,
        },
        { id: 'one', type: 'tool', tool: 'look', params: {} },
        { id: 'done', type: 'terminal', output: '{{each.results}}' },
        ...('on_error' in more ? [{ id: 'poor', type: 'terminal', output: '{{error.type}}: {{error.message}}' }] : []),
      ],
    },
  };
}

function count(events: readonly Event[], type: Event['type']): number {
  return events.filter((event) => event.type === type).length;
}

describe.each([1, 2, 5, 20])('a map with %i items at once', (width) => {
  test('collect: the items that do not fit have one failure, and the run goes on', async () => {
    const { report, events } = await play(mapOf('collect', width));
    expect(report).toMatchObject({
      state: 'completed',
      code: 'PARTIAL_SUCCESS',
      output: ['seen', 'seen', 'seen', LOST, LOST, LOST, LOST, LOST],
      usage: { toolCalls: 3 },
    });
    expect(count(events, 'meter.tripped')).toBe(1);
    expect(count(events, 'thread.ended')).toBe(4);
    expect(count(events, 'effect.dropped')).toBe(0);
  });

  test('skip: they are left out', async () => {
    const { report } = await play(mapOf('skip', width));
    expect(report).toMatchObject({ code: 'PARTIAL_SUCCESS', output: ['seen', 'seen', 'seen'] });
  });

  test('fail: the calls that fit end, and the run ends BUDGET_EXHAUSTED', async () => {
    const { report, events } = await play(mapOf('fail', width));
    expect(report).toMatchObject({ state: 'failed', code: 'BUDGET_EXHAUSTED', error: { type: 'BudgetError' } });
    expect(report.receipts.map(({ status }) => status)).toEqual(['committed', 'committed', 'committed']);
    expect(count(events, 'effect.dropped')).toBe(0);
  });

  test('fail: a route can take it by its name', async () => {
    const { report } = await play(mapOf('fail', width, { on_error: [{ match: 'BudgetError', to: 'poor' }] }));
    expect(report.output).toBe(`BudgetError: 3: BudgetError: ${LOST.error.message}`);
  });
});

test('a later node that does not fit ends the run', async () => {
  const { report } = await play({
    budgets: { tool_calls: 2 },
    flow: {
      id: 'later',
      entry: 'each',
      nodes: [
        { id: 'each', type: 'map', over: [1, 2, 3], do: 'one', on_item_error: 'collect', routes: [{ to: 'last' }] },
        { id: 'one', type: 'tool', tool: 'look', params: {} },
        { id: 'last', type: 'tool', tool: 'look', params: {} },
      ],
    },
  });
  expect(report).toMatchObject({ state: 'failed', code: 'BUDGET_EXHAUSTED', error: { node: 'last' } });
});

test.each(['collect', 'skip', 'fail'])('a map inside a map whose items %s', async (policy) => {
  const { report } = await play({
    budgets: { tool_calls: 3 },
    flow: {
      id: 'nested',
      entry: 'outer',
      nodes: [
        {
          id: 'outer',
          type: 'map',
          over: [1, 2, 3],
          do: 'inner',
          width: 1,
          on_item_error: 'collect',
          routes: [{ to: 'done' }],
        },
        { id: 'inner', type: 'map', over: [1, 2], do: 'one', width: 1, on_item_error: policy },
        { id: 'one', type: 'tool', tool: 'look', params: {} },
        { id: 'done', type: 'terminal', output: '{{outer.results}}' },
      ],
    },
  });
  expect(report.code).toBe('PARTIAL_SUCCESS');
  expect(report.usage.toolCalls).toBe(3);
  expect(JSON.stringify(report.output)).not.toMatch(/cancelled|"Error"/);
  expect(JSON.stringify((report.output as readonly unknown[]).at(-1))).toContain(
    policy === 'skip' ? '[]' : 'BudgetError',
  );
});

const SUB = [
  { id: 'one', type: 'tool', tool: 'look', params: {}, routes: [{ to: 'out' }] },
  { id: 'out', type: 'terminal', output: '{{one.result}}' },
];

test('the budget of a sub-flow stops items as that of the run does', async () => {
  const { report } = await play({
    flows: { sub: { id: 'sub', entry: 'one', nodes: SUB } },
    flow: {
      id: 'shared',
      entry: 'each',
      nodes: [
        { id: 'each', type: 'map', over: [1, 2, 3, 4], do: 'call', on_item_error: 'collect', routes: [{ to: 'done' }] },
        { id: 'call', type: 'flow', flow: 'sub', budget: { tool_calls: 2 } },
        { id: 'done', type: 'terminal', output: '{{each.results}}' },
      ],
    },
  });
  const lost = { error: { type: 'BudgetError', message: 'the budget of each/call is used up' } };
  expect(report.code).toBe('PARTIAL_SUCCESS');
  expect(report.output).toEqual(['seen', 'seen', lost, lost]);
});

describe('branches', () => {
  const parallel = (join: object): object => ({
    budgets: { tool_calls: 2 },
    flow: {
      id: 'branches',
      entry: 'fan',
      nodes: [
        {
          id: 'fan',
          type: 'parallel',
          branches: [{ to: 'a' }, { to: 'b' }, { to: 'c' }],
          join,
          routes: [{ to: 'done' }],
        },
        { id: 'a', type: 'tool', tool: 'look', params: {} },
        { id: 'b', type: 'tool', tool: 'look', params: {} },
        { id: 'c', type: 'tool', tool: 'look', params: {} },
        { id: 'done', type: 'terminal', output: '{{fan.output}}' },
      ],
    },
  });

  test.each([{ type: 'all' }, { type: 'count', count: 3 }])('fail the join %o', async (join) => {
    const { report, events } = await play(parallel(join));
    const error = { class: 'budget', type: 'BudgetError' };
    expect(report).toMatchObject({ state: 'failed', code: 'BUDGET_EXHAUSTED', error, usage: { toolCalls: 2 } });
    expect(count(events, 'effect.dropped')).toBe(0);
  });

  test.each([{ type: 'count', count: 2 }, { type: 'any' }, { type: 'first' }])(
    'leave the join %o what it needs',
    async (join) => {
      const { report, events } = await play(parallel(join));
      expect(report.code).toBe('PARTIAL_SUCCESS');
      expect(events).toContainEqual(expect.objectContaining({ type: 'fork.joined', met: true }));
    },
  );
});

test.each([1, 8])(
  'several calls of one reply, %i at once: those that fit are made, and the run ends',
  async (width) => {
    const tools = Array.from({ length: 5 }, (_, n) => ({ name: 'pay', args: { n } }));
    const { report, events } = await play(
      {
        budgets: { tool_calls: 3 },
        agents: [{ id: 'clerk', instructions: 'Pay.', tools: ['pay'], tool_width: width }],
        boundary: { tools: { allow: ['pay'] } },
        flow: { id: 'reply', entry: 'work', nodes: [{ id: 'work', type: 'agent', agent: 'clerk' }] },
      },
      { agents: { clerk: [{ tools, text: '' }, 'done'] }, tools: { pay: [{ result: 'paid' }] } },
    );
    expect(report).toMatchObject({ state: 'failed', code: 'BUDGET_EXHAUSTED', error: { type: 'BudgetError' } });
    expect(report.receipts.map(({ args, status }) => [args, status])).toEqual([
      [{ n: 0 }, 'committed'],
      [{ n: 1 }, 'committed'],
      [{ n: 2 }, 'committed'],
    ]);
    expect(count(events, 'effect.dropped')).toBe(0);
  },
);
