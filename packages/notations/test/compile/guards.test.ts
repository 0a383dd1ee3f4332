/** Guards do not fail silently: numbers as text, unlike types, misspelt fields, and the warning for a guard without a schema. */
import { describe, expect, test } from 'vitest';
import { compileExpr } from '@sluice-internal/kernel/expr';
import { compileText } from './compile-text.ts';

describe('guard(…)', () => {
  test.each([
    ['order.amount > 200', { amount: '490' }, true],
    ['order.amount > 200', { amount: ' 4.9e2 ' }, true],
    ['200 < order.amount', { amount: '100' }, false],
    ['order.amount == 490', { amount: '490.0' }, true],
    ['order.amount != 490', { amount: '490' }, false],
  ])('%s on %o compares numbers, with a note', (source, order, expected) => {
    const notes = { coerced: [], unread: [] };
    expect(compileExpr(`guard(${source})`)({ order }, notes)).toBe(expected);
    expect(notes.coerced).toEqual([
      `the text ${JSON.stringify(order.amount)} was compared as the number ${Number(order.amount)}`,
    ]);
  });

  test.each([
    ['order.name.first == "Mila"', { name: 'Mila' }, '`order.name` is a text, which has no field `first`'],
    ['_agent.kind == "x"', {}, null],
  ])('%s on %o does not hold, with a note where a text has no fields', (source, order, note) => {
    const notes = { coerced: [], unread: [] };
    expect(compileExpr(`guard(${source})`)({ order }, notes)).toBe(false);
    expect(notes.unread).toEqual(note === null ? [] : [note]);
  });

  test.each([
    ['order.amount > 200', { amount: 'many' }, 'string and int cannot be compared'],
    ['order.amount > 200', {}, 'null_type and int cannot be compared'],
    ['order.paid == "yes"', { paid: true }, 'bool and string cannot be compared'],
    ['order.amuont > 200', { amount: 490 }, '`order` has no field `amuont`, but it has `amount`'],
    ['order.Status == "open"', { status: 'open' }, '`order` has no field `Status`, but it has `status`'],
  ])('%s on %o cannot be evaluated', (source, order, message) => {
    expect(() => compileExpr(`guard(${source})`)({ order })).toThrow(message);
  });

  test('a misspelt field of the last reply is named without the slot of the engine', () => {
    const guard = compileExpr('guard(_agent.amount > 200)');
    expect(() => guard({ _agent: { amoun: 490 } })).toThrow('the reply has no field `amount`, but it has `amoun`');
  });

  test.each([
    ['order.status == null', {}, true],
    ['has(order.amount) && order.amount > 200', {}, false],
    ['order.note != "x"', { amount: 1 }, true],
    ['order.amount > 200 || order.vip', { amount: 'many', vip: true }, true],
  ])('%s on %o means the same as without it', (source, order, expected) => {
    expect(compileExpr(`guard(${source})`)({ order })).toBe(expected);
  });
});

describe('a guard of a flow', () => {
  const typed = ', output: { type: object, properties: { amount: { type: number }, level: { enum: ["1", "2"] } } }';
  const found = (when: string, output = ''): readonly string[] =>
    compileText(`agents: [{ id: a, instructions: Read.${output} }]
flow:
  id: f
  entry: read
  nodes:
    - { id: read, type: agent, agent: a, routes: [{ to: gate }] }
    - { id: gate, type: approval, message: Pay?, routes: [{ when: "${when}", to: done }, { to: end }] }
    - { id: done, type: terminal }`).diagnostics.map(({ code, help = '' }) => `${code}: ${help}`);

  test.each(["amount == '200'", "'20.5' < amount", 'level == 1', "amount > 3 && amount == '4' && level == '2'"])(
    'compares a number with a text that spells one: %s',
    (when) => {
      expect(found(when, typed)).toEqual([]);
    },
  );

  test('warns about a number that no text of the schema spells', () => {
    expect(found('level == 5', typed)).toEqual(['never-holds: It is one of `1`, `2`.']);
  });

  test.each(["amount == 'high'", "amount > '3 EUR'", 'level == true'])('refuses other types: %s', (when) => {
    expect(found(when, typed)).toEqual([expect.stringMatching(/^type-mismatch/)]);
  });

  test.each([
    ['approve', "unknown-name: Write `approvals.gate == 'approve'`."],
    ["gate == 'approve'", "unknown-name: Write `approvals.gate == 'approve'`."],
  ])('warns about an approval that it does not read: %s', (when, expected) => {
    expect(found(when)).toEqual([expected]);
  });

  test('shows how to call a function that other languages write as an operator', () => {
    expect(found("note contains 'x'")).toEqual(['bad-expression: Write `text.contains("…")`.']);
  });
});

test('a parameter that is a slip of a declared one gets a warning', () => {
  const { diagnostics } = compileText(`
tools: { t.x: { input: { type: object, properties: { customer: { type: string } } } } }
flow: { id: f, entry: s, nodes: [{ id: s, type: tool, tool: t.x, params: { custmer: x, other: y } }] }`);
  expect(diagnostics.map(({ code, help }) => `${code}: ${help}`)).toEqual(['unknown-key: Did you mean `customer`?']);
});

describe('a guard that protects a side effect', () => {
  const flow = (output: string, routes: string): string => `
agents: [{ id: reader, instructions: Read.${output} }]
tools: { bank.pay: { effect: financial }, bank.look: { effect: read } }
flow:
  id: pay
  entry: read
  nodes:
    - { id: read, type: agent, agent: reader, routes: [${routes}] }
    - { id: ask, type: approval, message: Pay?, routes: [{ when: "approvals.ask == 'approve'", to: pay }, { to: end }] }
    - { id: pay, type: tool, tool: bank.pay }
    - { id: look, type: tool, tool: bank.look }`;
  const codes = (source: string): readonly string[] => compileText(source).diagnostics.map(({ code }) => code);
  const LOOK = '{ when: "size(last) > 9000", to: look }';

  test('needs an output schema', () => {
    expect(codes(flow('', `{ when: "amount > 200", to: ask }, ${LOOK}, { to: pay }`))).toContain(
      'guard-without-schema',
    );
  });

  test('needs one also if the tool is on an MCP server', () => {
    const ofServer = flow('', `{ when: "amount > 200", to: ask }, ${LOOK}, { to: pay }`).replace(
      /tools: .*/,
      'mcp: { bank: { command: x } }',
    );
    expect(codes(ofServer)).toContain('guard-without-schema');
  });

  test('is fine with one', () => {
    const output = ', output: { type: object, properties: { amount: { type: number } } }';
    const found = codes(flow(output, '{ when: "amount > 200", to: ask }, { to: pay }'));
    expect(found).not.toContain('guard-without-schema');
  });

  const decided = (output: string): string => `
agents: [{ id: reader, instructions: Read.${output} }]
tools: { bank.pay: { effect: financial } }
flow:
  id: pay
  entry: read
  nodes:
    - { id: read, type: agent, agent: reader, routes: [{ to: risk }] }
    - { id: risk, type: decision, expr: kind, routes: [{ to: ask, when: high }, { to: pay }] }
    - { id: ask, type: approval, message: Pay?, routes: [{ when: approvals.ask == 'approve', to: pay }] }
    - { id: pay, type: tool, tool: bank.pay }`;

  test('needs an output schema where a decision reads the reply', () => {
    const found = compileText(decided('')).diagnostics.find(({ code }) => code === 'guard-without-schema');
    expect(found).toMatchObject({ line: 9, column: 41, message: expect.stringContaining('`pay` without `ask`') });
    const output = ', output: { type: object, properties: { kind: { enum: [high, low] } } }';
    expect(codes(decided(output))).not.toContain('guard-without-schema');
  });

  test('needs no schema where it does not read the reply', () => {
    const routes = '{ when: "event.payload.amount > 200", to: ask }, { to: pay }';
    expect(codes(flow('', routes))).not.toContain('guard-without-schema');
  });

  test('is fine where the other route reaches no side effect', () => {
    expect(codes(flow('', '{ when: "amount > 200", to: ask }, { to: look }'))).not.toContain('guard-without-schema');
  });
});

describe('words that mean something else than a field of the reply', () => {
  const routes = (when: string, output?: object): readonly string[] => {
    const { diagnostics } = compileText({
      agents: [{ id: 'bot', instructions: 'Answer.', ...(output === undefined ? {} : { output }) }],
      flow: {
        id: 'f',
        entry: 'a',
        nodes: [
          { id: 'a', type: 'agent', agent: 'bot', routes: [{ when, to: 'b' }, { to: 'end' }] },
          { id: 'b', type: 'terminal', output: 'b' },
        ],
      },
    });
    return diagnostics.filter(({ code }) => code === 'never-holds').map(({ help }) => help ?? '');
  };

  test.each([
    ['category == refund', "Write `'refund'`."],
    ['a.output.category == refund', "Write `'refund'`."],
    ['category != refund && vip == true', "Write `'refund'`."],
    ['vip == True', 'Write `true`.'],
    ['vip == None', 'Write `null`.'],
    ['vip == yes', 'Write `true`.'],
    ["message == 'x'", 'Write `event.payload.message`.'],
    ["input == 'x'", 'Write `event.payload`.'],
    ['otherwise', 'Leave `when` out: a route without it takes all other cases.'],
  ])('%s', (when, help) => {
    expect(routes(when)).toEqual([help]);
  });

  test.each(['category == "refund"', 'vip == true', 'vip', 'amount > limit', 'a.output.message == "x"'])(
    'not of %s',
    (when) => {
      expect(routes(when)).toEqual([]);
    },
  );

  test('not of fields that the schema of the reply has', () => {
    const properties = { category: { type: 'string' }, message: { type: 'string' }, refund: { type: 'string' } };
    const output = { type: 'object', properties };
    expect(routes('category == refund', output)).toEqual([]);
    expect(routes("message == 'x'", output)).toEqual([]);
  });
});
