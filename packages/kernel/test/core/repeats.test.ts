/** The loop detector: which calls it holds back, and what resets it. §flow/loop-detector */
import { describe, expect, test } from 'vitest';
import type { Json } from '../../src/expr/json.ts';
import type { Meter, ToolDef } from '../../src/ir/nodes.ts';
import { normalised } from '../../src/core/repeats.ts';
import { Core, end, flowOf, meter, pick, set, tool } from '../../../../test/laws/flow.ts';

interface Call {
  readonly tool?: 'a' | 'b' | 'w';
  readonly args?: Json;
  readonly gives?: Json;
  readonly fails?: true;
}
const WRITE = { effect: 'write' } as ToolDef;
const READ = { effect: 'read' } as ToolDef;

/** Makes the calls one after the other until one is held back. */
function made(calls: readonly Call[], rules: Partial<Meter>): { readonly count: number; readonly repeated: unknown } {
  const same: Meter = { ...meter('repeats', 2, 'over'), window: 5, cycle: 4, failures: 4, ...rules };
  const go = (name: string) =>
    tool(name, 'more', {
      charges: ['same'],
      effect: { tool: name, input: { args: 'input[n].args' } },
      failed: [{ when: 'true', to: 'more' }],
    });
  const nodes = {
    begin: set('n', '0', 'left'),
    left: pick(`n < ${calls.length}`, 'which', 'end'),
    which: {
      ...pick('input[n].tool == "b"', 'b', 'a'),
      cases: [
        { when: 'input[n].tool == "b"', to: 'b' },
        { when: 'input[n].tool == "w"', to: 'w' },
      ],
    },
    a: go('a'),
    b: go('b'),
    w: go('w'),
    more: set('n', 'n + 1', 'left'),
    end: end(),
    over: end(),
  };
  const input = calls.map(({ tool: name = 'a', args = 1 }) => ({ tool: name, args }));
  const core = new Core(flowOf(nodes, { meters: { same }, tools: { a: READ, b: READ, w: WRITE } }), input);
  for (let act = 0; core.owed.length > 0; act++) {
    const key = core.owed[0]?.split(' ')[0] ?? '';
    const { gives = 'same', fails } = calls[act] ?? {};
    if (fails) core.fail(key, 'fatal');
    else core.answer(key, gives);
  }
  const count = core.events.filter(({ type }) => type === 'effect.requested').length;
  const trip = core.events.find((event) => event.type === 'meter.tripped');
  return { count, repeated: trip?.type === 'meter.tripped' ? trip.repeated : undefined };
}

const A: Call = {};
const B: Call = { tool: 'b', gives: 'other' };
const W: Call = { tool: 'w', gives: 'written' };

describe('what is held back', () => {
  test.each<[string, readonly Call[], Partial<Meter>, number, string | undefined]>([
    ['the third identical call', [A, A, A, A], {}, 2, 'identical'],
    ['the second one, if one is allowed', [A, A], { max: 1 }, 1, 'identical'],
    ['an identical call among others', [A, B, A, B, A], { cycle: 1, max: 1 }, 3, 'identical'],
    ['nothing outside the window', [A, A, A], { window: 1 }, 3, undefined],
    ['a block that begins a third time', [A, B, A, B, A], { max: 9 }, 4, 'cycle'],
    ['not a block that is too long', [A, B, A, B, A], { max: 9, cycle: 1 }, 5, undefined],
    [
      'a tool that failed four times in a row',
      [1, 2, 3, 4, 5].map((args) => ({ args, fails: true })),
      {},
      4,
      'failures',
    ],
    ['not a tool that failed three times', [1, 2, 3].map((args) => ({ args, fails: true })), {}, 3, undefined],
  ])('%s', (_, calls, rules, count, rule) => {
    const result = made(calls, rules);
    expect(result.count).toBe(count);
    expect((result.repeated as { rule?: string } | undefined)?.rule).toBe(rule);
  });

  test('the event names the tools of the block', () => {
    expect(made([A, B, A, B, A], { max: 9 }).repeated).toEqual({ rule: 'cycle', calls: ['a', 'b'] });
  });
});

describe('what resets it', () => {
  test.each<[string, readonly Call[], number]>([
    [
      'a new result of the same call, as when a status is polled',
      [{ gives: 1 }, { gives: 2 }, { gives: 3 }, { gives: 4 }],
      4,
    ],
    ['a new result of another call', [A, A, B, A, A], 5],
    ['a successful write', [A, A, W, A, A], 5],
    [
      'a new result between failures',
      [
        { fails: true },
        { fails: true, args: 2 },
        { fails: true, args: 3 },
        B,
        { fails: true, args: 4 },
        { fails: true, args: 5 },
      ],
      6,
    ],
  ])('%s', (_, calls, count) => {
    expect(made(calls, {}).count).toBe(count);
  });

  test('but not the same write again', () => {
    expect(made([W, W, W, W], {}).count).toBe(2);
  });
});

describe('calls that only differ in spelling are identical', () => {
  test.each<[Json, Json]>([
    [
      { a: 1, b: 2 },
      { b: 2, a: 1 },
    ],
    ['find  me ', 'find me'],
    [{ n: '2.50' }, { n: 2.5 }],
    [
      [' x', '07'],
      ['x', 7],
    ],
  ])('%j and %j', (one, other) => {
    expect(made([{ args: one }, { args: other }, { args: one }], {}).count).toBe(2);
  });

  test('declared fields are ignored', () => {
    const calls = [1, 2, 3].map((id) => ({ args: { id, q: 'x' } }));
    expect(made(calls, {}).count).toBe(3);
    expect(made(calls, { ignore: ['id'] }).count).toBe(2);
  });

  test('long digit strings stay text: they are names, not numbers', () => {
    expect(normalised('12345678901234567890', new Set())).toBe('12345678901234567890');
  });
});
