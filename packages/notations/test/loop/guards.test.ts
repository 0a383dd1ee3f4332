/** Guards of a loop and conditions that fail closed: what cannot be told ends the run, and fields of the input are read. */
import { describe, expect, test } from 'vitest';
import type { Json } from '@sluice-internal/kernel/expr';
import { compileLoop, drive } from './drive.ts';

const DOCUMENT = {
  agents: [{ id: 'bot', tools: ['doc.put'] }],
  tools: { 'doc.put': { effect: 'write' } },
  boundary: { tools: { allow: ['doc.put'] } },
};
const put = (args: { [name: string]: Json }) => ({ tools: [{ name: 'doc.put', args }], text: '' });
const SCRIPT = { agents: { bot: ['It is old.'] }, tools: { 'doc.put': [{ result: true }] } };

async function guarded(guards: readonly object[], input?: string) {
  const flow = compileLoop({ ...DOCUMENT, loop: { agent: 'bot', guards } });
  return (await drive(flow, SCRIPT, input === undefined ? {} : { input })).report;
}

describe('guards', () => {
  test.each(['1 / 0 == 1', 'int(goal) > 0', 'goal > 5', 'goal'])(
    '%s cannot be told, so nobody is called',
    async (when) => {
      const report = await guarded([{ when, code: 'IMPOSSIBLE', reason: 'No.' }]);
      expect(report).toMatchObject({ state: 'failed', code: 'IMPOSSIBLE', usage: { modelCalls: 0 } });
      expect(report.error?.message).toBe('this guard cannot be evaluated: No.');
    },
  );

  test('each ends the run under its own code, the first one first', async () => {
    const guards = [
      { when: 'goal.contains("bomb")', reason: 'Unsafe.' },
      { when: '1 / 0 == 1', code: 'PERMISSION_DENIED', reason: 'Unclear.' },
      { when: 'goal.contains("old")', code: 'IMPOSSIBLE', reason: 'Never.' },
    ];
    expect((await guarded(guards, 'a bomb')).error?.message).toBe('Unsafe.');
    expect((await guarded(guards, 'an old one')).code).toBe('PERMISSION_DENIED');
    expect((await guarded(guards.toSpliced(1, 1), 'an old one')).error?.message).toBe('Never.');
    expect((await guarded(guards.toSpliced(1, 1), 'a new one')).code).toBe('SUCCESS');
  });

  test('a comment at the end of one changes nothing', async () => {
    expect((await guarded([{ when: 'goal == "x" // not that one', reason: 'No.' }])).code).toBe('SUCCESS');
  });

  test.each([
    ['input.order == "A"', '{"order":"A"}', 'UNSAFE_DETECTION'],
    ['input["order"] == "A"', 'please: {"order":"A"}', 'UNSAFE_DETECTION'],
    ['["order"].exists(k, input[k] == "A")', '{"order":"A"}', 'UNSAFE_DETECTION'],
    ['has(input.order)', '{"order":"A"}', 'UNSAFE_DETECTION'],
    ['input.amount > 5', '{"amount":6}', 'UNSAFE_DETECTION'],
    ['input.amount > 5', '{"amount":"6"}', 'UNSAFE_DETECTION'],
    ['input.amount > 5', '{"amount":4}', 'SUCCESS'],
    ['input.amount > 5', 'no fields at all', 'SUCCESS'],
    ['input.contains("amount")', '{"amount":4}', 'UNSAFE_DETECTION'],
    ['goal.contains("amount")', '{"amount":4}', 'UNSAFE_DETECTION'],
  ])('%s of %s: %s', async (when, input, code) => {
    expect((await guarded([{ when, reason: 'No.' }], input)).code).toBe(code);
  });
});

describe('what must hold of an answer', () => {
  test.each([
    ['{"order":"A"}', 'SUCCESS'],
    ['{"order":"B"}', 'VALIDATION_FAIL'],
  ])('may depend on a field of the input: %s', async (input, code) => {
    const flow = compileLoop({
      ...DOCUMENT,
      loop: { agent: 'bot', criteria: [{ when: 'input.order == "A"', reason: 'Another order.' }] },
    });
    expect((await drive(flow, SCRIPT, { input })).report.code).toBe(code);
  });
});

describe('conditions that fail closed', () => {
  async function called(when: string, args: { [name: string]: Json }, input = 'go') {
    const flow = compileLoop({
      ...DOCUMENT,
      boundary: { ...DOCUMENT.boundary, fail_closed: [{ what: 'too much', when }] },
      loop: { agent: 'bot' },
    });
    const script = { ...SCRIPT, agents: { bot: [put(args), 'It is old.'] } };
    const { usage, code } = (await drive(flow, script, { input })).report;
    return [code, usage.toolCalls];
  }
  const closed = ['UNSAFE_DETECTION', 0];

  test.each(['9', 'abc', true, [9], { is: 9 }])('a number is wanted and %j is given', async (t) => {
    expect(await called('args.t > 3', { t })).toEqual(closed);
  });

  test('what is not given is not too much', async () => {
    expect(await called('args.t > 3', {})).toEqual(['SUCCESS', 1]);
    expect(await called('args.t > 3', { t: 3 })).toEqual(['SUCCESS', 1]);
  });

  test('a field of the input', async () => {
    expect(await called('input.blocked == true', {}, '{"blocked":true}')).toEqual(closed);
    expect(await called('input.blocked == true', {}, '{"blocked":false}')).toEqual(['SUCCESS', 1]);
  });
});
