/** Events name what the author wrote: the node, the condition and the path, and no name of the compiled graph. */
import { expect, test } from 'vitest';
import { createProgram } from '@sluice-internal/kernel/core';
import { pure } from '../../src/ports/pure.ts';
import { authoredIn } from '../../src/report/authored.ts';
import type { StoryEvent } from '@sluice-internal/wire';
import { createNarrator } from '../../src/report/narrate.ts';
import { compiled, playOn, scriptedEngine } from '../../../../test/support/harness.ts';

const document = {
  agents: [{ id: 'sorter', instructions: 'Sort.' }],
  flow: {
    id: 'names',
    entry: 'sort',
    nodes: [
      {
        id: 'sort',
        type: 'agent',
        agent: 'sorter',
        routes: [
          { when: 'amuont > 200', to: 'big' },
          { when: 'size(amount) > 1', to: 'big' },
          { when: "{{sort.output.kind}} > 3 and amount > '4'", to: 'big' },
          { to: 'both' },
        ],
      },
      {
        id: 'both',
        type: 'parallel',
        branches: [{ to: 'one', when: 'kind > 3' }, { to: 'two' }],
        routes: [{ to: 'big' }],
      },
      { id: 'one', type: 'set', values: { x: 1 } },
      { id: 'two', type: 'set', values: { x: 2 } },
      { id: 'big', type: 'terminal', output: 'done {{amuont}}' },
    ],
  },
};

function wordsOf(event: StoryEvent): readonly string[] {
  if (event.type === 'guard.failed') return [`the condition \`${event.guard}\` cannot be evaluated: ${event.why}`];
  return event.type === 'trouble' ? [event.message] : [];
}

test('guards and missing values', async () => {
  const flow = compiled(document);
  const { engine } = scriptedEngine({ agents: { sorter: ['{"amount": 5, "kind": "k"}'] } });
  const { events } = await playOn(engine, flow, { input: { message: 'go' } });
  const program = createProgram(flow, pure);
  const told = events.flatMap(createNarrator(program)).flatMap((each) => wordsOf(each));
  expect(told).toEqual([
    'a value does not exist: sort.output.amuont',
    'the condition `amuont > 200` cannot be evaluated: the reply has no field `amuont`, but it has `amount`',
    expect.stringMatching(/^the condition `size\(amount\) > 1` cannot be evaluated: /),
    expect.stringMatching(/^the condition `sort\.output\.kind > 3 and amount > '4'` cannot be evaluated: /),
    expect.stringMatching(/^the condition `kind > 3` cannot be evaluated: /),
    'a value does not exist: amuont',
  ]);
  const authored = events.map(authoredIn(flow));
  expect(authored.flatMap(({ condition }) => condition ?? [])).toHaveLength(4);
  expect(authored.flatMap(({ missing }) => missing ?? [])).toEqual(['sort.output.amuont', 'amuont']);
  const failed = events.findIndex(({ type }) => type === 'guard.failed');
  expect(authored[failed]).toEqual({ authored: 'sort', condition: 'amuont > 200' });
  expect(JSON.stringify(authored)).not.toMatch(/~|_agent|guard\(/);
});

test.each(['fail', 'skip', 'collect'])(
  'a map with failed items and on_item_error: %s gives their number',
  async (policy) => {
    const flow = compiled({
      flow: {
        id: 'items',
        entry: 'each',
        nodes: [
          {
            id: 'each',
            type: 'map',
            over: [1, 2, 3],
            width: 1,
            do: 'small',
            on_item_error: policy,
            on_error: [{ default: true, to: 'end' }],
          },
          { id: 'small', type: 'decision', expr: 'item < 3', routes: [{ when: true, to: 'end' }, { to: 'big' }] },
          { id: 'big', type: 'fail', message: 'too big' },
        ],
      },
    });
    const { engine } = scriptedEngine({});
    const { events } = await playOn(engine, flow, { input: {} });
    const told = events
      .flatMap(createNarrator(createProgram(flow, pure)))
      .flatMap((each) => (each.type === 'trouble' ? [`${each.node}: ${each.message}`] : []));
    expect(told).toEqual(['each: 1 of 3 items failed']);
  },
);

test('the only tool call of an agent that fails the turn is named with its error', async () => {
  const flow = compiled({
    boundary: { tools: { deny: ['pay'] } },
    tools: { pay: { effect: 'financial', input: { type: 'object' } } },
    agents: [{ id: 'clerk', tools: ['pay'] }],
    flow: { id: 'desk', entry: 'work', nodes: [{ id: 'work', type: 'agent', agent: 'clerk' }] },
  });
  const { engine } = scriptedEngine({ agents: { clerk: [{ tools: [{ name: 'pay', args: {} }] }] } });
  const { events } = await playOn(engine, flow, { input: {} });
  const told = events
    .flatMap(createNarrator(createProgram(flow, pure)))
    .flatMap((each) => (each.type === 'trouble' ? [`${each.node}: ${each.message}`] : []));
  expect(told).toEqual(['work: PermissionError: the boundary does not let clerk call pay']);
});

test('a sub-flow that fails, and a node that takes too long, are named as nodes and have failed', async () => {
  const flow = compiled({
    flows: {
      inner: { entry: 'stop', nodes: [{ id: 'stop', type: 'fail', message: 'no' }] },
      slow: { entry: 'pause', nodes: [{ id: 'pause', type: 'wait', for: 3600 }] },
    },
    flow: {
      id: 'outer',
      entry: 'sub',
      nodes: [
        { id: 'sub', type: 'flow', flow: 'inner', on_error: [{ default: true, to: 'late' }] },
        { id: 'late', type: 'flow', flow: 'slow', timeout: 60, on_error: [{ default: true, to: 'said' }] },
        { id: 'said', type: 'terminal', output: '{{error.message}}' },
      ],
    },
  });
  const { engine } = scriptedEngine({});
  const { events, report } = await playOn(engine, flow, { input: {} });
  const told = events.flatMap(createNarrator(createProgram(flow, pure)));
  expect(told.flatMap((each) => (each.type === 'trouble' ? [`${each.node}: ${each.message}`] : []))).toEqual([
    'sub: FlowError: no',
    'late: it did not finish in time',
  ]);
  expect(told.flatMap((each) => (each.type === 'node.failed' ? [each.node] : []))).toEqual(['sub/stop', 'sub', 'late']);
  expect(report.output).toBe('`late` did not finish in time');
});

test('a guard of a loop is quoted once, as the author wrote it', async () => {
  const flow = compiled({
    agents: [{ id: 'bot', instructions: 'Help.' }],
    loop: { agent: 'bot', guards: [{ when: 'int(input.amount) > 5', reason: 'too much' }] },
  });
  const { engine } = scriptedEngine({});
  const { events, report } = await playOn(engine, flow, { input: '{"amount": "six"}' });
  const told = events.flatMap(createNarrator(createProgram(flow, pure))).flatMap((each) => wordsOf(each));
  expect(told).toEqual([
    expect.stringMatching(/^the condition `int\(input\.amount\) > 5` cannot be evaluated: `six` is not a number/),
  ]);
  expect(report.code).toBe('UNSAFE_DETECTION');
});
