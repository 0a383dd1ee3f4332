/** Claims that name nobody who did it: what is one, what only looks like one, and what a record says by itself. */
import { readFileSync } from 'node:fs';
import { describe, expect, test } from 'vitest';
import { parse } from 'yaml';
import { clausesOf, sentencesOf } from '../../src/values/clauses.ts';
import { evidenceOf, judgeUtterance, wordsOf } from '@sluice-internal/guard/values';
import type { ToolDef } from '@sluice-internal/kernel/ir';
import type { Json } from '@sluice-internal/kernel/expr';
import type { Observation } from '../../src/values/detector.ts';
import type { Script } from '../../../library/src/host/scripted/script.ts';
import { play } from './play.ts';

function tool(effect: ToolDef['effect'], description: string, ...params: readonly string[]): ToolDef {
  return {
    description,
    input: { type: 'object', properties: Object.fromEntries(params.map((name) => [name, { type: 'string' }])) },
    output: true,
    effect,
    implementation: null,
    timeoutMs: 0,
    permission: '',
    idempotent: false,
    compensate: null,
  };
}

const SHOP = {
  'orders.get': tool('read', 'Reads an order.', 'order'),
  'orders.cancel': tool('write', 'Cancels an order.', 'order'),
  'payments.refund': tool('financial', 'Pays money back.', 'order', 'amount'),
  'payments.reverse': tool('financial', 'Takes a refund back.', 'order'),
  'mail.send': tool('communication', 'Sends an email to the customer.', 'to', 'body'),
};
const BARE = { 'orders.get': tool('read', ''), 'payments.refund': tool('financial', '') };
const LIBRARY = {
  'library.search': tool('read', 'Searches the sources.', 'query'),
  'memory.write': tool('write', 'Remembers a fact for later runs.', 'fact'),
};

const order = (result: Json): Partial<Observation> => ({ tool: 'orders.get', args: { order: 'A-7' }, result });
const DELIVERED = order({ order: 'A-7', total: 49.5, state: 'delivered' });
const refunded = { tool: 'payments.refund', args: { order: 'A-7', amount: '49.5' }, result: { paid: true } };

interface Case {
  readonly tools?: { readonly [name: string]: ToolDef };
  readonly observations?: readonly Partial<Observation>[];
  readonly userTexts?: readonly string[];
}

function problemsIn(
  text: string,
  { tools = SHOP, observations = [DELIVERED], userTexts = ['A-7 is broken.'] }: Case = {},
) {
  const material = evidenceOf({
    observations: observations.map((each, at) => ({
      id: `bot.${at}`,
      turn: at + 1,
      tool: 'orders.get',
      args: {},
      ok: true,
      ...each,
    })),
    userTexts,
    given: ['Find the order. Refund what is owed.'],
    since: null,
    confirmed: [],
    tools: Object.entries(tools).map(([name, each]) => wordsOf(name, each)),
  });
  const said = { fields: {}, text, answer: text, cite: false, claims: true, values: 'names' } as const;
  return judgeUtterance(said, material)
    .findings.filter(({ kind }) => kind === 'action')
    .map(({ reason }) => reason);
}

describe('is a claim without an observation', () => {
  test.each([
    'Refunded 49.50 for order A-7.',
    'Cancelled order A-7.',
    'The refund was issued.',
    'The refund for order A-7 was issued.',
    'Order A-7 is refunded.',
    'Refund processed for A-7.',
    'Refund issued.',
    'Refund of 49.50 issued to the card.',
    'Refund complete.',
    'The refund went through.',
    'Refunded.',
    'Issued a refund of 49.50.',
    'Gave a refund of 49.50.',
    'A-7 refunded.',
    'A-7: refunded',
    'Status: refunded',
    'It was refunded.',
    'The order (A-7) was refunded.',
    'As requested, the refund was issued.',
    'After a check, the refund was issued.',
    'No problem, refunded A-7.',
    'I looked at the order; refunded 49.50.',
    'Looked up the order and refunded 49.50.',
    'We checked the order, then refunded it.',
    'Looked at A-7, refunded 49.50.',
    'Order A-7 was looked up and refunded.',
    'Refunded the order you placed yesterday.',
    'Refunded 49.50; you will see it soon.',
    'Here is what I did:\n- Looked up the order\n- Refunded 49.50',
    'Refunded the following orders:\n- A-7',
  ])('%s', (text) => {
    expect(problemsIn(text)).not.toEqual([]);
    expect(problemsIn(text, { tools: BARE })).not.toEqual([]);
  });

  test('of the tool that its noun is the doing of, and of no other that speaks of it', () => {
    for (const text of ['The refund was issued.', 'Refund processed for A-7.', 'The refund has been issued.']) {
      expect(problemsIn(text)).toEqual([expect.stringContaining('(payments.refund has not succeeded)')]);
      expect(problemsIn(text, { observations: [DELIVERED, refunded] })).toEqual([]);
      const mailed = { tool: 'mail.send', args: { to: 'ann' }, result: { sent: true } };
      expect(problemsIn(text, { observations: [DELIVERED, mailed] })).toHaveLength(1);
    }
  });

  test('for the thing that it names', () => {
    const other = { tool: 'orders.get', args: { order: 'A-8' }, result: { order: 'A-8' } };
    expect(problemsIn('Refunded A-7.', { observations: [DELIVERED, other, refunded] })).toEqual([]);
    expect(problemsIn('Refunded A-8.', { observations: [DELIVERED, other, refunded] })).toHaveLength(1);
  });
});

describe('is no claim', () => {
  test.each([
    ['a question', 'Was the refund issued?'],
    ['a question', 'Interested in getting A-7 refunded?'],
    ['an offer', 'I can have order A-7 refunded.'],
    ['an offer', 'Here is what I would do:\n- Order A-7 cancelled\n- Refund issued to the card'],
    ['an offer', 'The changes:\n- Order A-7 cancelled\n- Refund issued\nPlease confirm to proceed.'],
    ['a condition', 'If the order is cancelled, the money is refunded.'],
    ['a condition', 'The order is refunded if you send it back.'],
    ['a condition', 'Refund issued once the item arrives.'],
    ['a denial', 'The refund was not issued.'],
    ['a denial', 'Nothing was refunded.'],
    ['a denial', 'Refunded nothing.'],
    ['a denial', 'I do not see that an email was sent.'],
    ['a failure', 'Tried to refund A-7, and it failed.'],
    ['a failure', 'Refund denied.'],
    ['what is to come', 'The order will be refunded.'],
    ['a doubt', 'I need to know whether the order was cancelled.'],
    ['a rule', 'Refunds are issued to the original payment method.'],
    ['a rule', 'The refund is sent to the card that you paid with.'],
    ['a rule', 'By policy, the order is refunded in full.'],
    ['a rule', 'Each order is refunded only once.'],
    ['a rule', 'Orders cancelled within 24 hours get a full refund.'],
    ['a rule', 'Any refund processed after noon arrives tomorrow.'],
    ['a description', 'Cancelled orders stay visible for 30 days.'],
    ['a description', 'Refunded orders cannot be cancelled.'],
    ['a description', 'An order that was cancelled cannot be refunded.'],
    ['a label', 'Refunded amount: 0'],
    ['a label', 'Refund issued: no'],
    ['a label', 'Cancelled orders:\n- none'],
    ['a reason', 'Since the order was cancelled, no refund is due.'],
    ['the past', 'The order was cancelled 3 days ago.'],
    ['the past', 'Your order was cancelled on 2024-05-03.'],
    ['the past', 'Your previous order was cancelled.'],
    ["somebody else's doing", 'Order A-7 was cancelled by the seller.'],
    ["somebody else's doing", 'Customer cancelled.'],
    ["somebody else's doing", 'The order was paid with a card.'],
    ['an absolute', 'With order A-7 cancelled, 49.50 is owed.'],
    ['data', 'refunded'],
  ])('%s: %s', (_, text) => expect(problemsIn(text)).toEqual([]));

  test.each([
    'Moby-Dick was written by Melville.',
    'The book was written in 1851.',
    'Written by Herman Melville in 1851.',
    'The text was written at sea.',
  ])('much is done that no tool of the flow does: %s', (text) =>
    expect(problemsIn(text, { tools: LIBRARY, observations: [] })).toEqual([]),
  );
});

describe('what was read or heard may be said', () => {
  test.each([
    ['Order A-7 is cancelled.', { state: 'cancelled' }],
    ['Order A-7 was canceled.', { state: 'cancelled' }],
    ['Cancelled.', { state: 'Cancelled' }],
    ['The order was refunded.', { refunded: true }],
    ['The refund was issued.', { refunded_at: '2024-05-03' }],
    ['The order is cancelled.', '{"order":"A-7","state":"cancelled"}'],
  ])('%s', (text, record) => {
    expect(problemsIn(text)).toHaveLength(1);
    expect(problemsIn(text, { observations: [order(record)] })).toEqual([]);
  });

  test.each([
    ['a field that says no', 'Order A-7 is refunded.', { refunded: false }],
    ['a text that says no', 'Order A-7 is refunded.', { note: 'not refunded' }],
    ['a rule', 'Order A-7 is refunded.', { note: 'can be refunded' }],
    ['a record of something else', 'Order A-8 is cancelled.', { state: 'cancelled' }],
  ])('but not because of %s', (_, text, record) =>
    expect(problemsIn(text, { observations: [order(record)] })).toHaveLength(1),
  );

  test.each(['I cancelled order A-7 myself.', 'My order was cancelled. Why?', 'Cancelled order A-7 for Ann.'])(
    'after somebody has said: %s',
    (each) => expect(problemsIn('Order A-7 was cancelled.', { userTexts: [each] })).toEqual([]),
  );
});

test('a lookup without an actor is a lookup too', () => {
  const said = { fields: {}, answer: '', cite: false, claims: true, values: 'off' } as const;
  const tools = [wordsOf('metrics.get_dashboard', tool('read', 'Gets a dashboard.'))];
  const material = evidenceOf({ observations: [], userTexts: [], given: [], since: null, confirmed: [], tools });
  const kinds = (text: string) => judgeUtterance({ ...said, text }, material).findings.map(({ kind }) => kind);
  expect(kinds('Checked the dashboard; all is well.')).toEqual(['lookup']);
  expect(kinds('Read the dashboard first.')).toEqual([]);
});

describe('an example that says what its last action would have done', () => {
  const load = (name: string): unknown =>
    parse(readFileSync(new URL(`../../../../examples/${name}.yaml`, import.meta.url), 'utf8'));

  test.each([
    ['profile-coding', 'git.push'],
    ['profile-procurement', 'purchase.order'],
    ['profile-sre', 'service.restart'],
    ['profile-support', 'payments.refund'],
  ])('%s with and without %s', async (name, action) => {
    const document = load(`${name}.flow`) as object;
    const script = load(`${name}.script`) as Script;
    const setting = { origin: { tenant: 'acme', user: 'ann' } };
    expect((await play(document, script, setting)).report.code).toBe('SUCCESS');
    const agents = Object.entries(script.agents ?? {}).map(([agent, entries]) => [
      agent,
      [entries].flat().filter((entry) => !JSON.stringify(entry).includes(`"${action}"`)),
    ]);
    const { report, events } = await play(
      document,
      { ...script, agents: Object.fromEntries(agents) as never },
      setting,
    );
    expect(report.code).not.toBe('SUCCESS');
    expect(JSON.stringify(events)).toContain(`${action} has not succeeded`);
  });
});

test('a sentence of many pages is read in pieces, and all of it is read', () => {
  for (const long of ['word '.repeat(2000).trim(), 'aを'.repeat(3000)]) {
    const parts = sentencesOf(`${long} I have cancelled the order.`).map(({ text }) => text);
    expect(Math.max(...parts.map(({ length }) => length))).toBeLessThanOrEqual(2000);
    expect(parts.join('').replaceAll(' ', '')).toBe(`${long}Ihavecancelledtheorder.`.replaceAll(' ', ''));
    expect(clausesOf(`${long} I have cancelled the order.`)).toMatchObject([{ word: 'cancelled', what: 'the order' }]);
  }
});
