import { describe, expect, test } from 'vitest';
import { createVirtualClock } from '@sluice-internal/engine/ports';
import { Core, ask, end, flowOf, openEngine, tool } from './flow.ts';

const asking = flowOf({ a: ask('gate', 'end'), end: end('gate') });
const timed = flowOf({ a: ask('gate', 'end', { timeoutMs: 1000 }), end: end('gate') });
const ID = 'a_r.0.0';

describe('approvals', () => {
  test('a question stands on the journal with all that an answer is judged by §handoffs/human-in-the-loop', () => {
    const core = new Core(timed, { euros: 5 });
    const [, asked] = core.events;
    expect(asked).toMatchObject({
      type: 'effect.requested',
      kind: 'ask',
      deadline: 1000,
      question: {
        id: ID,
        about: 'gate',
        choices: ['approve', 'reject'],
        onExpiry: 'reject',
        code: 'CONFIRM_REQUIRED',
        askedBy: 'bot',
      },
    });
    expect(asked).toHaveProperty('question.payload');
  });

  test('a declared choice is taken, and nothing else', () => {
    const core = new Core(asking);
    const before = core.events.length;
    expect(core.tell({ type: 'answer', id: ID, answer: { choice: 'maybe', by: 'ann' } }, 1)?.refused).toBe(
      'not-a-choice',
    );
    expect(core.events.slice(before)).toMatchObject([{ type: 'answer.refused', reason: 'not-a-choice' }]);
    expect(
      core.tell(
        { type: 'answer', id: ID, answer: { choice: 'approve', by: 'ann', text: 'fine', edit: { euros: 4 } } },
        2,
      ),
    ).toBeNull();
    expect(core.state?.outcome?.output).toEqual({ choice: 'approve', by: 'ann', text: 'fine', edit: { euros: 4 } });
  });

  test('the one who asked may not answer', () => {
    const core = new Core(asking);
    expect(core.tell({ type: 'answer', id: ID, answer: { choice: 'approve', by: 'bot' } }, 1)?.refused).toBe(
      'self-approval',
    );
    expect(core.state?.pending.size).toBe(1);
  });

  test('an answer is bound to what was asked about §pathologies/stale-state', () => {
    const payloadOf = (core: Core): string => [...(core.state?.pending.values() ?? [])][0]?.question?.payload ?? '';
    const [small, large] = [new Core(asking, { euros: 5 }), new Core(asking, { euros: 5000 })];
    expect(payloadOf(small)).not.toBe(payloadOf(large));
    expect(
      large.tell({ type: 'answer', id: ID, answer: { choice: 'approve', by: 'ann', payload: payloadOf(small) } }, 1)
        ?.refused,
    ).toBe('stale-payload');
    expect(
      large.tell({ type: 'answer', id: ID, answer: { choice: 'approve', by: 'ann', payload: payloadOf(large) } }, 2),
    ).toBeNull();
    expect(large.state?.outcome?.output).toEqual({ choice: 'approve', by: 'ann' });
  });

  test('L1: a question is answered once; later answers are refused', () => {
    const core = new Core(flowOf({ a: ask('gate', 'b'), b: tool('b', 'end'), end: end('gate') }));
    expect(core.tell({ type: 'answer', id: ID, answer: { choice: 'reject', by: 'ann' } }, 1)).toBeNull();
    expect(core.tell({ type: 'answer', id: ID, answer: { choice: 'approve', by: 'bob' } }, 2)?.refused).toBe(
      'approval-closed',
    );
    core.answer('0#1', 1, 3);
    expect(core.state?.outcome?.output).toMatchObject({ choice: 'reject', by: 'ann' });
  });

  test('L1: only a person settles a question', () => {
    const core = new Core(asking);
    expect(core.answer('0#0', { choice: 'approve', by: 'a tool' })?.refused).toBe('not-pending');
  });

  test('an unanswered question counts as what it declares, from its deadline on', () => {
    const core = new Core(timed);
    expect(core.tell({ type: 'answer', id: ID, answer: { choice: 'approve', by: 'ann' } }, 1000)?.refused).toBe(
      'run-ended',
    );
    expect(core.state?.outcome?.output).toEqual({ choice: 'reject', by: 'clock', expired: true });
  });

  test('an answer just before the deadline holds', () => {
    const core = new Core(timed);
    expect(core.tell({ type: 'answer', id: ID, answer: { choice: 'approve', by: 'ann' } }, 999)).toBeNull();
    expect(core.state?.outcome?.output).toMatchObject({ choice: 'approve' });
  });

  test('an id that nothing waits under is refused', () => {
    const core = new Core(asking);
    expect(core.tell({ type: 'answer', id: 'a_r.0.7', answer: { choice: 'approve', by: 'ann' } }, 1)?.refused).toBe(
      'approval-closed',
    );
  });
});

describe('approvals through the engine', () => {
  test('a run that waits is suspended under the code of its question, and goes on with the answer', async () => {
    const { engine } = openEngine();
    try {
      await engine.start(asking, { run: 'r', input: { euros: 5 } });
      const waiting = await engine.settled('r');
      expect(waiting).toMatchObject({ state: 'suspended', code: 'CONFIRM_REQUIRED', output: null });
      expect(await engine.approvals()).toMatchObject([
        {
          id: ID,
          node: 'gate',
          message: 'may I?',
          choices: ['approve', 'reject'],
          data: { amount: { euros: 5 } },
          askedBy: 'bot',
          expiresAt: null,
        },
      ]);
      await expect(engine.answer(ID, { choice: 'perhaps', by: 'ann' })).rejects.toMatchObject({ code: 'not-a-choice' });
      await expect(engine.answer(ID, { choice: 'approve', by: 'bot' })).rejects.toMatchObject({
        code: 'self-approval',
      });
      await expect(engine.answer(ID, { choice: 'approve', by: 'ann', payload: 'other' })).rejects.toMatchObject({
        code: 'stale-payload',
      });
      await expect(engine.answer('a_r.0.9', { choice: 'approve', by: 'ann' })).rejects.toMatchObject({
        code: 'approval-closed',
      });
      await expect(engine.answer('a_nobody.0.0', { choice: 'approve', by: 'ann' })).rejects.toMatchObject({
        code: 'approval-not-found',
      });
      expect(
        await engine.answer(ID, { choice: 'approve', by: 'ann', payload: waiting.waiting[0]?.payload ?? '' }),
      ).toBe('r');
      expect(await engine.settled('r')).toMatchObject({
        state: 'completed',
        approvals: { gate: 'approve' },
        waiting: [],
      });
      await expect(engine.answer(ID, { choice: 'approve', by: 'ann' })).rejects.toMatchObject({
        code: 'approval-closed',
      });
    } finally {
      await engine.close();
    }
  });

  test('a run that waits without a deadline of its own does not keep the process busy', async () => {
    const clock = createVirtualClock(0);
    let timers = 0;
    const counted = { ...clock, at: (...given: Parameters<typeof clock.at>) => ((timers += 1), clock.at(...given)) };
    // The call before it leaves a deadline behind that nothing hangs on any more.
    const { engine } = openEngine({ clock: counted, tools: { b: () => 1 } });
    try {
      await engine.start(flowOf({ b: tool('b', 'a'), a: ask('gate', 'end'), end: end() }), { run: 'r' });
      expect(await engine.settled('r')).toMatchObject({ state: 'suspended' });
      const before = timers;
      for (let i = 0; i < 20; i++) await new Promise((resolve) => setImmediate(resolve));
      expect(timers).toBe(before);
    } finally {
      await engine.close();
    }
  });

  test('a slow call does not keep the process busy either, once an earlier deadline has passed', async () => {
    const clock = createVirtualClock(0);
    let timers = 0;
    const counted = { ...clock, at: (...given: Parameters<typeof clock.at>) => ((timers += 1), clock.at(...given)) };
    const slow = async (): Promise<number> => {
      await clock.sleep(5000);
      return 1;
    };
    const { engine } = openEngine({ clock: counted, tools: { b: () => 1, c: slow } });
    try {
      await engine.start(flowOf({ b: tool('b', 'c'), c: tool('c', 'end', { timeoutMs: 60_000 }), end: end() }), {
        run: 'r',
      });
      expect(await engine.settled('r')).toMatchObject({ state: 'completed' });
      expect(timers).toBeLessThan(10);
    } finally {
      await engine.close();
    }
  });
});
