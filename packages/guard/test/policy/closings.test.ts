/** The rows that fail closed, fired by nothing but data: arguments, what was observed, what the run is about. */
import { describe, expect, test } from 'vitest';
import { PROFILES } from '@sluice-internal/kernel/catalog';
import type { Json } from '@sluice-internal/kernel/expr';
import { play } from './play.ts';

interface Scene {
  readonly row: string;
  readonly profile: keyof typeof PROFILES;
  readonly code: string;
  /** What is called at last: its name and class. */
  readonly tool?: readonly [name: string, effect: string];
  readonly args?: Json;
  /** What was looked up before, and how that call was made. */
  readonly seen?: Json;
  readonly lookup?: Json;
  readonly input?: Json;
  /** The same, and nothing is wrong with it. */
  readonly fine: { readonly args?: Json; readonly seen?: Json; readonly lookup?: Json; readonly input?: Json };
}

const SAVE = ['memory.save', 'write'] as const;
const REFUND = ['billing.refund', 'financial'] as const;
const ORDER = ['purchase.order', 'financial'] as const;
const RESTART = ['svc.restart', 'infrastructure'] as const;
const research = { profile: 'research', tool: SAVE } as const;
const support = { profile: 'support', tool: REFUND } as const;
const procurement = { profile: 'procurement', tool: ORDER } as const;
const sre = { profile: 'sre', tool: RESTART } as const;

const SCENES: readonly Scene[] = [
  {
    ...research,
    row: 'Ungrounded claims presented as verified',
    code: 'VALIDATION_FAIL',
    seen: { id: 'doc-1' },
    args: { citations: ['doc-1', 'doc-2'] },
    fine: { args: { citations: ['doc-1'] } },
  },
  {
    ...research,
    row: 'Source-policy conflict',
    code: 'SOURCE_CONFLICT',
    seen: { classification: 'Confidential', text: 'x' },
    fine: { seen: { classification: 'public', text: 'x' } },
  },
  {
    ...support,
    row: 'Identity mismatch',
    code: 'UNSAFE_DETECTION',
    input: { customer_id: 7, message: 'hi' },
    args: { customer_id: 8 },
    fine: { args: { customer_id: '7' } },
  },
  {
    ...support,
    row: 'Identity mismatch',
    code: 'UNSAFE_DETECTION',
    input: { account_id: 'a1', message: 'hi' },
    seen: { account_id: 'a2' },
    fine: { seen: { account_id: 'a1' } },
  },
  {
    ...support,
    row: 'Payment change',
    code: 'PERMISSION_DENIED',
    args: { iban: 'DE00' },
    fine: { args: { amount: 3 } },
  },
  {
    ...support,
    row: 'Policy exception',
    code: 'PERMISSION_DENIED',
    args: { amount: 3, override: true },
    fine: { args: { amount: 3, override: false } },
  },
  {
    ...support,
    row: 'Policy exception',
    code: 'PERMISSION_DENIED',
    seen: { eligible: false },
    fine: { seen: { eligible: true } },
  },
  {
    ...support,
    row: 'Regulated support category',
    code: 'REVIEW_REQUIRED',
    seen: { category: 'Legal' },
    fine: { seen: { category: 'shipping' } },
  },
  {
    ...support,
    row: 'Regulated support category',
    code: 'REVIEW_REQUIRED',
    lookup: { category: 'medical' },
    fine: { lookup: { category: 'returns' } },
  },
  {
    ...procurement,
    row: 'Budget breach',
    code: 'BUDGET_EXHAUSTED',
    input: { budget: 100, message: 'buy' },
    args: { amount: 101 },
    fine: { args: { amount: 100 } },
  },
  {
    ...procurement,
    row: 'Budget breach',
    code: 'BUDGET_EXHAUSTED',
    seen: { budget_remaining: 10 },
    args: { total: 10.5 },
    fine: { args: { total: 9.5 } },
  },
  {
    ...procurement,
    row: 'Missing approval chain',
    code: 'PERMISSION_DENIED',
    args: { approval_chain: [] },
    fine: { args: { approval_chain: ['ann'] } },
  },
  {
    ...procurement,
    row: 'Vendor risk conflict',
    code: 'SOURCE_CONFLICT',
    seen: { vendor: 'acme', risk: 'High' },
    args: { vendor: 'acme' },
    fine: { args: { vendor: 'other' } },
  },
  {
    ...procurement,
    row: 'Contract ambiguity',
    code: 'REVIEW_REQUIRED',
    seen: { unclear_terms: ['renewal'] },
    fine: { seen: { unclear_terms: [] } },
  },
  {
    ...sre,
    row: 'Security incident',
    code: 'UNSAFE_DETECTION',
    seen: { labels: ['disk', 'Security'] },
    fine: { seen: { labels: ['disk'] } },
  },
  {
    ...sre,
    row: 'Uncertain blast radius',
    code: 'REVIEW_REQUIRED',
    args: { hosts: ['web-1', '*'] },
    fine: { args: { hosts: ['web-1'] } },
  },
  {
    ...sre,
    row: 'Uncertain blast radius',
    code: 'REVIEW_REQUIRED',
    seen: { blast_radius: 'unknown' },
    fine: { seen: { blast_radius: 'one host' } },
  },
];

async function act(profile: string, tool: readonly [string, string, string?], values: Omit<Scene['fine'], never>) {
  const { args = {}, seen = 'nothing', lookup = {}, input = { message: 'please' } } = values;
  const [name, effect, category] = tool;
  const tools = { 'sys.look': { effect: 'read', trust: 'trusted' }, [name]: { effect, ...(category && { category }) } };
  const document = {
    tools,
    agents: [{ id: 'bot', tools: Object.keys(tools) }],
    boundary: profile,
    flow: { id: 'demo', entry: 'work', nodes: [{ id: 'work', type: 'agent', agent: 'bot' }] },
  };
  const calls = [
    { name: 'sys.look', args: lookup },
    { name, args },
  ];
  const bot = [...calls.map((call) => ({ text: '', tools: [call as { name: string; args: {} }] })), 'done'];
  return play(
    document,
    {
      agents: { bot },
      tools: { 'sys.look': [{ result: seen }], [name]: [{ result: 'ok' }] },
      approvals: { [name]: 'approve' },
    },
    { input },
  );
}

describe.each(SCENES)('$profile: $row', ({ row, profile, code, tool = SAVE, fine, ...wrong }) => {
  test('ends the run before the call', async () => {
    const { report, dispatched } = await act(profile, tool, wrong);
    expect([report.state, report.code, report.error?.message]).toEqual([
      'failed',
      code,
      `${row}: ${tool[0]} was not called`,
    ]);
    expect(dispatched).toEqual(['sys.look']);
  });

  test('and not where nothing is wrong', async () => {
    const { report, dispatched } = await act(profile, tool, { ...wrong, ...fine });
    expect([report.code, dispatched]).toEqual(['SUCCESS', ['sys.look', tool[0]]]);
  });
});

describe('a draft for review may say what must not be done', () => {
  test.each([
    ['procurement', 'note.draft', { vendor: 'acme', risk: 'high', unclear_terms: ['x'] }],
    ['support', 'reply.draft', { eligible: false }],
    ['sre', 'runbook.draft', { blast_radius: 'unknown' }],
  ])('%s', async (profile, name, seen) => {
    const { report, dispatched } = await act(profile, [name, 'write', 'review'], { seen, args: { hosts: 'all' } });
    expect([report.code, dispatched]).toEqual(['SUCCESS', ['sys.look', name]]);
  });
});

/** A condition that cannot be evaluated ends a run, so these have to bear whatever comes. */
describe.each(Object.keys(PROFILES))('%s: odd values', (profile) => {
  const odd: readonly Json[] = [
    null,
    7,
    'text',
    [],
    [1, null],
    {},
    { citations: [{ url: 'u' }, null, 3], amount: 'ten', vendor: null, labels: [null], hosts: [[]] },
    { customer_id: { a: 1 }, eligible: 'no', risk: 5, signals: 'x', budget: [], category: ['a'], blast_radius: {} },
  ];
  test.each(odd.map((value) => [JSON.stringify(value), value] as const))('%s', async (_, value) => {
    const args = typeof value === 'object' && value !== null && !Array.isArray(value) ? value : {};
    const { events } = await act(profile, SAVE, { args, seen: value, lookup: args, input: value });
    expect(events.filter(({ type }) => type === 'guard.failed')).toEqual([]);
  });
});

test('coding: tests are calls in the sandbox, and changes are calls that write files', async () => {
  const tools = {
    'ws.edit': { effect: 'write', category: 'file_system' },
    'ci.test': { effect: 'write', category: 'sandbox' },
    'git.push': { effect: 'infrastructure' },
  };
  const run = (passed: boolean) =>
    play(
      {
        tools,
        agents: [{ id: 'bot', tools: Object.keys(tools) }],
        boundary: 'coding',
        flow: { id: 'demo', entry: 'work', nodes: [{ id: 'work', type: 'agent', agent: 'bot' }] },
      },
      {
        agents: {
          bot: [...Object.keys(tools).map((name) => ({ text: '', tools: [{ name, args: {} }] })), 'done'],
        },
        tools: {
          'ws.edit': [{ result: 1 }],
          'ci.test': [{ result: { exitCode: passed ? 0 : 1 } }],
          'git.push': [{ result: 1 }],
        },
        approvals: { 'git.push': 'approve' },
      },
    );
  expect((await run(true)).report.code).toBe('SUCCESS');
  const failing = await run(false);
  expect([failing.report.code, failing.dispatched]).toEqual(['VALIDATION_FAIL', ['ws.edit', 'ci.test']]);
});
