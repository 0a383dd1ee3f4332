import { describe, expect, test } from 'vitest';
import type { Json } from '@sluice-internal/kernel/expr';
import { inputOf } from '@sluice-internal/kernel/core';
import { Core, end, flowOf, forkOver, set, tool } from './flow.ts';

const heads = [
  { name: 'l', to: 'a' },
  { name: 'r', to: 'b' },
];
const see = {
  effect: { input: { mine: 'mine', shared: 'shared' } },
  writes: [{ slot: 'seen', mode: 'set', value: 'it' }],
} as const;

function inputs(core: Core): { [key: string]: Json } {
  const { state, program } = core;
  return Object.fromEntries(
    [...(state?.pending.values() ?? [])].map((pending) => [
      pending.key,
      { ...inputOf(program, state as never, pending) },
    ]),
  );
}

describe('branches', () => {
  test('L12: a branch sees what its parent knew, and nothing that a sibling wrote', () => {
    const nodes = {
      shared: set('shared', '"before"', 'fork'),
      fork: forkOver({ heads }, 'end'),
      a: set('mine', '"a"', 'a2'),
      a2: tool('a2', 'done', see),
      b: tool('b', 'b2'),
      b2: tool('b2', 'done', see),
      done: end('mine'),
      end: end('all'),
    };
    const core = new Core(flowOf(nodes));
    expect(inputs(core)['0:0.0#0']).toEqual({ mine: 'a', shared: 'before' });
    core.answer('0:0.1#0', 'from b');
    expect(inputs(core)['0:0.1#1']).toEqual({ mine: null, shared: 'before' });
    core.answer('0:0.0#0', 1, 2);
    core.answer('0:0.1#1', 2, 3);
    expect(core.state?.outcome?.output).toMatchObject([
      { name: 'l', output: 'a' },
      { name: 'r', output: null },
    ]);
  });

  test('L12: what a branch wrote stays in it, unless the join gathers it', () => {
    const writes = {
      a: set('x', '"from a"', 'a2'),
      a2: set('y', '"kept"', 'done'),
      b: set('y', '"last"', 'done'),
      done: end(),
    };
    const core = new Core(
      flowOf({
        fork: forkOver({ heads }, 'end', { gather: [{ slot: 'y', mode: 'last' }] }),
        ...writes,
        end: end('{"x": x, "y": y}'),
      }),
    );
    expect(core.state?.outcome?.output).toEqual({ x: null, y: 'last' });
  });

  test('L12: gathering takes values in the order of the branches, not in the order of arrival §patterns/blackboard', () => {
    const gather = [
      { slot: 'one', mode: 'first' },
      { slot: 'two', mode: 'last' },
      { slot: 'flag', mode: 'any' },
      { slot: 'map', mode: 'merge' },
    ] as const;
    const wrote = (name: string): object => ({ one: name, two: name, flag: name === 'a', map: { [name]: 1 } });
    const nodes = {
      fork: forkOver({ heads }, 'end', { gather }),
      ...Object.fromEntries(
        ['a', 'b'].map((name) => [
          name,
          tool(name, 'done', {
            writes: ['one', 'two', 'flag', 'map'].map((slot) => ({ slot, mode: 'set', value: `it.${slot}` })),
          }),
        ]),
      ),
      done: end(),
      end: end('[one, two, flag, map]'),
    };
    for (const order of [
      ['a', 'b'],
      ['b', 'a'],
    ]) {
      const core = new Core(flowOf(nodes));
      for (const [index, name] of order.entries())
        core.answer(`0:0.${name === 'a' ? 0 : 1}#0`, wrote(name) as Json, index + 1);
      expect(core.state?.outcome?.output).toEqual(['a', 'b', true, { a: 1, b: 1 }]);
    }
  });

  test('L12: a slot that a branch left alone is not handed back as its own', () => {
    const parent = { known: set('known', '{"k": 1}', 'fork') };
    const gather = [{ slot: 'known', mode: 'last' }] as const;
    const nodes = {
      ...parent,
      fork: forkOver({ heads }, 'end', { gather }),
      a: tool('a', 'done', { writes: [{ slot: 'known', mode: 'set', value: 'it' }] }),
      b: tool('b', 'done'),
      done: end(),
      end: end('known'),
    };
    const core = new Core(flowOf(nodes));
    core.answer('0:0.0#0', { k: 2 });
    core.answer('0:0.1#0', 'nothing to say', 2);
    expect(core.state?.outcome?.output).toEqual({ k: 2 });
  });

  test('L12: a list is handed out item by item, at most so many at a time', () => {
    const nodes = {
      fork: forkOver({ each: 'input', as: 'item', head: 'a' }, 'end', { widthMax: 2 }),
      a: tool('a', 'done', { effect: { input: { item: 'item', index: 'item_index' } } }),
      done: end('a'),
      end: end('all.map(o, o.output)'),
    };
    const core = new Core(flowOf(nodes), ['p', 'q', 'r']);
    expect(inputs(core)).toEqual({ '0:0.0#0': { item: 'p', index: 0 }, '0:0.1#0': { item: 'q', index: 1 } });
    core.answer('0:0.1#0', 'Q');
    expect(inputs(core)).toEqual({ '0:0.0#0': { item: 'p', index: 0 }, '0:0.2#0': { item: 'r', index: 2 } });
    core.answer('0:0.2#0', 'R', 2);
    core.answer('0:0.0#0', 'P', 3);
    expect(core.state?.outcome?.output).toEqual(['P', 'Q', 'R']);
  });

  test('L12: the error of one branch is not the error of another', () => {
    const nodes = {
      fork: forkOver({ heads }, 'end', { need: 1 }),
      a: tool('a', 'done'),
      b: tool('b', 'done'),
      done: end('error'),
      end: end('[all[1].output, error]'),
    };
    const core = new Core(flowOf(nodes));
    core.fail('0:0.0#0', 'fatal');
    core.answer('0:0.1#0', 1, 2);
    expect(core.state?.outcome?.output).toEqual([null, null]);
  });
});
