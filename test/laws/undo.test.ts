import { outstanding } from '@sluice-internal/kernel/core';
import type { RunState } from '@sluice-internal/kernel/ir';
import { describe, expect, test } from 'vitest';
import { Core, NO_RETRY, end, flowOf, forkOver, meter, set, tool, undoable, within } from './flow.ts';

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

describe('only what was sent is undone', () => {
  const heads = [
    { name: 'l', to: 'a' },
    { name: 'r', to: 'b' },
  ];
  const racing = (need: 'all' | number, more: Partial<Parameters<typeof forkOver>[2]> = {}): Core =>
    new Core(
      flowOf({
        fork: forkOver({ heads }, 'end', { need, eager: true, ...more }),
        a: tool('a', 'b2', { effect: { input: { x: 'input' }, reserve: { toolCalls: 1 } } }),
        b2: undoable('b2', 'done'),
        b: tool('b', 'done'),
        done: end(),
        end: end(),
      }),
    );
  /** Both results arrive at once: the first branch requests `b2`, and the second one ends the join in the same turn. */
  const inOneTurn = async (core: Core, ok = true): Promise<void> => {
    const { settle } = await import('../../packages/kernel/src/core/settle.ts');
    const failure = { ok: false, error: { class: 'fatal', type: 'E', message: '' } } as const;
    const turn = settle(
      core.program,
      core.state,
      [
        { type: 'settle', key: '0:0.0#0', attempt: 1, result: { ok: true, value: 1 } },
        { type: 'settle', key: '0:0.1#0', attempt: 1, result: ok ? { ok: true, value: 2 } : failure },
      ],
      2,
    );
    core.state = turn.state;
    core.events.push(...turn.events);
  };

  test.each([
    ['any', 1, true],
    ['count', 1, true],
    ['all, and a sibling fails', 'all', false],
  ] as const)('L7: a join `%s` undoes and counts nothing that it dropped before it was sent', async (_, need, ok) => {
    const core = racing(need);
    await inOneTurn(core, ok);
    expect(core.types()).toContain('effect.dropped');
    expect(core.events.find(({ type }) => type === 'drop.answered')).toMatchObject({ key: '0:0.0#1', sent: 'no' });
    expect(undone(core)).toEqual([]);
    expect(core.state?.usage).toMatchObject({ toolCalls: 2 });
    expect(core.state?.outcome).not.toBeNull();
  });

  test.each(['yes', 'no'] as const)('L7: the host says `%s`, and only then it is decided', (sent) => {
    const core = new Core(flowOf({ a: undoable('a', 'end'), end: end() }));
    core.sent = null;
    core.tell({ type: 'cancel', by: 'ann', why: '' }, 2);
    expect(core.owed).toEqual([]);
    expect(core.state?.outcome).toBeNull();
    expect(core.tell({ type: 'dropped', key: '0#0', sent }, 3)).toBeNull();
    expect(core.tell({ type: 'dropped', key: '0#0', sent: 'yes' }, 3)).not.toBeNull();
    expect(undone(core)).toEqual(sent === 'yes' ? ['0#0'] : []);
    expect(core.state?.usage['toolCalls']).toBe(sent === 'yes' ? 1 : 0);
    expect(core.state?.outcome === null).toBe(sent === 'yes');
  });

  test('L4: what a dropped call reserved is free again if it was not sent', () => {
    const core = new Core(
      flowOf(
        {
          fork: forkOver({ heads }, 'c', { need: 1, eager: true }),
          a: tool('a', 'done', { charges: ['budget.toolCalls'] }),
          b: tool('b', 'done', { charges: ['budget.toolCalls'] }),
          done: end(),
          c: tool('c', 'end', { charges: ['budget.toolCalls'] }),
          end: end(),
        },
        { meters: { 'budget.toolCalls': meter('toolCalls', 2) } },
      ),
    );
    core.sent = null;
    core.answer('0:0.0#0', 1);
    expect(core.owed).toEqual([]);
    core.tell({ type: 'dropped', key: '0:0.1#0', sent: 'no' }, 2);
    expect(core.owed).toEqual(['0#1 c']);
  });

  test('L7: a call whose time was over before it was sent is not undone', () => {
    const core = new Core(flowOf({ a: undoable('a', 'end'), end: end() }));
    core.sent = 'no';
    core.tell({ type: 'tick' }, 1000);
    expect(undone(core)).toEqual([]);
    expect(core.state?.outcome).toMatchObject({ code: 'TIMEOUT', error: { type: 'DeadlineError' } });
  });

  const unknown = (unclear?: object, origin = {}): Core => {
    const undo = {
      tool: 'undo_a',
      input: { x: 'input' },
      timeoutMs: 500,
      ...(unclear === undefined ? {} : { unclear }),
    };
    const core = new Core(flowOf({ a: { ...undoable('a', 'end'), undo } as never, end: end() }), 7, origin);
    core.sent = 'unknown';
    core.tell({ type: 'cancel', by: 'ann', why: '' }, 2);
    return core;
  };
  const question = (core: Core): string => [...(core.state?.pending.values() ?? [])][0]?.question?.id ?? '';

  test.each(['approve', 'reject'] as const)('L7: nobody knows if it was sent, so a person decides: %s', (choice) => {
    const core = unknown();
    expect(undone(core)).toEqual([]);
    core.tell({ type: 'answer', id: question(core), answer: { choice, by: 'ann' } }, 3);
    expect(undone(core)).toEqual(choice === 'approve' ? ['0#0'] : []);
  });

  test('L6: a run that stops waits for its person, and the end of its time wakes it no more', () => {
    const core = unknown(undefined, { deadline: 100 });
    expect(core.owed).toEqual(['0#u1 a']);
    expect(core.tell({ type: 'tick' }, 100)?.refused).toBe('nothing-due');
    expect(outstanding(core.program, core.state as RunState).wake).toBeNull();
    core.tell({ type: 'answer', id: question(core), answer: { choice: 'approve', by: 'ann' } }, 200);
    expect(undone(core)).toEqual(['0#0']);
  });

  test('L6: a branch that asks wakes no run that has undone the rest, when the time of the run is over', () => {
    const undo = { tool: 'undo_a', input: { x: 'input' }, timeoutMs: 500 };
    const heads = [{ name: 'l', to: 'a' }];
    const nodes = {
      fork: forkOver({ heads }, 'b', { timeoutMs: 40, failed: [{ when: 'true', to: 'b' }] as never }),
      a: { ...undoable('a', 'done'), undo, timeoutMs: null } as never,
      done: end(),
      b: undoable('b', 'c'),
      c: tool('c', 'end'),
      end: end(),
    };
    const core = new Core(flowOf(nodes, within(150)));
    core.sent = 'unknown';
    core.tell({ type: 'tick' }, 40);
    core.answer('0#1', 1, 50);
    core.fail('0#2', 'fatal', 60);
    core.answer('0#u3', null, 70);
    expect(core.owed).toEqual(['0:0.0#u0 a']);
    expect(core.tell({ type: 'tick' }, 150)?.refused).toBe('nothing-due');
    expect(outstanding(core.program, core.state as RunState).wake).toBeNull();
    core.tell({ type: 'answer', id: question(core), answer: { choice: 'reject', by: 'ann' } }, 200);
    expect(core.state?.outcome).toMatchObject({ state: 'failed', code: 'UNAVAILABLE_DEP' });
  });

  test('L6: nobody answers, and a second cancellation ends the run for review', () => {
    const core = unknown();
    core.tell({ type: 'cancel', by: 'ann', why: '' }, 3);
    expect(core.state?.outcome?.code).toBe('REVIEW_REQUIRED');
    expect(undone(core)).toEqual([]);
  });

  test.each([
    [true, ['0#0']],
    [{ found: false }, []],
    [null, []],
  ])('L7: a lookup that gives %j finds out if it happened', (found, expected) => {
    const core = unknown({ lookup: { tool: 'look', input: { args: 'input' }, timeoutMs: 500 } });
    expect(core.owed).toEqual(['0#u1 look']);
    core.answer('0#u1', found, 3);
    expect(undone(core)).toEqual(expected);
  });

  test('L7: an idempotent call is made again under its own key, and its result is undone', () => {
    const core = unknown({ again: true });
    expect(core.owed).toEqual(['0#0 a']);
    core.answer('0#0', 'made', 3, 2);
    expect(undone(core)).toEqual(['0#0']);
    expect(core.state?.threads.get('0')?.undo).toMatchObject([{ ran: 'yes', result: 'made' }]);
  });

  test('L7: if a lookup fails, a person decides', () => {
    const core = unknown({ lookup: { tool: 'look', input: { args: 'input' }, timeoutMs: 500 } });
    core.fail('0#u1', 'fatal', 3);
    expect(question(core)).not.toBe('');
  });

  test('L4: undo calls have a budget of their own, and no tool call pays for them', () => {
    const nodes = {
      a: undoable('a', 'b', { charges: ['budget.undoCalls', 'budget.toolCalls'] }),
      b: undoable('b', 'c', { charges: ['budget.undoCalls', 'budget.toolCalls'] }),
      c: tool('c', 'end'),
      end: end(),
    };
    const meters = { 'budget.undoCalls': meter('undoCalls', 1), 'budget.toolCalls': meter('toolCalls', 9) };
    const core = new Core(flowOf(nodes, { meters }));
    core.answer('0#0', 1);
    core.answer('0#1', 2);
    core.fail('0#2', 'fatal');
    core.answer('0#u3', null, 4);
    expect(undone(core)).toEqual(['0#1']);
    expect(core.events.find(({ type }) => type === 'undo.denied')).toMatchObject({ undoes: '0#0' });
    expect(core.state?.outcome?.code).toBe('REVIEW_REQUIRED');
    expect(core.state?.usage).toMatchObject({ toolCalls: 3, undoCalls: 1 });
    expect(core.state?.spent).toMatchObject({ 'budget.undoCalls': 1, 'budget.toolCalls': 2 });
  });
});

describe('a call in flight at a crash', () => {
  test('L8: it gets its full time again, and the time in which nobody worked ends no call and no join', () => {
    const core = new Core(
      flowOf({
        fork: forkOver({ heads: [{ name: 'l', to: 'a' }] }, 'end', { timeoutMs: 1500 }),
        a: tool('a', 'done'),
        done: end(),
        end: end(),
      }),
    );
    core.tell({ type: 'resume' }, 60_000);
    expect(core.owed).toEqual(['0:0.0#0 a']);
    core.tell({ type: 'tick' }, 60_999);
    expect(core.owed).toEqual(['0:0.0#0 a']);
    core.answer('0:0.0#0', 1, 60_999);
    expect(core.state?.outcome?.code).toBe('SUCCESS');
  });

  test('L8: after as many crashes as the graph allows, its outcome is unknown', () => {
    const core = new Core(flowOf({ a: tool('a', 'end', { recalls: 2, retry: RETRY }), end: end() }));
    core.tell({ type: 'resume' }, 10);
    core.tell({ type: 'resume' }, 20);
    expect(core.owed).toEqual(['0#0 a']);
    core.tell({ type: 'resume' }, 30);
    expect(core.state?.outcome).toMatchObject({ code: 'TIMEOUT', error: { type: 'UnknownOutcome' } });
  });

  test('L8: a call without a key is not made again', () => {
    const core = new Core(
      flowOf({
        a: undoable('a', 'end', { recalls: 0, failed: [{ when: 'error.type == "UnknownOutcome"', to: 'end' }] }),
        end: end(),
      }),
    );
    core.tell({ type: 'resume' }, 10);
    expect(core.owed).toEqual([]);
    expect(core.state?.outcome?.code).toBe('SUCCESS');
  });

  test('L8: the time of the run goes on while nobody works', () => {
    const core = new Core(flowOf({ a: tool('a', 'end'), end: end() }, within(5000)));
    core.tell({ type: 'resume' }, 6000);
    core.tell({ type: 'tick' }, 6000);
    expect(core.state?.outcome?.code).toBe('TIMEOUT');
  });
});
