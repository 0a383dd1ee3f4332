/** The risk profiles, row by row: what is allowed runs, what needs approval waits, what fails closed ends the run. */
import { describe, expect, test } from 'vitest';
import { PROFILES } from '@sluice-internal/kernel/catalog';
import type { Row } from '@sluice-internal/kernel/catalog';
import { play } from './play.ts';

const names = Object.keys(PROFILES) as (keyof typeof PROFILES)[];
const INPUT = { type: 'object', properties: { text: { type: 'string' } } };

/** A tool that the row is about. */
function toolOf({ effects, categories, words, paid }: Row) {
  return {
    name: words === undefined ? 'some.tool' : `x.${words[0]?.replace('*', '').replace(' ', '_')}`,
    def: {
      effect: paid === true ? 'read' : (effects?.[0] ?? (categories === undefined ? 'write' : 'read')),
      input: INPUT,
      ...(categories === undefined ? {} : { category: categories[0] }),
      ...(paid === true ? { cost: 0.1 } : {}),
    },
  };
}

interface Scene {
  readonly boundary: object | string;
  readonly tools: { readonly [name: string]: object };
  readonly calls: readonly { name: string; args?: { [field: string]: string } }[];
  readonly results?: { readonly [name: string]: unknown };
  readonly approvals?: { readonly [about: string]: string };
  readonly more?: object;
}

function run({ boundary, tools, calls, results = {}, approvals = {}, more = {} }: Scene) {
  const document = {
    tools,
    agents: [{ id: 'bot', tools: Object.keys(tools) }],
    boundary,
    ...more,
    flow: { id: 'demo', entry: 'work', nodes: [{ id: 'work', type: 'agent', agent: 'bot' }] },
  };
  const replies = calls.map((call) => ({ text: '', tools: [{ args: {}, ...call }] }));
  const scripted = Object.fromEntries(
    Object.keys(tools).map((name) => [name, [{ result: (results[name] ?? 'ok') as never }]]),
  );
  return play(document, { agents: { bot: [...replies, 'done'] }, tools: scripted, approvals });
}

const TITLES: { readonly [profile in keyof typeof PROFILES]: string } = {
  research: 'research: its rows §profiles/research-assistant',
  coding: 'coding: its rows §profiles/coding-assistant',
  support: 'support: its rows §profiles/customer-support',
  procurement: 'procurement: its rows §profiles/procurement-agent',
  sre: 'sre: its rows §profiles/sre-agent',
};

describe.each(names.map((name) => [TITLES[name], name] as const))('%s', (_, profile) => {
  test.each(PROFILES[profile].allowed.filter(({ words }) => words !== undefined))(
    'a name lets nothing pass: $what',
    async (row) => {
      const { name, def } = toolOf(row);
      const { report, dispatched } = await run({ boundary: profile, tools: { [name]: def }, calls: [{ name }] });
      expect([report.code, dispatched]).toEqual(['CONFIRM_REQUIRED', []]);
    },
  );

  test.each(PROFILES[profile].allowed.filter(({ words }) => words === undefined))('allowed: $what', async (row) => {
    const { name, def } = toolOf(row);
    const { report, dispatched } = await run({ boundary: profile, tools: { [name]: def }, calls: [{ name }] });
    expect([report.code, dispatched]).toEqual(['SUCCESS', [name]]);
  });

  test.each(PROFILES[profile].approval)('needs approval: $what', async (row) => {
    const { name, def } = toolOf(row);
    const { report, dispatched } = await run({ boundary: profile, tools: { [name]: def }, calls: [{ name }] });
    expect([report.code, dispatched]).toEqual(['CONFIRM_REQUIRED', []]);
  });

  const signals = PROFILES[profile].failClosed.flatMap((row) => {
    const name = 'when' in row ? /s == "(\w+)"/.exec(row.when)?.[1] : undefined;
    return name === undefined ? [] : [{ what: row.what, code: row.code, name }];
  });
  test.each(signals)('fails closed: $what', async ({ name, code }) => {
    const tools = { 'sys.look': { effect: 'read', input: INPUT } };
    const calls = [{ name: 'sys.look' }, { name: 'sys.look' }];
    const { report, dispatched } = await run({
      boundary: profile,
      tools,
      calls,
      results: { 'sys.look': { signals: [name] } },
    });
    expect([report.state, report.code, dispatched.length]).toEqual(['failed', code, 1]);
    expect(report.error?.type).toBe('FailClosedError');
  });
});

describe('what fails closed without a signal', () => {
  const write = { effect: 'write', input: INPUT, category: 'file_system' };

  test.each(['research', 'coding'])('%s: unauthorized access ends the run', async (profile) => {
    const { report } = await run({
      boundary: { profile, tools: { deny: ['repo.read'] } },
      tools: { 'repo.read': { effect: 'read', input: INPUT } },
      calls: [{ name: 'repo.read' }],
    });
    expect([report.state, report.code]).toEqual(['failed', 'PERMISSION_DENIED']);
  });

  test('coding: a secret in the arguments §controls/safety', async () => {
    const { report, dispatched } = await run({
      boundary: 'coding',
      tools: { 'file.write': write },
      calls: [{ name: 'file.write', args: { text: 'key AKIAABCDEFGHIJKLMNOP' } }],
    });
    expect([report.code, dispatched]).toEqual(['UNSAFE_DETECTION', []]);
  });

  test('coding: nothing leaves the workspace while tests fail after a change', async () => {
    const tools = {
      write_file: write,
      shell_run: { effect: 'write', category: 'sandbox', input: INPUT },
      'git.push': { effect: 'infrastructure', input: INPUT },
    };
    const scene = {
      boundary: 'coding',
      tools,
      calls: [{ name: 'write_file' }, { name: 'shell_run' }, { name: 'git.push' }],
      approvals: { 'git.push': 'approve' },
    };
    const failing = await run({ ...scene, results: { shell_run: { exitCode: 1 } } });
    expect([failing.report.code, failing.dispatched]).toEqual(['VALIDATION_FAIL', ['write_file', 'shell_run']]);
    const passing = await run({ ...scene, results: { shell_run: { exitCode: 0 } } });
    expect([passing.report.code, passing.dispatched]).toEqual(['SUCCESS', ['write_file', 'shell_run', 'git.push']]);
  });

  test('coding: a command that touches production', async () => {
    const { report, dispatched } = await run({
      boundary: 'coding',
      tools: { 'shell.run': { effect: 'write', category: 'sandbox' } },
      calls: [{ name: 'shell.run', args: { command: 'ssh production restart' } }],
    });
    expect([report.code, dispatched]).toEqual(['UNSAFE_DETECTION', []]);
  });

  test('support: the payment details of an account', async () => {
    const { report } = await run({
      boundary: 'support',
      tools: { 'billing.payment_method_set': { effect: 'financial', input: INPUT } },
      calls: [{ name: 'billing.payment_method_set' }],
    });
    expect(report.code).toBe('PERMISSION_DENIED');
  });

  test('procurement: a budget breach', async () => {
    const { report } = await run({
      boundary: 'procurement',
      tools: { 'po.create': { effect: 'financial', input: INPUT } },
      calls: [{ name: 'po.create' }],
      more: { budgets: { side_effects: 0 } },
    });
    expect(report.code).toBe('BUDGET_EXHAUSTED');
  });

  test.each(['procurement', 'sre'])('%s: no approval, no run', async (profile) => {
    const { report, dispatched } = await run({
      boundary: profile,
      tools: { 'svc.restart': { effect: 'infrastructure', input: INPUT } },
      calls: [{ name: 'svc.restart' }],
      approvals: { 'svc.restart': 'reject' },
    });
    expect([report.code, dispatched]).toEqual(['PERMISSION_DENIED', []]);
  });

  test('sre: a destructive action', async () => {
    const { report, dispatched } = await run({
      boundary: 'sre',
      tools: { 'svc.exec': { effect: 'infrastructure', input: INPUT } },
      calls: [{ name: 'svc.exec', args: { text: 'rm -rf /data' } }],
      approvals: { 'svc.exec': 'approve' },
    });
    expect([report.code, dispatched]).toEqual(['UNSAFE_DETECTION', []]);
  });

  test('every row of every profile has been walked', () => {
    const others = names.flatMap((name) =>
      PROFILES[name].failClosed
        .filter((row) => !('when' in row) || !row.when.includes('signals.exists'))
        .map(({ what }) => what),
    );
    expect(others).toEqual([
      'Unauthorized data access',
      'Secret exposure',
      'Failing tests after mutation',
      'Unauthorized repo access',
      'Production-impacting command',
      'Budget breach',
      'Missing approval chain',
      'Destructive action',
      'Missing operator approval',
    ]);
  });
});
