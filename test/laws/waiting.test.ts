/** Time in which a run only waits for people does not count towards its own time (decision 63). */
import { describe, expect, test } from 'vitest';
import type { RunState } from '@sluice-internal/kernel/ir';
import { earliest, evolve } from '@sluice-internal/kernel/core';
import { freezeState, thawState } from '@sluice-internal/engine/journal';
import { Core, ask, end, flowOf, forkOver, tool, within } from './flow.ts';

const yes = (core: Core, id: string, at: number) =>
  core.tell({ type: 'answer', id, answer: { choice: 'approve', by: 'ann' } }, at);

describe('the time of a run', () => {
  const asking = flowOf({ a: ask('gate', 'b'), b: tool('b', 'end', { timeoutMs: 9000 }), end: end() }, within(100));

  test('stands still while the run waits for a person', () => {
    const core = new Core(asking);
    expect(earliest(core.state as RunState, -Infinity)).toBeNull();
    expect(core.tell({ type: 'tick' }, 125_000)?.refused).toBe('nothing-due');
    expect(yes(core, 'a_r.0.0', 125_000)).toBeNull();
    expect(core.state).toMatchObject({ deadline: 125_100, waitedMs: 125_000 });
    core.tell({ type: 'tick' }, 125_099);
    expect(core.state?.outcome).toBeNull();
    core.tell({ type: 'tick' }, 125_100);
    expect(core.state?.outcome).toMatchObject({ state: 'failed', code: 'TIMEOUT' });
  });

  test('goes on while another branch works, and the end of it ends the run with its questions', () => {
    const heads = [
      { name: 'person', to: 'a' },
      { name: 'work', to: 'b' },
    ];
    const nodes = {
      f: forkOver({ heads }, 'end'),
      a: ask('gate', 'done'),
      b: tool('b', 'done', { timeoutMs: 9000 }),
      done: end(),
      end: end(),
    };
    const slow = new Core(flowOf(nodes, within(100)));
    slow.tell({ type: 'tick' }, 100);
    expect(slow.state?.outcome).toMatchObject({ state: 'failed', code: 'TIMEOUT' });
    const quick = new Core(flowOf(nodes, within(100)));
    quick.answer('0:0.1#0', 1, 60);
    quick.tell({ type: 'tick' }, 5000);
    expect(yes(quick, 'a_r.0.0.0.0', 5000)).toBeNull();
    expect(quick.state?.outcome).toMatchObject({ state: 'completed' });
    expect(quick.state?.deadline).toBe(5040);
  });

  test('counts again after one of two answers only if there is work', () => {
    const heads = [
      { name: 'one', to: 'a' },
      { name: 'two', to: 'c' },
    ];
    const nodes = {
      f: forkOver({ heads }, 'end'),
      a: ask('gate', 'b'),
      b: tool('b', 'done', { timeoutMs: 9000 }),
      c: ask('other', 'done'),
      done: end(),
      end: end(),
    };
    const core = new Core(flowOf(nodes, within(100)));
    yes(core, 'a_r.0.0.0.0', 1000);
    expect(core.state).toMatchObject({ deadline: 1100 });
    expect(core.state?.waitsSince).toBeUndefined();
    core.answer('0:0.0#1', 1, 1050);
    expect(core.state?.waitsSince).toBe(1050);
    yes(core, 'a_r.0.0.1.0', 9050);
    expect(core.state).toMatchObject({ deadline: 9100, waitedMs: 9000, outcome: { state: 'completed' } });
  });

  test('the journal alone gives the same state, and a snapshot keeps the wait', () => {
    const core = new Core(asking);
    expect(thawState(freezeState(core.state as RunState))).toEqual(core.state);
    yes(core, 'a_r.0.0', 500);
    let folded: RunState | null = null;
    for (const event of core.events) folded = evolve(folded, event);
    expect({ ...folded, wake: 0 }).toEqual({ ...core.state, wake: 0 });
  });

  test('an approval has its own expiry', () => {
    const core = new Core(flowOf({ a: ask('gate', 'end', { timeoutMs: 700 }), end: end('gate') }, within(100)));
    expect(earliest(core.state as RunState, -Infinity)).toBe(700);
    core.tell({ type: 'tick' }, 700);
    expect(core.state?.outcome).toMatchObject({ state: 'completed', output: { choice: 'reject', expired: true } });
  });
});

describe('the deadline that a caller sets', () => {
  const asking = flowOf({ a: ask('gate', 'end'), end: end() }, within(100));

  test('does not move with the waits', () => {
    const core = new Core(asking, 1, { deadline: 3000 });
    expect(earliest(core.state as RunState, -Infinity)).toBe(3000);
    core.tell({ type: 'tick' }, 3000);
    expect(core.state?.outcome).toMatchObject({ state: 'failed', code: 'TIMEOUT' });
    expect(core.types()).toContain('effect.dropped');
  });

  test('bounds calls, also without a wall clock', () => {
    const core = new Core(flowOf({ a: tool('a', 'end', { timeoutMs: 9000 }), end: end() }), 1, { deadline: 50 });
    core.tell({ type: 'tick' }, 50);
    expect(core.state?.outcome).toMatchObject({ state: 'failed', code: 'TIMEOUT' });
  });

  test('that has passed at the start lets nothing run', () => {
    const core = new Core(flowOf({ a: tool('a', 'end'), end: end() }), 1, { deadline: -1 });
    expect(core.types()).not.toContain('effect.requested');
    expect(core.state?.outcome).toMatchObject({ code: 'TIMEOUT' });
  });
});

describe('the deadline of a fork', () => {
  const branches = (exceptPeople: boolean) =>
    flowOf({
      f: forkOver({ heads: [{ name: 'turn', to: 'a' }] }, 'end', {
        timeoutMs: 100,
        ...(exceptPeople ? { exceptPeople: true } : {}),
      }),
      a: tool('a', 'q', { timeoutMs: 9000 }),
      q: ask('gate', 'b'),
      b: tool('b', 'done', { timeoutMs: 9000 }),
      done: end(),
      end: end(),
    });

  test('leaves out the time of people where it says so', () => {
    const core = new Core(branches(true));
    core.answer('0:0.0#0', 1, 60);
    expect(core.tell({ type: 'tick' }, 5000)?.refused).toBe('nothing-due');
    yes(core, 'a_r.0.0.0.1', 5000);
    core.tell({ type: 'tick' }, 5039);
    expect(core.state?.outcome).toBeNull();
    core.tell({ type: 'tick' }, 5040);
    expect(core.state?.outcome).toMatchObject({ state: 'failed', code: 'TIMEOUT' });
  });

  test('counts everything otherwise', () => {
    const core = new Core(branches(false));
    core.answer('0:0.0#0', 1, 60);
    core.tell({ type: 'tick' }, 100);
    expect(core.state?.outcome).toMatchObject({ state: 'failed', code: 'TIMEOUT' });
  });
});
