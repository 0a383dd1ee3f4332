import { expect, test } from 'vitest';
import { Core, NO_RETRY, end, flowOf, set, tool } from './flow.ts';

const slotsOf = (core: Core): object => core.state?.threads.get('0')?.slots ?? {};

test('L3: nothing of an observation that fails its schema is written', () => {
  const core = new Core(
    flowOf({
      a: tool('a', 'end', { schema: { type: 'string' }, failed: [{ when: 'true', to: 'end' }] }),
      end: end('a'),
    }),
  );
  core.answer('0#0', { secret: 1 });
  expect(core.state?.outcome).toMatchObject({ state: 'completed', output: null });
  expect(JSON.stringify(slotsOf(core))).not.toContain('secret');
  expect(slotsOf(core)).toMatchObject({ error: { type: 'SchemaError', class: 'semantic', node: 'a' } });
});

test('L3: nothing of an observation that its guard rejects, or cannot judge, is written', () => {
  for (const accept of ['it.fine', 'it.n + 1 > 0']) {
    const core = new Core(flowOf({ a: tool('a', 'end', { accept }), end: end('a') }));
    core.answer('0#0', { fine: false, value: 'bad' });
    expect(core.state?.outcome?.state).toBe('failed');
    expect(slotsOf(core)).not.toHaveProperty('a');
  }
});

test('L3: all writes of an observation are made, or none', () => {
  const writes = [
    { slot: 'first', mode: 'set', value: 'it.x' },
    { slot: 'second', mode: 'set', value: 'it.x + 1' },
  ] as const;
  const core = new Core(flowOf({ a: tool('a', 'end', { writes }), end: end('null') }));
  core.answer('0#0', { x: 'text' });
  expect(slotsOf(core)).not.toHaveProperty('first');
  expect(core.state?.outcome?.error).toMatchObject({ type: 'ExpressionError' });
});

test('L3: what was observed stays on the journal, accepted or not §terms/observation §handoffs/action-verification', () => {
  const core = new Core(flowOf({ a: tool('a', 'end', { accept: 'false' }), end: end() }));
  core.answer('0#0', 'as it was said');
  expect(core.events.find(({ type }) => type === 'effect.settled')).toMatchObject({
    result: { ok: true, value: 'as it was said' },
  });
  expect(core.types()).not.toContain('slots.written');
});

test('L3: a retried effect writes the accepted attempt only', () => {
  const retry = { ...NO_RETRY, max: 2, on: ['semantic'] as const };
  const core = new Core(flowOf({ a: tool('a', 'end', { accept: 'it > 1', retry }), end: end('a') }));
  core.answer('0#0', 1);
  core.answer('0#0', 2, 2, 2);
  expect(core.state?.outcome?.output).toBe(2);
});

test('L3: writes of a step see the slots as they were before it', () => {
  const swap = {
    op: 'let',
    label: { name: 'swap' },
    writes: [
      { slot: 'a', mode: 'set', value: 'b' },
      { slot: 'b', mode: 'set', value: 'a' },
    ],
    next: 'end',
  } as const;
  const core = new Core(flowOf({ a: set('a', '1', 'b'), b: set('b', '2', 'swap'), swap, end: end('[a, b]') }));
  expect(core.state?.outcome?.output).toEqual([2, 1]);
});
