import { describe, expect, test } from 'vitest';
import { Core, NO_RETRY, end, flowOf, forkOver, set, tool, undoable } from './flow.ts';

const undone = (core: Core): string[] =>
  core.events.flatMap((event) => (event.type === 'undo.requested' ? [event.undoes] : []));
const RETRY = { ...NO_RETRY, max: 1, on: ['transient', 'timeout'] } as const;

describe('compensations', () => {
  test('L7: they are on the journal before the effect can have happened, with their arguments', () => {
    const core = new Core(flowOf({ a: undoable('a', 'end'), end: end() }), 'order 7');
    expect(core.events[1]).toMatchObject({
      type: 'effect.requested',
      undo: { tool: 'undo_a', args: { x: 'order 7' }, timeoutMs: 500 },
    });
  });

  test('L8: their arguments have the same text before and after a restart', () => {
    const undo = { tool: 'undo_a', input: { to: 'input.x', amount: '1' }, timeoutMs: 500 };
    const core = new Core(flowOf({ a: { ...undoable('a', 'end'), undo }, end: end() }), 'order 7');
    const event = core.events[1] as { readonly undo?: { readonly args: object } };
    expect(Object.keys(event.undo?.args ?? {})).toEqual(['amount', 'to']);
  });

  test('L7: last in, first out, each once, with what the effect came to', () => {
    const core = new Core(flowOf({ a: undoable('a', 'b'), b: undoable('b', 'c'), c: tool('c', 'end'), end: end() }));
    core.answer('0#0', 'made a');
    core.answer('0#1', 'made b');
    core.fail('0#2', 'fatal');
    expect(core.owed).toEqual(['0#u3 undo_b']);
    expect(core.answer('0#u3', null)).toBeNull();
    expect(core.answer('0#u3', null)?.refused).toBe('not-pending');
    expect(core.owed).toEqual(['0#u4 undo_a']);
    expect(core.state?.threads.get('0')?.undo).toMatchObject([{ key: '0#0', ran: 'yes', result: 'made a' }]);
    core.answer('0#u4', null);
    expect(core.state?.outcome).toMatchObject({ state: 'failed', code: 'UNAVAILABLE_DEP' });
    expect(undone(core)).toEqual(['0#1', '0#0']);
  });

  test('L7: what failed has changed nothing and is not undone', () => {
    const core = new Core(
      flowOf({ a: undoable('a', 'end', { failed: [{ when: 'true', to: 'b' }] }), b: tool('b', 'end'), end: end() }),
    );
    core.fail('0#0', 'fatal');
    core.fail('0#1', 'fatal');
    expect(undone(core)).toEqual([]);
    expect(core.state?.outcome?.state).toBe('failed');
  });

  test('L7: an attempt that succeeded after one that failed is undone', () => {
    const core = new Core(flowOf({ a: undoable('a', 'b', { retry: RETRY }), b: tool('b', 'end'), end: end() }));
    core.fail('0#0', 'transient');
    core.answer('0#0', 'made', 2, 2);
    core.fail('0#1', 'fatal', 3);
    expect(undone(core)).toEqual(['0#0']);
  });

  test('L7: an attempt that may have happened is undone, with any result of later attempts', () => {
    const core = new Core(flowOf({ a: undoable('a', 'end', { retry: RETRY }), end: end() }));
    core.fail('0#0', 'timeout');
    core.fail('0#0', 'fatal', 2, 2);
    expect(undone(core)).toEqual(['0#0']);
  });

  test('L7: a rejected observation was an effect all the same', () => {
    const core = new Core(flowOf({ a: undoable('a', 'end', { accept: 'false' }), end: end() }));
    core.answer('0#0', 'made');
    expect(undone(core)).toEqual(['0#0']);
  });

  test('L7: a call that took effect is undone and not repeated, also if its result was refused', () => {
    const retry = { ...RETRY, on: ['semantic'] } as const;
    const core = new Core(flowOf({ a: undoable('a', 'end', { retry }), end: end() }));
    const error = { class: 'semantic', type: 'TooLargeError', message: 'too large', ran: true } as const;
    core.tell({ type: 'settle', key: '0#0', attempt: 1, result: { ok: false, error } }, 1);
    expect(undone(core)).toEqual(['0#0']);
    core.tell({ type: 'settle', key: '0#u1', attempt: 1, result: { ok: false, error } }, 2);
    expect(core.state?.outcome?.code).not.toBe('REVIEW_REQUIRED');
  });

  test('L7: a run that completed keeps what it did', () => {
    const core = new Core(flowOf({ a: undoable('a', 'end'), end: end() }));
    core.answer('0#0', 1);
    expect(core.state?.outcome?.state).toBe('completed');
    expect(undone(core)).toEqual([]);
  });

  test('L7: cancellation undoes what ran and what may be running', () => {
    const core = new Core(flowOf({ a: undoable('a', 'b'), b: undoable('b', 'end'), end: end() }));
    core.answer('0#0', 1);
    core.tell({ type: 'cancel', by: 'ann', why: '' }, 2);
    core.answer('0#u2', null, 3);
    core.answer('0#u3', null, 4);
    expect(undone(core)).toEqual(['0#1', '0#0']);
    expect(core.state?.outcome?.code).toBe('USER_CANCEL');
  });

  test('L7: what is known by the time of a cancellation is not forgotten', async () => {
    const { settle } = await import('../../packages/kernel/src/core/settle.ts');
    const flow = flowOf({
      fork: forkOver(
        {
          heads: [
            { name: 'l', to: 'a' },
            { name: 'r', to: 'b' },
          ],
        },
        'end',
      ),
      a: undoable('a', 'done'),
      b: undoable('b', 'done'),
      done: end(),
      end: end(),
    });
    const core = new Core(flow);
    const failure = { class: 'fatal', type: 'E', message: '' } as const;
    const { events } = settle(
      core.program,
      core.state,
      [
        { type: 'settle', key: '0:0.0#0', attempt: 1, result: { ok: true, value: 'made' } },
        { type: 'settle', key: '0:0.1#0', attempt: 1, result: { ok: false, error: failure } },
        { type: 'cancel', by: 'ann', why: '' },
      ],
      2,
    );
    expect(events.flatMap((event) => (event.type === 'undo.requested' ? [event.undoes] : []))).toEqual(['0:0.0#0']);
    expect(core.state?.threads.get('0')?.undo).toMatchObject([{ ran: 'yes', result: 'made' }]);
  });

  test('L7: branches that ran together are undone in the reverse of the order in which they began', () => {
    const heads = [
      { name: 'l', to: 'a' },
      { name: 'r', to: 'b' },
    ];
    const core = new Core(
      flowOf({
        fork: forkOver({ heads }, 'c'),
        a: undoable('a', 'done'),
        b: undoable('b', 'done'),
        done: end(),
        c: tool('c', 'end'),
        end: end(),
      }),
    );
    core.answer('0:0.1#0', 'b first');
    core.answer('0:0.0#0', 'then a', 2);
    core.fail('0#1', 'fatal', 3);
    core.answer('0#u2', null, 4);
    expect(undone(core)).toEqual(['0:0.1#0', '0:0.0#0']);
  });

  test('L7: a branch that failed or was dropped undoes its own work, and the run waits for that', () => {
    const heads = [
      { name: 'l', to: 'a' },
      { name: 'r', to: 'b' },
    ];
    const core = new Core(
      flowOf({
        fork: forkOver({ heads }, 'end', { need: 1 }),
        a: tool('a', 'done'),
        b: undoable('b', 'c'),
        c: tool('c', 'done'),
        done: end(),
        end: end(),
      }),
    );
    core.answer('0:0.1#0', 'made b');
    core.answer('0:0.0#0', 1, 2);
    expect(core.state?.outcome).toBeNull();
    expect(core.owed).toEqual(['0:0.1#u0 undo_b']);
    core.answer('0:0.1#u0', null, 3);
    expect(core.state?.outcome).toMatchObject({ state: 'completed', code: 'SUCCESS' });
  });

  test('L7: a failed undo is recorded, the rest still run, and a person has to review', () => {
    const core = new Core(flowOf({ a: undoable('a', 'b'), b: undoable('b', 'c'), c: tool('c', 'end'), end: end() }));
    core.answer('0#0', 1);
    core.answer('0#1', 1);
    core.fail('0#2', 'fatal');
    core.fail('0#u3', 'fatal');
    core.answer('0#u4', null);
    expect(undone(core)).toEqual(['0#1', '0#0']);
    expect(core.state?.outcome).toMatchObject({ state: 'failed', code: 'REVIEW_REQUIRED' });
  });
});

describe('work that is repeated', () => {
  const nodes = (undoes: 'all' | readonly string[]) => ({
    a: undoable('a', 'b'),
    b: undoable('b', 'again', { label: { name: 'sop/b' } }),
    again: { ...set('x', '1', 'c'), undoes },
    c: tool('c', 'end'),
    end: end(),
  });
  const started = (undoes: 'all' | readonly string[]): Core => {
    const core = new Core(flowOf(nodes(undoes)));
    core.answer('0#0', 'made a');
    core.answer('0#1', 'made b');
    return core;
  };

  test('L7: it is undone first, last in first out, and then the thread goes on', () => {
    const core = started('all');
    expect(core.owed).toEqual(['0:2.0#u0 undo_b']);
    core.answer('0:2.0#u0', null);
    expect(core.owed).toEqual(['0:2.0#u1 undo_a']);
    core.answer('0:2.0#u1', null);
    expect(undone(core)).toEqual(['0#1', '0#0']);
    expect(core.owed).toEqual(['0#3 c']);
    core.fail('0#3', 'fatal');
    expect(undone(core)).toEqual(['0#1', '0#0']);
    expect(core.state?.outcome?.state).toBe('failed');
  });

  test('L7: work before it stays, and is undone if the run fails later', () => {
    const core = started(['sop']);
    expect(core.owed).toEqual(['0:2.0#u0 undo_b']);
    core.answer('0:2.0#u0', null);
    core.fail('0#3', 'fatal');
    expect(undone(core)).toEqual(['0#1', '0#0']);
  });

  test('L7: a name that only begins alike is other work', () => {
    expect(started(['so']).owed).toEqual(['0#2 c']);
  });

  test('L7: it is not repeated if it cannot be undone; the rest is undone, and the run asks for a review', () => {
    const core = started(['sop']);
    core.fail('0:2.0#u0', 'fatal');
    expect(core.owed).toEqual(['0#u3 undo_a']);
    core.answer('0#u3', null);
    expect(core.state?.outcome).toMatchObject({ state: 'failed', code: 'REVIEW_REQUIRED' });
  });

  test('L7: a run that is cancelled meanwhile undoes the rest, and nothing twice', () => {
    const core = started(['sop']);
    core.tell({ type: 'cancel', by: 'ann', why: '' }, 2);
    expect(core.owed).toEqual(['0:2.0#u0 undo_b', '0#u3 undo_a']);
    core.answer('0:2.0#u0', null);
    core.answer('0#u3', null);
    expect(undone(core)).toEqual(['0#1', '0#0']);
    expect(core.state?.outcome).toMatchObject({ state: 'cancelled', code: 'USER_CANCEL' });
  });

  test('L7: a dropped branch is undone before the work is repeated', () => {
    const heads = [
      { name: 'l', to: 'a' },
      { name: 'r', to: 'slow' },
    ];
    const core = new Core(
      flowOf({
        fork: forkOver({ heads }, 'end', { timeoutMs: 10, fail: 'again' }),
        a: undoable('a', 'a2'),
        a2: tool('a2', 'done'),
        slow: tool('slow', 'done'),
        done: end(),
        again: { ...set('x', '1', 'c'), undoes: 'all' },
        c: tool('c', 'end'),
        end: end(),
      }),
    );
    core.answer('0:0.0#0', 'made a');
    core.tell({ type: 'tick' }, 20);
    expect(core.owed).toEqual(['0:0.0#u0 undo_a']);
    core.answer('0:0.0#u0', null, 21);
    expect(core.owed).toEqual(['0#1 c']);
  });
});
