/** A task that asks for an action is fulfilled by a call, never by words: in any language. */
import { describe, expect, test } from 'vitest';
import { compileLoop, drive } from './drive.ts';

const TOOLS = {
  'parts.find': { description: 'Finds a part.', effect: 'read' },
  'parts.order': { description: 'Orders a part.', effect: 'write' },
  'notes.add': { description: 'Adds a note to a part.', effect: 'write' },
};
const call = (name: string, args: object = {}) => ({ tools: [{ name, args: args as never }], text: '' });
const find = call('parts.find', { id: 'p-12' });

function run(
  input: string,
  replies: readonly unknown[],
  loop: object = {},
  judge: readonly unknown[] = ['{"ok": true}'],
) {
  const document = {
    agents: [{ id: 'buyer', tools: Object.keys(TOOLS) }, { id: 'judge' }],
    tools: TOOLS,
    boundary: { tools: { allow: Object.keys(TOOLS) } },
    loop: { agent: 'buyer', ...loop },
  };
  return drive(
    compileLoop(document),
    {
      agents: { buyer: replies as never, judge: judge as never },
      tools: {
        'parts.find': [{ result: { price: 12.5, maker: 'Bosch' } }],
        'parts.order': [{ result: { order: 'o-77' } }],
        'notes.add': [{ result: { ok: true } }],
      },
    },
    { input },
  );
}

const LANGUAGES: readonly (readonly [string, string, string])[] = [
  ['English', 'Order part p-12.', 'The order is with the supplier.'],
  ['German', 'Bestelle bitte Teil p-12.', 'Die Bestellung wurde aufgegeben.'],
  ['French', 'Commandez la pièce p-12.', 'La commande a été passée.'],
  ['Spanish', 'Pide la pieza p-12.', 'El pedido ha sido realizado.'],
  ['Italian', 'Ordina il pezzo p-12.', 'Ordine effettuato.'],
  ['Portuguese', 'Encomende a peça p-12.', 'A encomenda foi feita.'],
  ['Dutch', 'Bestel onderdeel p-12.', 'De bestelling is geplaatst.'],
  ['Polish', 'Zamów część p-12.', 'Zamówienie zostało złożone.'],
  ['Russian', 'Закажи деталь p-12.', 'Заказ оформлен.'],
  ['Chinese', '订购零件 p-12。', '订单已提交。'],
  ['Japanese', '部品 p-12 を注文して。', '注文が完了いたしました。'],
  ['Swedish', 'Beställ del p-12.', 'Beställningen är lagd.'],
  ['Turkish', 'p-12 parçasını sipariş et.', 'Sipariş verildi.'],
  ['Hungarian', 'Rendeld meg a p-12 alkatrészt.', 'A rendelés leadva.'],
];

describe('a claim in words', () => {
  test.each(LANGUAGES)('%s: without a call', async (_, input, reply) => {
    const { report, difference } = await run(input, [reply]);
    expect(report.code).not.toBe('SUCCESS');
    expect(difference).toBeNull();
  });

  test.each(LANGUAGES)('%s: after a call that only reads', async (_, input, reply) => {
    const { report } = await run(input, [find, reply]);
    expect(report.code).not.toBe('SUCCESS');
  });

  test.each(LANGUAGES)('%s: with the call it is a success', async (_, input, reply) => {
    const { report } = await run(input, [find, call('parts.order', { id: 'p-12' }), reply]);
    expect([report.code, report.violations]).toEqual(['SUCCESS', []]);
  });

  test.each(LANGUAGES.slice(0, 11))(
    '%s: after another call with an effect, and with an observed value',
    async (_, input, reply) => {
      const { report } = await run(input, [find, call('notes.add', { part: 'p-12' }), `${reply} 12.5`]);
      expect(report.code).not.toBe('SUCCESS');
      expect(report.reason).toMatch(/parts\.order has not succeeded|has not succeeded \(parts\.order\)/);
    },
  );

  test.each(['Done.', 'Erledigt.', 'Fatto!', '✅', 'Hecho', 'Klart.', 'Kész.', 'OK'])(
    '%s after only reads',
    async (reply) => {
      const { report } = await run('Order part p-12.', [find, reply]);
      expect(report.code).not.toBe('SUCCESS');
    },
  );
});

test.each(['It costs 12.5.', 'It costs 12.50.'])('a number that was observed is a statement: %s', async (reply) => {
  const { report } = await run('Please help Bob with p-12.', [find, reply]);
  expect([report.code, report.reason]).toEqual(['SUCCESS', undefined]);
});

describe('what was not done', () => {
  test('is an event, is the reason of the report, and caps the run', async () => {
    const { report, read } = await run('Bestelle Teil p-12.', [find, 'Das Teil ist unterwegs.']);
    expect([report.code, report.reason]).toEqual([
      'PARTIAL_SUCCESS',
      'the task asks for a call that has not succeeded (parts.order): "Bestelle Teil p-12."',
    ]);
    expect(read.events.some((event) => event.type === 'effect.requested' && event.name === 'policy:deeds')).toBe(true);
  });

  test('is settled by a person who approves the answer', async () => {
    const { report } = await drive(
      compileLoop({
        agents: [{ id: 'buyer', tools: ['parts.order'] }],
        tools: { 'parts.order': TOOLS['parts.order'] },
        loop: { agent: 'buyer', review: true },
      }),
      { agents: { buyer: ['Der Lieferant hat geschlossen.'] } },
      { input: 'Bestelle p-12.', answers: [{ choice: 'approve' }] },
    );
    expect(report.code).toBe('SUCCESS');
  });

  test('a criterion that states an action outweighs a verifier that agrees', async () => {
    const loop = { criteria: ['The order was placed'], verifier: 'judge' };
    const { report } = await run('See to part p-12.', [find, 'The maker is Bosch.'], loop);
    expect([report.code, report.reason]).toEqual([
      'PARTIAL_SUCCESS',
      'no observation supports the criterion "The order was placed"',
    ]);
    const ordered = await run('See to part p-12.', [call('parts.order'), 'The order is o-77.'], loop);
    expect(ordered.report.code).toBe('SUCCESS');
  });

  test('a call that failed does not count', async () => {
    const flow = compileLoop({
      agents: [{ id: 'buyer', tools: ['parts.order'] }],
      tools: { 'parts.order': TOOLS['parts.order'] },
      boundary: { tools: { allow: ['parts.order'] } },
      loop: { agent: 'buyer' },
    });
    const { report } = await drive(
      flow,
      {
        agents: { buyer: [call('parts.order'), 'Ordine effettuato.'] },
        tools: { 'parts.order': [{ error: 'fatal' }] },
      },
      { input: 'Ordina p-12.' },
    );
    expect(report.code).not.toBe('SUCCESS');
  });

  test('a request that a person adds later needs a call after it', async () => {
    const flow = compileLoop({
      agents: [{ id: 'buyer', tools: ['parts.order'] }],
      tools: { 'parts.order': TOOLS['parts.order'] },
      boundary: { tools: { allow: ['parts.order'] } },
      loop: { agent: 'buyer' },
    });
    const script = {
      agents: {
        buyer: [
          call('parts.order'),
          '{"status": "missing_info", "question": "Anything else?"}',
          'Auch das ist geschehen.',
        ],
      },
      tools: { 'parts.order': [{ result: { order: 'o-77' } }] },
    };
    const { report } = await drive(flow, script, {
      input: 'Order p-12.',
      answers: [{ choice: 'respond', text: 'Order p-13 too.' }],
    });
    expect(report).toMatchObject({ code: 'PARTIAL_SUCCESS' });
  });
});

describe('where unsupported claims matter', () => {
  const paid = (replies: readonly unknown[], input: string) =>
    drive(
      compileLoop({
        agents: [{ id: 'clerk', tools: ['orders.get', 'payments.pay'] }],
        tools: {
          'orders.get': { description: 'Reads an order.', effect: 'read' },
          'payments.pay': { description: 'Pays an invoice.', effect: 'financial' },
        },
        loop: { agent: 'clerk' },
      }),
      { agents: { clerk: replies as never }, tools: { 'orders.get': [{ result: { status: 'paid' } }] } },
      { input },
    );

  test.each([
    'Die Zahlung wurde ausgeführt.',
    'Le paiement a été effectué.',
    'El pago ha sido realizado.',
    'Pagamento effettuato.',
    'O pagamento foi efetuado.',
    'De betaling is uitgevoerd.',
    'Płatność została zrealizowana.',
  ])('%s goes back to the agent, then to a person', async (reply) => {
    const { report } = await paid([reply], 'Pay INV-7.');
    expect(report).toMatchObject({ state: 'suspended', code: 'REVIEW_REQUIRED', usage: { modelCalls: 3 } });
  });

  test.each([
    'Die Zahlung wurde noch nicht ausgeführt.',
    'Le paiement a déjà été effectué.',
    'El pago ha sido realizado.',
    'Wurde die Zahlung ausgeführt?',
  ])('%s as a report about a record passes', async (reply) => {
    const read = { tools: [{ name: 'orders.get', args: {} }], text: '' };
    const { report } = await paid([read, `${reply} Status: paid.`], 'Was INV-7 paid?');
    expect([report.code, report.violations]).toEqual(['SUCCESS', []]);
  });
});

describe('honest work', () => {
  test.each([
    ['What does part p-12 cost?', 'It costs 12.50.'],
    ['What does part p-12 cost?', 'Zwölf fünfzig.'],
    ['Show me order p-12', 'The maker is Bosch.'],
    ['Refund status of p-12, please', 'Maker: Bosch.'],
    ['Check whether p-12 is available', 'Yes, it is.'],
    ['Prüfe, ob p-12 lieferbar ist', 'Ja, das Teil ist lieferbar.'],
    ['Was kostet p-12?', 'Zwölf fünfzig.'],
    ['Order p-12 if it costs less than 10.', 'It costs 12.5, so nothing was ordered.'],
    ['Do not order anything. Tell me the maker of p-12.', 'Bosch.'],
    ['Send me the price of p-12', '12.5'],
    ['Write a summary of part p-12', 'A part by Bosch for 12.5.'],
    ['Compare p-12 with its maker', 'Bosch makes it.'],
    ['Order p-12 was late. Who is the maker?', 'Bosch.'],
    ['p-12 fiyatı', '12.5'],
  ])('%s: %s', async (input, reply) => {
    const { report } = await run(input, [find, reply]);
    expect([report.code, report.violations]).toEqual(['SUCCESS', []]);
  });
});

test('a check that fails with an error leaves the task open', () => {
  const { nodes } = compileLoop({
    agents: [{ id: 'buyer', tools: Object.keys(TOOLS) }],
    tools: TOOLS,
    loop: { agent: 'buyer' },
  });
  const check = Object.values(nodes).find((node) => node.op === 'do' && JSON.stringify(node).includes('policy:deeds'));
  const broken = nodes[(check as { fail: string }).fail];
  expect(broken).toMatchObject({
    op: 'let',
    writes: expect.arrayContaining([
      expect.objectContaining({ slot: 'undone', value: 'text("the actions cannot be checked: ", error.message)' }),
    ]),
  });
});
