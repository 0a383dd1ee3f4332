/** Calls whose effect must not happen twice by mistake: what counts as an earlier equal call, and when it no longer does (L15). */
import { describe, expect, test } from 'vitest';
import type { Control, DoNode, Judged, ToolDef } from '@sluice-internal/kernel/ir';
import type { Json } from '@sluice-internal/kernel/expr';
import { Core, end, flowOf, forkOver, tool } from './flow.ts';

const ERROR = { type: 'RefusedError', class: 'policy', code: 'PERMISSION_DENIED' } as const;
const once: Control = {
  control: 'repeat',
  how: 'expr',
  onRefuse: 'tell',
  volatile: true,
  with: {
    cases: [{ when: 'size(_walk.repeats) > 0', reason: 'text(_walk.repeats[0].ran)' }],
    repeats: true,
    tag: 'DENIED',
    error: ERROR,
  },
};
const approval: Control = {
  control: 'approval',
  how: 'ask',
  onRefuse: 'tell',
  with: {
    ask: {
      kind: 'ask',
      about: 'pay',
      choices: [{ name: 'approve' }, { name: 'reject' }],
      onExpiry: 'reject',
      code: 'CONFIRM_REQUIRED',
      askedBy: 'bot',
      input: { message: 'text(_walk.doubt, _walk.repeated)' },
      reserve: {},
    },
    timeoutMs: null,
    ways: { approve: 'pass' },
    edits: 0,
    tag: 'DENIED',
    error: ERROR,
  },
};

const PAY: ToolDef = {
  description: '',
  input: true,
  output: true,
  effect: 'financial',
  implementation: null,
  timeoutMs: 1000,
  permission: 'pay',
  idempotent: false,
  compensate: null,
};

/** Each item of the input is a call of one reply. */
function reply(input: Json, walk: readonly Control[] = [once], def: Partial<ToolDef> = {}, more: Partial<DoNode> = {}) {
  const { effect: _, ...rest } = more;
  const pay = tool('pay', 'made', {
    controls: { walk, args: ['call'], refused: 'told', inOrder: true },
    effect: { input: { args: 'call' } },
    ...rest,
  });
  const nodes = {
    all: forkOver({ each: 'input', as: 'call', head: 'pay' }, 'end'),
    pay,
    made: end('"made"'),
    told: end('_refusal.reason'),
    end: end('all.map(b, b.output)'),
  };
  return new Core(flowOf(nodes, { tools: { pay: { ...PAY, ...def } } }), input);
}

const requested = ({ events }: Core): readonly string[] =>
  events.flatMap((event) => (event.type === 'effect.requested' && event.kind === 'tool' ? [event.key] : []));
const judged = ({ events }: Core): readonly (readonly Judged[])[] =>
  events.flatMap((event) => (event.type === 'call.judged' ? [event.controls] : []));

describe('an equal call', () => {
  test('L15: of the same reply finds the one that was requested before it', () => {
    const core = reply([{ to: 'ann' }, { to: 'ann' }, { to: 'bob' }]);
    expect(requested(core)).toEqual(['0:0.0#0', '0:0.2#0']);
    expect(judged(core).flat()).toContainEqual(['repeat', 'refuse', 'open']);
  });

  test('L15: finds one that was made, and one whose outcome is not known', () => {
    const walk = (first: (core: Core) => void): readonly Judged[] => {
      const core = reply([{ to: 'ann' }, { to: 'ann' }], [approval, once]);
      const ask = (index: number): string =>
        [...(core.state?.pending.values() ?? [])].find(({ thread }) => thread === `0:0.${index}`)?.question?.id ?? '';
      core.tell({ type: 'answer', id: ask(0), answer: { choice: 'approve', by: 'ann' } }, 2);
      first(core);
      core.tell({ type: 'answer', id: ask(1), answer: { choice: 'approve', by: 'ann' } }, 3);
      return judged(core).at(-1) ?? [];
    };
    expect(walk((core) => core.answer('0:0.0#1', 'ok'))).toContainEqual(['repeat', 'refuse', 'yes']);
    expect(walk((core) => core.fail('0:0.0#1', 'timeout'))).toContainEqual(['repeat', 'refuse', 'maybe']);
    expect(walk((core) => core.fail('0:0.0#1', 'fatal'))).toContainEqual(['repeat', 'pass']);
  });

  test('L15: with the same amount and payee is equal, whatever else differs', () => {
    const calls = [1, 2].map((note) => ({ to: 'ann', amount: 5, note }));
    expect(requested(reply(calls, [once], { amount: 'args.amount', payee: 'args.to' }))).toHaveLength(1);
    expect(requested(reply(calls, [once], { amount: 'args.amount' }))).toHaveLength(2);
    expect(
      requested(reply(calls, [once], { effect: 'communication', amount: 'args.amount', payee: 'args.to' })),
    ).toHaveLength(2);
  });

  test.each<[Partial<ToolDef>, number]>([
    [{ repeatable: true }, 2],
    [{ effect: 'write' }, 2],
    [{ effect: 'write', repeatable: false }, 1],
    [{ effect: 'write', repeatable: false, resource: 'work_dir' }, 2],
    [{ effect: 'communication' }, 1],
    [{ effect: 'infrastructure' }, 1],
  ])('%j', (def, times) => {
    expect(requested(reply([{ to: 'ann' }, { to: 'ann' }], [once], def))).toHaveLength(times);
  });
});

test('L15: a person who was told about the earlier call lets the second one pass, and no third', () => {
  const doubt: Control = {
    ...once,
    with: {
      ...once.with,
      cases: [
        { when: '_walk.approved && size(_walk.repeats) > 0', reason: '"again"' },
        { when: 'size(_walk.repeats) > 0', reason: '"the same"', asks: true },
      ],
    } as never,
  };
  const never: Control = { ...approval, with: { ...approval.with, when: 'false' } as never };
  const core = reply([{ to: 'ann' }, { to: 'ann' }, { to: 'ann' }], [doubt, never]);
  const open = [...(core.state?.pending.values() ?? [])].filter(({ question }) => question !== null);
  expect(open).toHaveLength(2);
  for (const { question } of open)
    core.tell({ type: 'answer', id: question?.id ?? '', answer: { choice: 'approve', by: 'ann' } }, 2);
  // The second person was told about the first call, and not about the one that was approved since.
  expect(requested(core)).toEqual(['0:0.0#0', '0:0.1#1']);
  expect(judged(core).at(-1)).toContainEqual(['repeat', 'refuse', 'again']);
});
