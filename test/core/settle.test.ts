/** One turn: many facts, one after the other, on a clock that never goes back. */
import { expect, test } from 'vitest';
import { createProgram, settle } from '@sluice-internal/kernel/core';
import { pure } from '@sluice-internal/engine/ports';
import { redecide } from '../../packages/engine/src/audit/replay.ts';
import { compiled } from '../support/harness.ts';
import { Core, end, flowOf, tool, undoable } from '../laws/flow.ts';

const flow = flowOf({ a: tool('a', 'b'), b: tool('b', 'end'), end: end() });

test('a clock that was set back does not make history run backwards', () => {
  const core = new Core(flow);
  core.answer('0#0', 1, 500);
  core.answer('0#1', 1, 100);
  expect(core.events.map(({ at }) => at).toSorted((a, b) => a - b)).toEqual(core.events.map(({ at }) => at));
  expect(core.events.at(-1)?.at).toBe(500);
});

test('a run may begin at any time', () => {
  const { program } = new Core(flow);
  const start = { type: 'start', run: 'r', flow: flow.hash, input: 1, seed: 1, origin: {} } as const;
  const { state, events } = settle(program, null, [start], 77);
  expect(events.map(({ at }) => at)).toEqual([77, 77]);
  expect(state?.now).toBe(77);
});

test('nothing comes of no facts, and of a turn that only refuses', () => {
  const { program, state } = new Core(flow);
  expect(settle(program, null, [], 1)).toMatchObject({ state: null, events: [] });
  expect(settle(program, state, [], 1).events).toEqual([]);
});

test('a tick that brought something about is not refused; other facts are then judged by what it brought', () => {
  const core = new Core(flow);
  expect(core.tell({ type: 'tick' }, 1000)).toBeNull();
  expect(core.state?.outcome?.code).toBe('TIMEOUT');
  const late = new Core(flow);
  expect(late.answer('0#0', 1, 1000)?.refused).toBe('not-pending');
});

test('every event has the next number', () => {
  const core = new Core(flow);
  core.answer('0#0', 1);
  core.answer('0#1', 1);
  expect(core.events.map(({ seq }) => seq)).toEqual(core.events.map((_, index) => index + 1));
});

test('a compensation is judged like any effect, and its failure names the node that it was for', () => {
  const nodes = { a: undoable('a', 'b'), b: undoable('b', 'c'), c: tool('c', 'end'), end: end() };
  const core = new Core(flowOf(nodes));
  core.answer('0#0', 1);
  core.answer('0#1', 1);
  core.fail('0#2', 'fatal');
  expect(core.owed).toEqual(['0#u3 undo_b']);
  core.fail('0#u3', 'fatal', 2);
  expect(core.events.findLast(({ type }) => type === 'effect.judged')).toMatchObject({
    key: '0#u3',
    verdict: 'failed',
    error: { class: 'fatal', type: 'TestError', node: 'b', code: 'REVIEW_REQUIRED' },
    to: null,
  });
  // While one is under way the thread asks for nothing else.
  expect(core.owed).toEqual(['0#u4 undo_a']);
  expect(core.tell({ type: 'tick' }, 3)?.refused).toBe('nothing-due');
  expect(core.owed).toEqual(['0#u4 undo_a']);
  core.answer('0#u4', null, 4);
  expect(core.events.findLast(({ type }) => type === 'effect.judged')).toMatchObject({ verdict: 'accepted' });
  expect(core.state?.outcome).toMatchObject({ state: 'failed', code: 'REVIEW_REQUIRED' });
});

test('L2: a timer that ends between two facts of a turn is decided again', () => {
  const wait = (id: string, fields: object, to = 'end') => ({ id, type: 'wait', ...fields, routes: [{ to }] });
  const past = { until: '1970-01-01T00:00:01Z' };
  const program = createProgram(
    compiled({
      flow: {
        id: 'f',
        entry: 'all',
        nodes: [
          { id: 'all', type: 'parallel', branches: [{ to: 'one' }, { to: 'a' }, { to: 'b' }] },
          wait('one', past, 'two'),
          wait('two', past),
          wait('a', { signal: 'a' }),
          wait('b', { signal: 'b' }),
        ],
      },
    }),
    pure,
  );
  const start = { type: 'start', run: 'r', flow: program.flow.hash, input: {}, seed: 1, origin: {} } as const;
  const signal = (name: string) => ({ type: 'signal', name, data: 1, by: 'ann' }) as const;
  const began = (): ReturnType<typeof settle> => settle(program, null, [start], 5000);
  // The first signal finds `one` due, and the second finds `two`.
  const { events } = settle(program, began().state, [signal('a'), signal('b')], 6000);
  expect(events.filter(({ type }) => type === 'effect.settled')).toHaveLength(4);
  expect(redecide(program, began().state, events).difference).toBeNull();
});
