/** The packet of a question, as a program sees it: what a yes unlocks, and what is known about it. */
import { expect, test } from 'vitest';
import { compile, createEngine, openMemory } from '@sluice-internal/library';
import type { Packet, PacketEffect, Waiting } from '@sluice-internal/library';
import { doneText } from '@sluice-internal/engine/report';

const TOOLS = {
  'orders.get': { effect: 'read', trust: 'trusted', input: { type: 'object' } },
  'pay.refund': { effect: 'financial', input: { type: 'object' }, amount: 'args.amount', payee: 'args.iban' },
  'mail.send': { effect: 'communication', input: { type: 'object' }, recipients: 'args.to' },
};

interface Asked {
  readonly nodes: readonly object[];
  readonly input?: object;
  readonly more?: object;
}

async function asked({ nodes, input = {}, more = {} }: Asked): Promise<Waiting> {
  const engine = createEngine({
    journal: openMemory(),
    script: { tools: { 'orders.get': [{ result: { total: 5 } }] } },
    pickUp: false,
  });
  try {
    const flow = compile({ tools: TOOLS, flow: { id: 'desk', entry: 'gate', nodes }, ...more });
    expect(flow.diagnostics.filter(({ severity }) => severity === 'error')).toEqual([]);
    await engine.start(flow, { run: 'r', input: input as never });
    const report = await engine.settled('r');
    expect(report.waiting).toHaveLength(1);
    return report.waiting[0] as Waiting;
  } finally {
    await engine.close();
  }
}

const gate = (...routes: readonly object[]): object => ({ id: 'gate', type: 'approval', message: 'Go on?', routes });
const YES = "approvals.gate == 'approve'";
const effectsOf = ({ effects }: Packet): readonly Partial<PacketEffect>[] => effects;

test('what only a rejection leads to is not unlocked', async () => {
  const { packet } = await asked({
    nodes: [
      gate({ when: YES, to: 'pay' }, { to: 'tell' }),
      { id: 'pay', type: 'tool', tool: 'pay.refund', params: { amount: 5, iban: 'DE1' } },
      { id: 'tell', type: 'tool', tool: 'mail.send', params: { to: ['a@b.c'] } },
    ],
  });
  expect(effectsOf(packet)).toMatchObject([{ tool: 'pay.refund', amount: 5, payee: 'DE1', certain: true }]);
});

test('an argument from a call in between is not known, the others are', async () => {
  const { packet } = await asked({
    nodes: [
      gate({ when: YES, to: 'look' }, { to: 'no' }),
      { id: 'look', type: 'tool', tool: 'orders.get', params: { order: 'A-1' }, routes: [{ to: 'pay' }] },
      { id: 'pay', type: 'tool', tool: 'pay.refund', params: { amount: '{{look.result.total}}', iban: 'DE1' } },
      { id: 'no', type: 'terminal', output: 'no' },
    ],
  });
  expect(effectsOf(packet)).toMatchObject([{ tool: 'pay.refund', args: null, known: { iban: 'DE1' }, amount: null }]);
  expect(packet.effects[0]?.problem).toBeUndefined();
});

test('items of a list that is known are followed one by one, and their recipients are all named', async () => {
  const { packet } = await asked({
    input: { people: ['a@b.c', 'd@e.f'] },
    nodes: [
      gate({ when: YES, to: 'all' }, { to: 'no' }),
      { id: 'all', type: 'map', over: '{{event.payload.people}}', do: 'tell' },
      { id: 'tell', type: 'tool', tool: 'mail.send', params: { to: ['{{item}}'] }, routes: [{ to: 'end' }] },
      { id: 'no', type: 'terminal', output: 'no' },
    ],
  });
  expect(effectsOf(packet)).toMatchObject([
    {
      tool: 'mail.send',
      args: null,
      each: [{ to: ['a@b.c'] }, { to: ['d@e.f'] }],
      recipients: ['a@b.c', 'd@e.f'],
      times: { most: 2 },
    },
  ]);
});

test('the items of a list that is not known yet are not counted', async () => {
  const { packet } = await asked({
    nodes: [
      gate({ when: YES, to: 'look' }, { to: 'no' }),
      { id: 'look', type: 'tool', tool: 'orders.get', params: {}, routes: [{ to: 'all' }] },
      { id: 'all', type: 'map', over: '{{look.result.people}}', do: 'tell' },
      { id: 'tell', type: 'tool', tool: 'mail.send', params: { to: ['{{item}}'] }, routes: [{ to: 'end' }] },
      { id: 'no', type: 'terminal', output: 'no' },
    ],
  });
  expect(effectsOf(packet)).toMatchObject([{ tool: 'mail.send', args: null, recipients: [], times: { most: null } }]);
});

test('a call that asks for itself is the next question', async () => {
  const { packet } = await asked({
    more: { tools: { ...TOOLS, 'pay.refund': { ...TOOLS['pay.refund'], approvers: {} } }, people: [{ id: 'anna' }] },
    nodes: [
      gate({ when: YES, to: 'tell' }, { to: 'no' }),
      { id: 'tell', type: 'tool', tool: 'mail.send', params: { to: ['a@b.c'] }, routes: [{ to: 'pay' }] },
      { id: 'pay', type: 'tool', tool: 'pay.refund', params: { amount: 5, iban: 'DE1' } },
      { id: 'no', type: 'terminal', output: 'no' },
    ],
  });
  expect(effectsOf(packet).map(({ tool }) => tool)).toEqual(['mail.send']);
});

test('a node of the author whose amount has no value is asked about, with the reason', async () => {
  const { packet, payload, data } = await asked({
    nodes: [{ id: 'gate', type: 'tool', tool: 'pay.refund', params: { iban: 'DE1' } }],
  });
  expect(packet.why.problem).toBe('its amount (`args.amount`) has no value');
  expect(packet.effects).toMatchObject([{ tool: 'pay.refund', amount: null, payee: 'DE1' }]);
  expect(typeof payload).toBe('string');
  expect(data).toMatchObject({ tool: 'pay.refund' });
});

test('a wrong expression is one error with its place', () => {
  const text = `tools:
  pay.refund: { effect: financial, input: { type: object, properties: { amount: { type: number } } }, amount: arg.amount }
flow: { id: desk, entry: pay, nodes: [{ id: pay, type: tool, tool: pay.refund, params: { amount: 5 } }] }
`;
  const { diagnostics } = compile(text);
  expect(diagnostics).toMatchObject([{ severity: 'error', code: 'unknown-name', line: 2 }]);
  expect(diagnostics[0]?.message).toContain('arg');
});

test.each([
  [[], 'Nothing was changed.'],
  [[{ effect: 'read', status: 'committed', tool: 'a' }], 'Nothing was changed.'],
  [[{ effect: 'write', status: 'compensated', tool: 'a' }], 'Everything was undone.'],
  [[{ effect: 'write', status: 'committed', tool: 'a' }], null],
  [
    [
      { effect: 'write', status: 'committed', tool: 'a' },
      { effect: 'financial', status: 'unknown', tool: 'b' },
    ],
    'It is not known whether b happened.',
  ],
] as const)('%j: %s', (receipts, sentence) => {
  expect(doneText(receipts)).toBe(sentence);
});
