/** The walk over the controls of a call: who judges, in which order, and what is taken when (L13, L4). */
import { describe, expect, test } from 'vitest';
import type { Asking, Control, Controls, DoNode, Event, Judged } from '@sluice-internal/kernel/ir';
import type { Json } from '@sluice-internal/kernel/expr';
import { outstanding } from '@sluice-internal/kernel/core';
import { Core, end, flowOf, forkOver, meter, set, tool, within } from './flow.ts';

const ERROR = { type: 'RefusedError', class: 'policy', code: 'PERMISSION_DENIED' } as const;
const WORDS = { tag: 'DENIED', error: ERROR } as const;

const check = (control: string, more: object = {}, volatile = false): Control => ({
  control,
  how: 'check',
  onRefuse: 'tell',
  with: { check: control, input: { seen: 'input' }, ...WORDS, ...more },
  ...(volatile ? { volatile: true } : {}),
});
const expr = (control: string, when: string, onRefuse: Control['onRefuse'] = 'tell'): Control => ({
  control,
  how: 'expr',
  onRefuse,
  with: { cases: [{ when, reason: '"it is so"' }], ...WORDS },
});
const budget: Control = { control: 'budget', how: 'meter', onRefuse: 'fail', volatile: true, with: WORDS };
const question = (about: string): Asking => ({
  ask: {
    kind: 'ask',
    about,
    choices: [{ name: 'approve' }, { name: 'edit', edit: { type: 'object' } }, { name: 'reject' }, { name: 'respond' }],
    onExpiry: 'reject',
    code: 'CONFIRM_REQUIRED',
    askedBy: 'bot',
    input: { message: 'text("may I? ", _walk.doubt, _walk.reason)', args: 'call' },
    reserve: {},
  },
  timeoutMs: null,
  into: 'answer',
  ways: { approve: 'pass', edit: 'edit', respond: 'tell' },
  told: { step: 'answer', tag: 'ANSWER', reason: '"an answer"' },
  error: { ...ERROR, type: 'StoppedError' },
});
const approval = (when = 'true', edits = 1): Control => ({
  control: 'approval',
  how: 'ask',
  onRefuse: 'tell',
  with: { when, edits, ...question('pay'), ...WORDS, reason: '"not approved"' },
});

function paying(walk: readonly Control[], more: Partial<Controls> = {}, node: Partial<DoNode> = {}): Core {
  const controls: Controls = { walk, args: ['call'], refused: 'told', ...more };
  const { effect: _, ...rest } = node;
  const pay = tool('pay', 'end', { controls, effect: { input: { args: 'call' } }, ...rest });
  const nodes = { call: set('call', '{"to": "ann"}', 'pay'), pay, told: end('_refusal'), end: end('call') };
  return new Core(flowOf(nodes, { meters: { calls: meter('toolCalls', 1) } }));
}

function says(core: Core, key: string, verdicts: { readonly [control: string]: Json }, args?: Json): void {
  const value = { verdicts, ...(args === undefined ? {} : { args }) };
  core.answer(key, { ok: true, value });
}
function answers(core: Core, choice: string, edit?: Json): void {
  const pending = [...(core.state?.pending.values() ?? [])].find(
    ({ observed, question }) => question !== null && observed === null,
  );
  const answer = { choice, by: 'ann', ...(edit === undefined ? {} : { edit }) };
  expect(core.tell({ type: 'answer', id: pending?.question?.id ?? '', answer }, 2)).toBeNull();
}
const judged = ({ events }: Core): readonly (readonly Judged[])[] =>
  events.flatMap((event) => (event.type === 'call.judged' ? [event.controls] : []));
const requests = ({ events }: Core): readonly string[] =>
  events.flatMap((event) => (event.type === 'effect.requested' ? [`${event.kind} ${event.name}`] : []));
const OK = { ok: true };

describe('a call without a question', () => {
  test('L13: all checks are one call, all verdicts one event, in the append of the request', () => {
    const core = paying([expr('open', 'false'), check('shape'), budget, check('policy')], {}, { charges: ['calls'] });
    expect(core.owed).toEqual(['0#0 controls']);
    const before = core.events.length;
    says(core, '0#0', { shape: OK, policy: OK });
    expect(core.events.slice(before).map(({ type }) => type)).toEqual([
      'effect.settled',
      'call.judged',
      'effect.requested',
    ]);
    expect(judged(core)).toEqual([
      [
        ['open', 'pass'],
        ['shape', 'pass'],
        ['budget', 'pass'],
        ['policy', 'pass'],
      ],
    ]);
    expect(requests(core)).toEqual(['check controls', 'tool pay']);
  });

  test('L13: without checks there is no call before the call', () => {
    const core = paying([expr('open', 'false'), approval('false')]);
    expect(requests(core)).toEqual(['tool pay']);
  });

  test('the checks get the arguments, and may change them', () => {
    const core = paying([check('shape'), expr('who', 'call.to != "bob"')]);
    const [command] = outstanding(core.program, core.state as never).commands;
    expect(command?.input).toEqual({
      args: { to: 'ann' },
      controls: [{ control: 'shape', check: 'shape', input: { seen: 1 } }],
      tool: 'pay',
    });
    says(core, '0#0', { shape: OK }, { to: 'bob' });
    core.answer('0#1', 'done');
    expect(core.state?.outcome).toMatchObject({ code: 'SUCCESS', output: { to: 'bob' } });
  });
});

describe('a refusal', () => {
  test.each<[string, Json, object]>([
    ['refuse', { ok: false, reason: 'no' }, { state: 'completed', output: { tag: 'DENIED', reason: 'no' } }],
    ['stop', { ok: false, reason: 'no', stop: 'NeverError' }, { state: 'failed', error: { type: 'NeverError' } }],
    ['refuse', {}, { state: 'completed', output: { reason: 'the control gave no verdict' } }],
  ])('L13: after %s %j the call is not made', (verdict, said, outcome) => {
    const core = paying([check('first'), check('policy'), check('later')]);
    says(core, '0#0', { first: OK, policy: said, later: OK });
    expect(
      judged(core)
        .flat()
        .map(([control, name]) => `${control} ${name}`),
    ).toEqual(['first pass', `policy ${verdict}`]);
    expect(requests(core)).toEqual(['check controls']);
    expect(core.state?.outcome).toMatchObject(outcome);
  });

  test('checks that cannot be performed refuse the call', () => {
    const core = paying([check('policy')]);
    core.fail('0#0', 'fatal');
    expect(core.state?.outcome).toMatchObject({ output: { control: 'policy', reason: 'fatal' } });
  });

  test('a condition that cannot be evaluated refuses the call', () => {
    expect(paying([expr('open', 'nothing + 1 > 2')]).state?.outcome).toMatchObject({ output: { control: 'open' } });
  });

  test('a person is asked about it, if the control says so', () => {
    const asks = { ...expr('open', 'true', 'ask'), with: { ...expr('open', 'true').with, question: question('why') } };
    const core = paying([asks as Control]);
    expect(requests(core)).toEqual(['ask why']);
    answers(core, 'approve');
    expect(core.state?.outcome).toMatchObject({ state: 'failed', error: { type: 'StoppedError' } });
    const told = paying([asks as Control]);
    answers(told, 'respond');
    expect(told.state?.outcome).toMatchObject({ state: 'completed', output: { tag: 'ANSWER', reason: 'an answer' } });
  });

  test('another consequence applies where its condition holds', () => {
    const instead = [{ when: '_walk.reason == "no"', onRefuse: 'fail' as const }];
    const core = paying([check('policy', { instead })]);
    says(core, '0#0', { policy: { ok: false, reason: 'no' } });
    expect(core.state?.outcome).toMatchObject({ state: 'failed', code: 'PERMISSION_DENIED' });
  });
});

describe('a question', () => {
  test('L13, L4: nothing is reserved before the last control; a call that can never fit is not asked about', () => {
    const core = paying([budget, approval()], {}, { charges: ['calls'] });
    expect(core.owed).toEqual(['0#0 pay']);
    expect(core.state?.reserved).toEqual({});
    answers(core, 'approve');
    expect(core.state?.reserved).toEqual({ calls: 1 });
    const never = new Core({
      ...core.program.flow,
      meters: { calls: meter('toolCalls', 0) },
    });
    expect(requests(never)).toEqual([]);
    expect(never.types()).toContain('meter.tripped');
  });

  test('L13: after the answer only volatile controls judge again', () => {
    const core = paying([check('shape'), check('clock', {}, true), approval()]);
    says(core, '0#0', { shape: OK, clock: OK });
    answers(core, 'approve');
    const [command] = outstanding(core.program, core.state as never).commands;
    expect(command?.input).toMatchObject({ controls: [{ control: 'clock' }], call: '0#0' });
    says(core, '0#2', { clock: { ok: false, reason: 'too late' } });
    expect(core.state?.outcome).toMatchObject({ output: { control: 'clock', reason: 'too late' } });
  });

  test('L13: changed arguments are judged from the first control, and no person is asked twice', () => {
    const core = paying([check('shape'), approval()]);
    says(core, '0#0', { shape: OK });
    answers(core, 'edit', { to: 'eve' });
    const [command] = outstanding(core.program, core.state as never).commands;
    expect(command?.input).toMatchObject({ args: { to: 'eve' }, controls: [{ control: 'shape' }] });
    says(core, '0#2', { shape: OK });
    expect(requests(core)).toEqual(['check controls', 'ask pay', 'check controls', 'tool pay']);
    core.answer('0#3', 'done');
    expect(core.state?.outcome).toMatchObject({ output: { to: 'eve' } });
  });

  test('a person changes them only as often as the control allows', () => {
    const core = paying([approval('true', 0)]);
    answers(core, 'edit', { to: 'eve' });
    expect(core.state?.outcome).toMatchObject({ output: { control: 'approval', reason: 'not approved' } });
  });

  test('a doubt of a check is asked about, although the approval alone is not needed', () => {
    const core = paying([check('source', { asks: true }), approval('false')]);
    says(core, '0#0', { source: { ok: false, reason: 'from outside' } });
    expect(requests(core)).toEqual(['check controls', 'ask pay']);
    expect(judged(core).at(-1)).toEqual([
      ['source', 'ask', 'from outside'],
      ['approval', 'ask'],
    ]);
  });

  test('L1: the answer to a question of a walk must fit its choices', () => {
    const core = paying([approval()]);
    const id = [...(core.state?.pending.values() ?? [])][0]?.question?.id ?? '';
    expect(core.tell({ type: 'answer', id, answer: { choice: 'edit', by: 'ann', edit: 'text' } }, 2)).toMatchObject({
      refused: 'bad-answer',
    });
    expect(core.tell({ type: 'answer', id, answer: { choice: 'maybe', by: 'ann' } }, 2)).toMatchObject({
      refused: 'not-a-choice',
    });
  });
});

describe('a wait', () => {
  test('the checks from there on are performed again, as often as the control waits', () => {
    const core = paying([check('shape'), check('rate', { waits: 1 })]);
    const later = { ok: false, reason: 'later', until: 500 };
    says(core, '0#0', { shape: OK, rate: later });
    expect(core.events.at(-1)).toMatchObject({ type: 'effect.requested', name: 'controls', notBefore: 500 });
    says(core, '0#1', { rate: later });
    expect(core.state?.outcome).toMatchObject({ output: { control: 'rate', reason: 'later' } });
    expect(judged(core).at(0)?.at(-1)).toEqual(['rate', 'wait', 'later']);
  });
});

describe('a crash', () => {
  test('L8, L13: the check of a call that must not be made twice is performed again', () => {
    const core = paying([check('shape'), approval()], {}, { recalls: 0 });
    expect(core.tell({ type: 'resume' }, 5)).toBeNull();
    expect(core.owed).toEqual(['0#0 controls']);
    says(core, '0#0', { shape: OK });
    answers(core, 'approve');
    expect(core.owed).toEqual(['0#2 pay']);
    expect(core.tell({ type: 'resume' }, 9)).toBeNull();
    expect(core.state?.outcome).toMatchObject({ state: 'failed', error: { type: 'UnknownOutcome' } });
  });

  test('L8: a check has no timeout of its own, and gets none', () => {
    const core = paying([check('shape')]);
    core.tell({ type: 'resume' }, 5);
    expect([...(core.state?.pending.values() ?? [])].map(({ deadline }) => deadline)).toEqual([null]);
  });
});

describe('calls of one reply', () => {
  const reply = (walk: readonly Control[]): Core => {
    const controls: Controls = { walk, args: ['call'], refused: 'told', inOrder: true };
    const pay = tool('pay', 'done', { controls, charges: ['calls'], effect: { input: { args: 'call' } } });
    const all = forkOver({ each: '["a", "b", "c"]', as: 'call', head: 'pay' }, 'end');
    const nodes = { all, pay, done: end('call'), told: end('_refusal'), end: end('all.map(b, b.output)') };
    return new Core(flowOf(nodes, { meters: { calls: meter('toolCalls', 3) } }));
  };
  const made = ({ events }: Core): readonly string[] =>
    events.flatMap((event: Event) =>
      event.type === 'effect.requested' && event.kind === 'tool' ? [event.thread] : [],
    );

  test('L13, L4: reserve in the order of the reply, whichever check ends first', () => {
    const core = reply([check('policy')]);
    says(core, '0:0.2#0', { policy: OK });
    says(core, '0:0.1#0', { policy: OK });
    expect(made(core)).toEqual([]);
    says(core, '0:0.0#0', { policy: OK });
    expect(made(core)).toEqual(['0:0.0', '0:0.1', '0:0.2']);
  });

  test('L13: do not wait for a question about another', () => {
    const core = reply([approval('call == "a"')]);
    expect(made(core)).toEqual(['0:0.1', '0:0.2']);
    answers(core, 'approve');
    expect(made(core)).toEqual(['0:0.1', '0:0.2', '0:0.0']);
  });

  test('L13: an approval is not used if the call no longer fits', () => {
    const controls: Controls = { walk: [budget, approval('call == "a"')], args: ['call'], refused: 'told' };
    const pay = tool('pay', 'done', { controls, charges: ['calls'], effect: { input: { args: 'call' } } });
    const all = forkOver({ each: '["a", "b"]', as: 'call', head: 'pay' }, 'end');
    const nodes = { all, pay, done: end('call'), told: end('_refusal'), end: end() };
    const core = new Core(flowOf(nodes, { meters: { calls: meter('toolCalls', 1) } }));
    const question = [...(core.state?.pending.values() ?? [])].find((each) => each.question !== null)?.question?.id;
    const answer = { choice: 'approve', by: 'ann' };
    expect(core.tell({ type: 'answer', id: question ?? '', answer }, 2)).toBeNull();
    expect(made(core)).toEqual(['0:0.1']);
    expect(core.events.find(({ type }) => type === 'meter.tripped')).toMatchObject({ unused: question });
  });

  const spent = (walk: readonly Control[], max: number): Core => {
    const controls: Controls = { walk, args: ['call'], refused: 'told', inOrder: true };
    const pay = tool('pay', 'done', { controls, charges: ['calls'], effect: { input: { args: 'call' } } });
    const all = forkOver({ each: '["a", "b", "c"]', as: 'call', head: 'pay' }, 'end', { eager: true });
    const nodes = { all, pay, done: end('call'), told: end('_refusal'), end: end('all.map(b, b.state)') };
    const calls = { ...meter('toolCalls', max), label: 'budgets.tool_calls' };
    return new Core(flowOf(nodes, { meters: { calls } }));
  };
  const more = (core: Core): void => {
    expect(core.tell({ type: 'grant', by: 'ann', grants: [{ dimension: 'tool_calls', amount: 5 }] }, 50)).toBeNull();
  };

  test('L13, L4: after one that does not fit, no later one is made, although its checks pass', () => {
    const core = spent([budget, check('policy')], 1);
    says(core, '0:0.0#0', { policy: OK });
    says(core, '0:0.1#0', { policy: OK });
    core.answer('0:0.0#1', 'paid');
    expect(core.state?.outcome).toMatchObject({ code: 'BUDGET_EXHAUSTED', error: { type: 'BudgetError' } });
    expect(core.state?.pending.size).toBe(0);
    expect(made(core)).toEqual(['0:0.0']);
  });

  test('L4: the run waits for the calls before it, and not for questions about later ones', () => {
    const core = spent([approval('call != "a"')], 1);
    expect(core.owed).toEqual(['0:0.0#0 pay', '0:0.1#0 pay', '0:0.2#0 pay']);
    answers(core, 'approve');
    expect(core.owed).toEqual(['0:0.0#0 pay', '0:0.2#0 pay']);
    core.answer('0:0.0#0', 'paid');
    expect(core.state?.outcome).toMatchObject({ code: 'BUDGET_EXHAUSTED', error: { type: 'BudgetError' } });
    expect(made(core)).toEqual(['0:0.0']);
    // The approval was not used, so it is asked for again. The other question is still open.
    more(core);
    expect(core.owed).toEqual(['0:0.1#1 pay', '0:0.2#0 pay']);
    answers(core, 'approve');
    answers(core, 'approve');
    for (const key of ['0:0.1#2', '0:0.2#1']) core.answer(key, 'paid');
    expect(core.state?.outcome).toMatchObject({ code: 'SUCCESS', output: ['completed', 'completed', 'completed'] });
  });

  test('L4: a call that was asked about does not take what later calls have taken', () => {
    const core = spent([approval('call == "b"')], 2);
    expect(made(core)).toEqual(['0:0.0', '0:0.2']);
    answers(core, 'approve');
    for (const key of ['0:0.0#0', '0:0.2#0']) core.answer(key, 'paid');
    expect(core.state?.outcome).toMatchObject({ code: 'BUDGET_EXHAUSTED' });
    more(core);
    answers(core, 'approve');
    expect(made(core)).toEqual(['0:0.0', '0:0.2', '0:0.1']);
  });

  test('L4: time that an operator adds asks a question again that the end of the time has cut off', () => {
    const controls: Controls = { walk: [check('shape'), approval()], args: ['call'], refused: 'told' };
    const pay = tool('pay', 'end', { controls, effect: { input: { args: 'call' } } });
    const first = tool('slow', 'pay', { timeoutMs: null });
    const nodes = { first, pay, told: end('_refusal'), end: end() };
    const core = new Core(flowOf(nodes, within(100)));
    core.answer('0#0', 'done', 10);
    core.tell({ type: 'tick' }, 100);
    expect(core.state?.outcome).toMatchObject({ code: 'TIMEOUT' });
    const grants = [{ dimension: 'wall_clock_seconds', amount: 1 }];
    expect(core.tell({ type: 'grant', by: 'ann', grants }, 200)).toBeNull();
    expect(core.owed).toEqual(['0#1 controls']);
  });
});
