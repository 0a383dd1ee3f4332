import { describe, expect, test } from 'vitest';
import { Core, end, flowOf, forkOver, tool } from './flow.ts';

const RETRY = { max: 1, baseMs: 0, capMs: 0, on: ['transient'] } as const;
const two = flowOf({ a: tool('a', 'b', { retry: RETRY }), b: tool('b', 'end'), end: end('[a, b]') });

describe('facts', () => {
  test('L1: the same answer twice is admitted once', () => {
    const core = new Core(two);
    expect(core.answer('0#0', 'x')).toBeNull();
    const before = core.events.length;
    expect(core.answer('0#0', 'x')?.refused).toBe('not-pending');
    expect(core.answer('0#0', 'another')?.refused).toBe('not-pending');
    expect(core.events.length).toBe(before);
    expect(core.state?.threads.get('0')?.slots['a']).toBe('x');
  });

  test('L1: two answers in one batch are one', async () => {
    const { settle } = await import('../../packages/kernel/src/core/settle.ts');
    const core = new Core(two);
    const fact = { type: 'settle', key: '0#0', attempt: 1, result: { ok: true, value: 1 } } as const;
    const { events, refusals } = settle(core.program, core.state, [fact, fact], 1);
    expect(events.filter(({ type }) => type === 'effect.settled')).toHaveLength(1);
    expect([...refusals.keys()]).toEqual([1]);
  });

  test('L1: what belongs to an earlier attempt is refused', () => {
    const core = new Core(two);
    expect(core.fail('0#0', 'transient')).toBeNull();
    expect(core.answer('0#0', 'late', 2, 1)?.refused).toBe('not-pending');
    expect(core.answer('0#0', 'early', 2, 3)?.refused).toBe('not-pending');
    expect(core.answer('0#0', 'good', 3, 2)).toBeNull();
    expect(core.state?.threads.get('0')?.slots['a']).toBe('good');
  });

  test('L1: an answer after the deadline is refused, even without a tick before it', () => {
    const core = new Core(two);
    expect(core.answer('0#0', 'late', 1000)?.refused).toBe('not-pending');
    expect(core.state?.outcome?.code).toBe('TIMEOUT');
    expect(core.events.filter(({ type }) => type === 'effect.settled')).toHaveLength(1);
  });

  test('L1: a second start, a second cancel and anything after the end are refused §pathologies/refusal-to-stop', () => {
    const core = new Core(two);
    expect(core.tell({ type: 'start', run: 'r', flow: two.hash, input: 1, seed: 1, origin: {} }, 1)?.refused).toBe(
      'run-exists',
    );
    expect(core.tell({ type: 'cancel', by: 'ann', why: '' }, 1)).toBeNull();
    expect(core.tell({ type: 'cancel', by: 'ann', why: '' }, 2)?.refused).toBe('run-ended');
    expect(core.answer('0#0', 1)?.refused).toBe('run-ended');
    expect(core.types().filter((type) => type === 'run.ended')).toEqual(['run.ended']);
  });

  test('L1: an answer to a branch that the join dropped is refused', () => {
    const over = {
      heads: [
        { name: 'l', to: 'a' },
        { name: 'r', to: 'b' },
      ],
    };
    const core = new Core(
      flowOf({
        fork: forkOver(over, 'c', { need: 1 }),
        a: tool('a', 'done'),
        b: tool('b', 'done'),
        done: end(),
        c: tool('c', 'end'),
        end: end(),
      }),
    );
    expect(core.answer('0:0.0#0', 1)).toBeNull();
    expect(core.owed).toEqual(['0#1 c']);
    expect(core.answer('0:0.1#0', 1)?.refused).toBe('not-pending');
  });

  test('L1: a tick when nothing is due changes nothing', () => {
    const core = new Core(two);
    expect(core.tell({ type: 'tick' }, 5)?.refused).toBe('nothing-due');
    expect(core.types()).toEqual(['run.started', 'effect.requested']);
  });
});
