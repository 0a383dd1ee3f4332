/** Why a fact is refused, in which words, and what the clock alone brings about. */
import { describe, expect, test } from 'vitest';
import type { Fact } from '../../src/ir/events.ts';
import { settle } from '../../src/core/settle.ts';
import { Core, ask, end, flowOf, forkOver, tool, undoable, within } from '../../../../test/laws/flow.ts';

const HEADS = {
  heads: [
    { name: 'l', to: 'a' },
    { name: 'r', to: 'b' },
  ],
};
const CANCEL: Fact = { type: 'cancel', by: 'ann', why: 'enough' };

describe('a fact is refused in words that say why', () => {
  test('when there is no run', () => {
    const { program } = new Core(flowOf({ end: end() }));
    const { state, events, refusals } = settle(program, null, [CANCEL, { type: 'tick' }], 1);
    expect({ state, events }).toEqual({ state: null, events: [] });
    const none = { refused: 'run-not-found', message: 'there is no such run' };
    expect([...refusals.values()]).toEqual([none, none]);
  });

  test('when the run has ended, exists already, or is stopping', () => {
    const core = new Core(flowOf({ a: undoable('a', 'b'), b: tool('b', 'end'), end: end() }));
    const again: Fact = { type: 'start', run: 'r', flow: core.program.flow.hash, input: 1, seed: 1, origin: {} };
    expect(core.tell(again, 1)).toEqual({ refused: 'run-exists', message: 'run r exists' });
    core.answer('0#0', 1);
    expect(core.tell(CANCEL, 2)).toBeNull();
    expect(core.owed).toEqual(['0#u2 undo_a']);
    expect(core.tell(CANCEL, 3)).toEqual({ refused: 'run-ended', message: 'run `r` is already stopping' });
    core.answer('0#u2', null, 4);
    expect(core.state?.outcome?.state).toBe('cancelled');
    expect(core.tell(CANCEL, 5)).toEqual({ refused: 'run-ended', message: 'run `r` has ended with USER_CANCEL' });
  });

  test('when nothing is pending or due', () => {
    const core = new Core(flowOf({ a: tool('a', 'end'), end: end() }));
    expect(core.answer('0#9', 1, 1, 2)).toEqual({
      refused: 'not-pending',
      message: 'nothing is pending under 0#9, attempt 2',
    });
    expect(core.tell({ type: 'tick' }, 1)).toEqual({ refused: 'nothing-due', message: 'nothing is due yet' });
  });

  test('when an answer does not fit its question', () => {
    const core = new Core(flowOf({ gate: ask('gate', 'a'), a: tool('a', 'end'), end: end() }));
    const give = (more: object, id = 'a_r.0.0'): unknown =>
      core.tell({ type: 'answer', id, answer: { choice: 'approve', by: 'ann', ...more } }, 1);
    const refused = (reason: string, message: string, answer: object): object => ({
      refused: reason,
      message,
      events: [
        { type: 'answer.refused', key: '0#0', answer: { choice: 'approve', by: 'ann', ...answer }, reason, at: 1 },
      ],
    });
    expect(give({ choice: 'maybe' })).toMatchObject(
      refused('not-a-choice', '`maybe` is not a choice of `a_r.0.0`: approve, reject', { choice: 'maybe' }),
    );
    expect(give({ payload: 'another' })).toMatchObject(
      refused('stale-payload', 'the question `a_r.0.0` has changed since this answer was given', {
        payload: 'another',
      }),
    );
    expect(give({ by: 'bot' })).toMatchObject(
      refused('self-approval', '`bot` asked `a_r.0.0` and may not answer it', { by: 'bot' }),
    );
    const closed = { refused: 'approval-closed', message: 'no open question has the id `a_r.0.7`' };
    expect(give({}, 'a_r.0.7')).toEqual(closed);
    expect(give({})).toBeNull();
    // The tool that is pending now is no question.
    expect(give({}, 'a_r.0.1')).toEqual({ ...closed, message: 'no open question has the id `a_r.0.1`' });
  });
});

describe('the clock', () => {
  test('of a fork stood still for the second level of a question', () => {
    const gate = ask('gate', 'end');
    const escalation = { afterMs: 100, people: ['eve'] };
    const approvers = { people: ['ann'], quorum: 1, counted: ['approve'], escalation };
    const effect = { ...gate.effect, approvers } as typeof gate.effect;
    const core = new Core(flowOf({ gate: { ...gate, effect }, end: end() }));
    expect(core.tell({ type: 'fork', by: 'ops', edits: [] }, 1_060)).toBeNull();
    const escalatedAt = (): unknown => core.state?.pending.get('0#0')?.escalateAt;
    expect(escalatedAt()).toBe((core.state?.startedAt ?? 0) + 100);
    expect(core.tell({ type: 'tick' }, 1_070)).toMatchObject({ refused: 'nothing-due' });
    expect(core.tell({ type: 'tick' }, Number(escalatedAt()))).toBeNull();
    expect(core.state?.pending.get('0#0')).toMatchObject({ escalated: true });
  });

  test('wakes a run at the earliest of its deadlines, and of those to come at the next', () => {
    const heads = [...HEADS.heads, { name: 'u', to: 'c' }];
    const fork = forkOver({ heads }, 'end', { timeoutMs: 300 });
    const a = tool('a', 'done', { timeoutMs: 100 });
    const b = tool('b', 'done', { timeoutMs: 200 });
    const c = tool('c', 'done', { timeoutMs: null });
    const core = new Core(flowOf({ fork, a, b, c, done: end(), end: end() }));
    expect(core.state?.wake).toBe(100);
    core.tell({ type: 'tick' }, 100);
    expect(core.owed).toEqual(['0:0.1#0 b', '0:0.2#0 c']);
    expect(core.state?.wake).toBe(200);
    core.tell({ type: 'tick' }, 200);
    expect(core.state?.wake).toBe(300);
    // That it was looked at is recorded only where the time itself decides something.
    expect(core.types()).not.toContain('clock.read');
    core.tell({ type: 'tick' }, 300);
    expect(core.types()).toContain('clock.read');
  });

  test('is not recorded where a fork has no deadline', () => {
    const nodes = { fork: forkOver(HEADS, 'end'), a: tool('a', 'done'), b: tool('b', 'done'), done: end(), end: end() };
    const core = new Core(flowOf(nodes));
    core.tell({ type: 'tick' }, 1000);
    expect(core.types()).toContain('fork.joined');
    expect(core.types()).not.toContain('clock.read');
  });

  test('counts the deadline of the whole run and that of a fork', () => {
    const untimed = { timeoutMs: null };
    const whole = flowOf({ a: tool('a', 'end', untimed), end: end() }, within(700));
    const core = new Core(whole);
    expect(core.state?.wake).toBe(700);
    const fork = forkOver(HEADS, 'end', { timeoutMs: 300 });
    const nodes = { fork, a: tool('a', 'done', untimed), b: tool('b', 'done', untimed), done: end(), end: end() };
    expect(new Core(flowOf(nodes)).state?.wake).toBe(300);
  });

  test('ends a run whose time is over, and says that it was the clock', () => {
    const core = new Core(flowOf({ a: tool('a', 'end', { timeoutMs: null }), end: end() }, within(700)));
    core.tell({ type: 'tick' }, 699);
    expect(core.state?.outcome).toBeNull();
    core.tell({ type: 'tick' }, 700);
    expect(core.state?.outcome).toMatchObject({ state: 'failed', code: 'TIMEOUT' });
    expect(core.events.find(({ type }) => type === 'effect.dropped')).toMatchObject({ key: '0#0', why: 'halt' });
    expect(core.events.find(({ type }) => type === 'run.halted')).toMatchObject({
      by: 'clock',
      why: 'the run had no time left',
    });
    const before = core.events.length;
    expect(core.tell({ type: 'tick' }, 900)?.refused).toBe('run-ended');
    expect(core.events).toHaveLength(before);
  });

  test('does not end a second time a run that is undoing what it did', () => {
    const core = new Core(flowOf({ a: undoable('a', 'b'), b: tool('b', 'end'), end: end() }, within(700)));
    core.answer('0#0', 1);
    core.tell(CANCEL, 600);
    core.tell({ type: 'tick' }, 800);
    expect(core.owed).toEqual(['0#u2 undo_a']);
    core.answer('0#u2', null, 900);
    expect(core.state?.outcome).toMatchObject({ state: 'cancelled', code: 'USER_CANCEL' });
  });

  test('fails what was late in words that name it', () => {
    const core = new Core(flowOf({ a: tool('a', 'end'), end: end() }));
    core.tell({ type: 'tick' }, 1000);
    expect(core.state?.outcome?.error).toMatchObject({
      class: 'timeout',
      type: 'TimeoutError',
      message: '`a` did not answer in time',
    });
  });
});

test('a cancellation drops what is under way, and never a compensation', () => {
  const fork = forkOver(HEADS, 'c', { need: 1 });
  const core = new Core(
    flowOf({
      fork,
      a: tool('a', 'done'),
      b: undoable('b', 'b2'),
      b2: tool('b2', 'done'),
      done: end(),
      c: tool('c', 'end'),
      end: end(),
    }),
  );
  core.answer('0:0.1#0', 1);
  core.answer('0:0.0#0', 1);
  const [compensation = ''] = core.owed.filter((each) => each.includes('undo_b'));
  expect(core.owed).toContain('0#1 c');
  core.tell(CANCEL, 5);
  expect(core.owed).toEqual([compensation]);
  expect(core.state?.outcome).toBeNull();
  core.answer(compensation.split(' ')[0] ?? '', null, 6);
  expect(core.state?.outcome?.state).toBe('cancelled');
});
