/** Presets survive ordinary work: three tasks per profile that finish, and the words that stopped such work before. */
import { describe, expect, test } from 'vitest';
import type { Json } from '@sluice-internal/kernel/expr';
import type { Script } from '../../../library/src/host/scripted/script.ts';
import { compile } from '../../../library/src/compile.ts';
import { play } from './play.ts';

type Calls = readonly (readonly [tool: string, args: Json, result: Json])[];
interface Task {
  readonly profile: string;
  readonly name: string;
  readonly input: Json;
  readonly calls: Calls;
  readonly answer: string;
  readonly budgets?: object;
}

const TOOLS: { readonly [name: string]: object } = {
  'web.search': { effect: 'egress' },
  'web.read': { effect: 'egress' },
  'archive.find': { effect: 'read', category: 'retrieval' },
  read_file: { effect: 'read', category: 'file_system' },
  write_file: { effect: 'write', category: 'file_system' },
  shell_run: { effect: 'write', category: 'sandbox' },
  'crm.get': { effect: 'read' },
  'shop.product': { effect: 'read' },
  'tickets.tag': { effect: 'write' },
  'drafts.create': { effect: 'write' },
  'mail.send': { effect: 'communication' },
  'payments.refund': { effect: 'financial' },
  'billing.change_card': { effect: 'write' },
  'vendors.list': { effect: 'read' },
  'orders.create': { effect: 'financial' },
  'recommend.write': { effect: 'write' },
  'logs.search': { effect: 'read' },
  'metrics.get': { effect: 'read' },
  'deploy.rollback': { effect: 'infrastructure' },
  'db.query': { effect: 'read', category: 'database' },
};

function documentOf(profile: string, names: readonly string[], more: object = {}): object {
  const used = [...new Set(names)];
  return {
    tools: Object.fromEntries(used.map((name) => [name, TOOLS[name] ?? {}])),
    agents: [{ id: 'bot', tools: used }],
    boundary: { profile },
    loop: { agent: 'bot' },
    ...more,
  };
}

function scriptOf(calls: Calls, answer: string): Script {
  const tools: { [name: string]: { result: Json }[] } = {};
  for (const [tool, , result] of calls) (tools[tool] ??= []).push({ result });
  const turns = calls.map(([name, args]) => ({ text: '', tools: [{ name, args: args as never }] }));
  const approvals = Object.fromEntries(calls.map(([name]) => [name, 'approve']));
  return { agents: { bot: [...turns, answer] }, tools, approvals };
}

const PASS = { exitCode: 0, stdout: '4 passed', stderr: '' };
const FAIL = { exitCode: 1, stdout: '1 failed, 3 passed', stderr: '' };

const TASKS: readonly Task[] = [
  {
    profile: 'research',
    name: 'answers from two sources',
    input: 'When was the Elbe bridge of Dresden opened? See https://city.example/bridge',
    calls: [
      ['archive.find', { q: 'Elbe bridge' }, { text: 'The bridge was opened on 1893-07-15.' }],
      ['web.read', { url: 'https://city.example/bridge' }, 'Opened 15 July 1893.'],
    ],
    answer: 'It was opened on July 15, 1893.',
  },
  {
    profile: 'research',
    name: 'finds nothing and says so',
    input: 'Find the price of part p-7.',
    calls: [['archive.find', { q: 'p-7' }, { matches: [] }]],
    answer: '{"status": "impossible", "reason": "The archive has no entry for p-7."}',
  },
  {
    profile: 'research',
    name: 'compares two documents',
    input: 'Which of a.txt and b.txt is newer?',
    calls: [
      ['archive.find', { file: 'a.txt' }, { date: '2026-01-02' }],
      ['archive.find', { file: 'b.txt' }, { date: '2026-03-04' }],
    ],
    answer: 'b.txt is newer: March 4, 2026 against January 2, 2026.',
  },
  {
    profile: 'coding',
    name: 'tests, fixes and tests again',
    input: 'Fix the rounding in price.py.',
    calls: [
      ['shell_run', { command: 'pytest -q' }, FAIL],
      ['read_file', { path: 'price.py' }, { content: 'x' }],
      ['write_file', { path: 'price.py', content: 'y' }, { ok: true }],
      ['shell_run', { command: 'pytest -q' }, PASS],
    ],
    answer: 'I fixed price.py, and all 4 tests pass.',
  },
  {
    profile: 'coding',
    name: 'writes the word production',
    input: 'Document the settings in README.md.',
    calls: [
      [
        'shell_run',
        { command: 'grep -rn production .' },
        { exitCode: 0, stdout: 'config.py:3: production = False', stderr: '' },
      ],
      ['write_file', { path: 'README.md', content: 'Set `production` to true on the production host.' }, { ok: true }],
    ],
    answer: 'README.md now explains the setting.',
  },
  {
    profile: 'coding',
    name: 'tests five times',
    input: 'Make the tests pass.',
    calls: [
      ['shell_run', { command: 'npm test -- a' }, PASS],
      ['shell_run', { command: 'npm test -- b' }, { ...PASS, stdout: '5 passed' }],
      ['shell_run', { command: 'npm test -- c' }, { ...PASS, stdout: '6 passed' }],
      ['shell_run', { command: 'npm test -- d' }, { ...PASS, stdout: '7 passed' }],
      ['shell_run', { command: 'npm test' }, { ...PASS, stdout: '22 passed' }],
    ],
    answer: 'All 22 tests pass.',
  },
  {
    profile: 'support',
    name: 'reads an account under its number',
    input: JSON.stringify({ customer: 'Ann Lee', message: 'Where is my order?' }),
    calls: [['crm.get', { customer: 'c-1001' }, { customer: 'c-1001', name: 'Ann Lee', status: 'shipped' }]],
    answer: 'Your order is shipped.',
  },
  {
    profile: 'support',
    name: 'answers about a health product',
    input: 'Do you have vitamin C?',
    calls: [['shop.product', { category: 'health' }, { sku: 'V-1', category: 'health', price: 9.5, stock: 3 }]],
    answer: 'Yes, for 9.50.',
  },
  {
    profile: 'support',
    name: 'refunds with approval',
    input: 'Refund order A-7, 20 dollars.',
    calls: [
      ['crm.get', { order: 'A-7' }, { order: 'A-7', total: 20, eligible: true }],
      ['payments.refund', { order: 'A-7', amount: 20 }, { refunded: 20 }],
    ],
    answer: 'I refunded $20 for order A-7.',
  },
  {
    profile: 'procurement',
    name: 'compares vendors',
    input: 'Which vendor of bolts is cheaper?',
    calls: [
      [
        'vendors.list',
        { part: 'bolts' },
        {
          vendors: [
            { vendor: 'A', price: 4 },
            { vendor: 'B', price: 5 },
          ],
        },
      ],
    ],
    answer: 'A is cheaper: 4 against 5.',
  },
  {
    profile: 'procurement',
    name: 'writes a recommendation',
    input: 'Recommend a vendor for bolts.',
    calls: [
      ['vendors.list', {}, { vendors: [{ vendor: 'A', risk: 'low' }] }],
      ['recommend.write', { text: 'Take A.' }, { saved: true }],
    ],
    answer: 'I recommend A.',
  },
  {
    profile: 'procurement',
    name: 'orders with approval',
    input: 'Order 4 bolts from A.',
    calls: [
      ['vendors.list', {}, { vendors: [{ vendor: 'A', risk: 'low' }] }],
      ['orders.create', { vendor: 'A', count: 4 }, { order: 'PO-12' }],
    ],
    answer: 'I ordered 4 bolts from A: PO-12.',
  },
  {
    profile: 'sre',
    name: 'diagnoses',
    input: 'Why is checkout slow?',
    calls: [
      ['logs.search', { service: 'checkout' }, { release: 'v5.18.2', errors: 12 }],
      ['metrics.get', { service: 'checkout' }, { p95_ms: 2480 }],
    ],
    answer: 'p95 is 2480 ms since v5.18.2.',
  },
  {
    profile: 'sre',
    name: 'recommends a rollback',
    input: 'What should we do about checkout?',
    calls: [['logs.search', { service: 'checkout' }, { release: 'v5.18.2' }]],
    answer: 'I recommend to roll back v5.18.2.',
  },
  {
    profile: 'sre',
    name: 'rolls back with approval, where the budget allows it',
    input: 'Roll checkout back to v5.18.1.',
    budgets: { side_effects: 1 },
    calls: [['deploy.rollback', { service: 'checkout', to: 'v5.18.1' }, { done: true }]],
    answer: 'I rolled checkout back to v5.18.1.',
  },
];

describe('ordinary tasks finish', () => {
  test.each(TASKS.map((task) => [`${task.profile}: ${task.name}`, task] as const))('%s', async (_, task) => {
    const { profile, calls, answer, input, budgets } = task;
    const document = documentOf(
      profile,
      calls.map(([tool]) => tool),
      budgets === undefined ? {} : { budgets },
    );
    const { report, dispatched } = await play(document, scriptOf(calls, answer), { input });
    expect(dispatched).toEqual(calls.map(([tool]) => tool));
    const expected = answer.startsWith('{') ? 'IMPOSSIBLE' : 'SUCCESS';
    expect([report.code, report.violations ?? []]).toEqual([expected, []]);
  });
});

describe('what still closes', () => {
  const run = (profile: string, calls: Calls, input: Json = 'do it') =>
    play(
      documentOf(
        profile,
        calls.map(([tool]) => tool),
      ),
      scriptOf(calls, 'Done.'),
      { input },
    );

  test.each([
    'kubectl -n production delete pod web-1',
    'cd app && terraform apply -var env=prod',
    'ssh deploy@production.example restart',
  ])('coding: %s', async (command) => {
    const { report, dispatched } = await run('coding', [['shell_run', { command }, PASS]]);
    expect([report.code, dispatched]).toEqual(['UNSAFE_DETECTION', []]);
  });

  test('support: another customer', async () => {
    const input = JSON.stringify({ customer: 'c-1002' });
    const { report } = await run('support', [['crm.get', { customer: 'c-1001' }, { customer: 'c-1001' }]], input);
    expect(report.code).toBe('UNSAFE_DETECTION');
  });

  test('support: a card is changed', async () => {
    const { report, dispatched } = await run('support', [['billing.change_card', { last4: '1881' }, {}]]);
    expect([report.code, dispatched]).toEqual(['PERMISSION_DENIED', []]);
  });

  test.each<[string, Json]>([
    [
      'a field',
      {
        vendors: [
          { vendor: 'A', risk: 'low' },
          { vendor: 'B', risk: 'high' },
        ],
      },
    ],
    ['a list', [{ vendor: 'B', risk: 'critical' }]],
    ['a list of another name', { shortlist: [{ vendor_name: 'B', vendor_risk: 'high' }] }],
    ['an object', { items: [{ price: 3, vendor: { name: 'B', risk_level: 'High' } }] }],
    ['JSON text', { text: '[{"vendor": "B", "risk": "high"}]' }],
  ])('procurement: the risk of a vendor inside %s', async (_, result) => {
    const { report, dispatched } = await run('procurement', [
      ['vendors.list', {}, result],
      ['orders.create', { vendor: 'B' }, {}],
    ]);
    expect([report.code, dispatched]).toEqual(['SOURCE_CONFLICT', ['vendors.list']]);
  });
});

test('a database tool that only reads refuses statements that write', async () => {
  const query = (sql: string) => ({ text: '', tools: [{ name: 'db.query', args: { sql } }] });
  const document = documentOf('sre', ['db.query']);
  const script = (sql: string): Script => ({
    agents: { bot: [query(sql), 'ok'] },
    tools: { 'db.query': [{ result: [] }] },
  });
  for (const sql of [
    'DELETE FROM users',
    'select 1; drop table users',
    'WITH x AS (DELETE FROM t RETURNING *) SELECT * FROM x',
  ])
    expect((await play(document, script(sql))).dispatched, sql).toEqual([]);
  for (const sql of ["SELECT * FROM log WHERE text = 'delete from users'", 'select updated_at from t -- drop table'])
    expect((await play(document, script(sql))).dispatched, sql).toEqual(['db.query']);
});

test('`state_writes` binds every tool that writes', () => {
  const document = {
    ...documentOf('support', ['tickets.tag', 'drafts.create']),
    boundary: { state_writes: ['drafts.*'] },
  };
  const { flow } = compile(document);
  expect(flow?.boundaries?.['bot']?.tools).toMatchObject({ deny: ['tickets.tag'] });
});

test('a malformed edit does not use up the approval', async () => {
  const input = {
    type: 'object',
    properties: { to: { type: 'string' } },
    required: ['to'],
    additionalProperties: false,
  };
  const document = {
    tools: { 'mail.send': { effect: 'communication', input } },
    agents: [{ id: 'bot', tools: ['mail.send'] }],
    loop: { agent: 'bot' },
  };
  const script: Script = {
    agents: { bot: [{ text: '', tools: [{ name: 'mail.send', args: { to: 'Ann' } }] }, 'Sent.'] },
    tools: { 'mail.send': [{ result: 'ok' }] },
    approvals: { 'mail.send': [{ choice: 'edit', edit: { to: 5 } }] as never },
  };
  const { report, dispatched } = await play(document, script, { input: 'mail Ann' });
  expect([report.state, dispatched]).toEqual(['suspended', []]);
  expect(report.waiting).toMatchObject([{ choices: ['approve', 'edit', 'reject', 'respond'] }]);
});

test('a provider that is down is an outage, and the "no" of a person is nobody’s incident', async () => {
  const down: Script = { agents: { bot: [{ error: 'transient', message: '503' }] } };
  const outage = await play(documentOf('research', ['archive.find']), down);
  expect(outage.report).toMatchObject({ state: 'failed', escalation: { row: 'provider_outage' } });
  const calls: Calls = [['deploy.rollback', { service: 'web' }, {}]];
  const script = { ...scriptOf(calls, 'x'), approvals: { 'deploy.rollback': 'reject' } };
  const no = await play(documentOf('sre', ['deploy.rollback'], { budgets: { side_effects: 1 } }), script, {
    input: 'roll back web',
  });
  expect(no.report).toMatchObject({ state: 'failed', code: 'PERMISSION_DENIED' });
  expect(no.report.escalation).toBeUndefined();
});

test('`check` says that a granted tool can never be called', () => {
  const people = [{ id: 'anna' }];
  const { diagnostics } = compile({ ...documentOf('sre', ['deploy.rollback', 'logs.search']), people });
  expect(diagnostics).toMatchObject([
    { severity: 'warning', code: 'budget-too-small', message: expect.stringContaining('deploy.rollback') as string },
  ]);
  const affordable = documentOf('sre', ['deploy.rollback'], { budgets: { side_effects: 1 } });
  expect(compile({ ...affordable, people }).diagnostics).toEqual([]);
});
