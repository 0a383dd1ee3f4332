/** Every question names the row of the escalation table that it falls under, and shows what that row demands. */
import { describe, expect, test } from 'vitest';
import { ESCALATIONS, escalationOf, escalationOfEnd } from '@sluice-internal/kernel/catalog';
import type { EscalationId } from '@sluice-internal/kernel/catalog';
import type { Json } from '@sluice-internal/kernel/expr';
import type { Waiting } from '@sluice-internal/engine/ports';
import { play } from './play.ts';

const INPUT = { type: 'object', properties: { to: { type: 'string' }, amount: { type: 'number' } }, required: ['to'] };

function doc(tool: object, boundary: object = {}, more: object = {}) {
  return {
    tools: { 'x.do': { input: INPUT, ...tool } },
    agents: [{ id: 'bot', tools: ['x.do'] }],
    boundary,
    ...more,
    flow: { id: 'demo', entry: 'work', nodes: [{ id: 'work', type: 'agent', agent: 'bot' }] },
  };
}
const proposing = (...calls: { name?: string; args?: Json }[]) => ({
  agents: {
    bot: [...calls.map((call) => ({ text: '', tools: [{ name: 'x.do', args: { to: 'ann' }, ...call }] })), 'done'],
  },
  tools: { 'x.do': [{ result: 'ok' }] },
});

/** The row is there as the table has it, and so is all that it demands. */
function expectRow(waiting: Waiting | undefined, row: EscalationId): void {
  const payload = waiting?.data as { [field: string]: Json };
  expect(payload['escalation']).toEqual(escalationOf(row));
  expect(Object.keys(payload)).toEqual(expect.arrayContaining([...ESCALATIONS[row].shows]));
}

describe('a call that needs approval', () => {
  test.each([
    ['write', undefined, 'high_impact_mutation'],
    ['infrastructure', undefined, 'high_impact_mutation'],
    ['financial', undefined, 'financial_commitment'],
    ['communication', undefined, 'external_communication'],
    ['write', 'payment', 'financial_commitment'],
    ['write', 'messages', 'external_communication'],
    ['write', 'database', 'high_impact_mutation'],
  ] as const)('%s, %s: %s', async (effect, category, row) => {
    const tool = { effect, ...(category === undefined ? {} : { category }) };
    const { report } = await play(doc(tool), proposing({ args: { to: 'ann', amount: 12 } }));
    expect(report.code).toBe('CONFIRM_REQUIRED');
    expectRow(report.waiting[0], row);
  });

  test('a lookup that costs money is a commitment', async () => {
    const { report } = await play(doc({ effect: 'read', cost: 0.5 }, { profile: 'research' }), proposing({}));
    expectRow(report.waiting[0], 'financial_commitment');
  });

  test('what a mutation touches and how it is taken back §escalation/high-impact-mutation', async () => {
    const tools = { 'x.do': { input: INPUT, effect: 'write', compensate: 'x.undo' }, 'x.undo': { effect: 'write' } };
    const { report } = await play({ ...doc({}), tools }, proposing({}));
    expect(report.waiting[0]?.data).toMatchObject({
      touches: { effect: 'write', permission: 'x.do', repeatable: false, reversible: true },
      rollback: 'x.undo',
    });
  });

  test('a payment: how much, to whom, under which budget, and what was agreed to before §escalation/financial-commitment', async () => {
    const tools = { 'x.do': { input: INPUT, effect: 'write' }, 'pay.do': { input: INPUT, effect: 'financial' } };
    const agents = [{ id: 'bot', tools: Object.keys(tools) }];
    const { report } = await play(
      { ...doc({}, {}, { budgets: { side_effects: 4 } }), tools, agents },
      { ...proposing({}, { name: 'pay.do', args: { to: 'bob', amount: 40 } }), approvals: { 'x.do': 'approve' } },
    );
    expectRow(report.waiting[0], 'financial_commitment');
    expect(report.waiting[0]?.data).toMatchObject({
      amount: 40,
      payee: 'bob',
      budget: { side_effects: 4 },
      agreed: ['x.do'],
    });
  });

  test('a message: to whom and which words §escalation/external-communication', async () => {
    const { report } = await play(
      doc({ effect: 'communication' }),
      proposing({ args: { to: 'ann', body: 'Hello Ann' } }),
    );
    expect(report.waiting[0]?.data).toMatchObject({ recipients: 'ann', draft: 'Hello Ann' });
  });
});

describe('a refusal that a person sees', () => {
  const bad = { args: { to: 5 } };
  test.each([
    ['malformed', {}, { malformed: 'ask' }, [bad, bad, bad], 'missing_input'],
    ['denied', {}, { denied: 'ask' }, [{}], 'repeated_denial'],
    ['unregistered', {}, { unregistered: 'ask' }, [{ name: 'x.dont' }], 'ambiguous_goal'],
    ['unverified', { verify: 'result == "fine"' }, { unverified: 'ask' }, [{}], 'low_confidence'],
    ['rejected', {}, { rejected: 'ask' }, [{}], 'high_impact_mutation'],
  ] as const)('%s', async (trouble, tool, escalation, calls, row) => {
    const tools = trouble === 'denied' ? { deny: ['x.do'] } : trouble === 'rejected' ? {} : { allow: ['x.do'] };
    const { report } = await play(doc({ effect: 'write', ...tool }, { escalation, tools }), {
      ...proposing(...calls),
      approvals: trouble === 'rejected' ? { 'x.do': 'reject' } : {},
    });
    expect([report.state, report.code, report.waiting[0]?.node]).toEqual(['suspended', 'REVIEW_REQUIRED', 'work']);
    expect(report.waiting[0]?.data).toMatchObject({ escalation: { row } });
    expect(report.waiting[0]?.data).toHaveProperty('problem');
  });

  test('a field that stays missing is named', async () => {
    const none = { args: {} };
    const { report } = await play(doc({ effect: 'write' }), proposing(none, none, none));
    expectRow(report.waiting[0], 'missing_input');
    expect(report.waiting[0]?.data).toMatchObject({ fields: ['to'] });
  });
});

describe('a tool that does not exist', () => {
  const boundary = { escalation: { unregistered: 'ask' } };
  const script = proposing({ name: 'x.dont' });

  test('a person is asked, and sees the tools that exist', async () => {
    const { report, dispatched } = await play(doc({ effect: 'read' }, boundary), script);
    expectRow(report.waiting[0], 'ambiguous_goal');
    expect(report.waiting[0]).toMatchObject({
      message: 'bot wants to call x.dont, which it does not have. Available: x.do.',
      choices: ['respond', 'stop'],
      data: { tool: 'x.dont', args: { to: 'ann' }, readings: ['x.do'] },
    });
    expect(dispatched).toEqual([]);
  });

  test('their words go to the agent, which goes on', async () => {
    const approvals = { unregistered: { choice: 'respond', text: 'use x.do' } };
    const { report, events } = await play(doc({ effect: 'read' }, boundary), { ...script, approvals });
    expect(report.code).toBe('SUCCESS');
    expect(JSON.stringify(events)).toContain('unknown tool x.dont. Answer: use x.do');
  });

  test('or the run stops', async () => {
    const { report } = await play(doc({ effect: 'read' }, boundary), {
      ...script,
      approvals: { unregistered: 'stop' },
    });
    expect(report).toMatchObject({
      code: 'PERMISSION_DENIED',
      error: { type: 'UnknownToolError' },
      escalation: { row: 'repeated_denial', route: 'fail_closed' },
    });
  });
});

describe('questions that authors write', () => {
  const gate = (to: string) => ({
    tools: {
      'pay.out': { effect: 'financial', input: INPUT },
      'mail.out': { effect: 'communication', input: INPUT },
    },
    flow: {
      id: 'demo',
      entry: 'ok',
      nodes: [
        { id: 'ok', type: 'approval', message: 'Go?', routes: [{ when: "approvals.ok == 'approve'", to }] },
        { id: 'pay', type: 'tool', tool: 'pay.out', params: { to: 'ann' } },
        { id: 'mail', type: 'tool', tool: 'mail.out', params: { to: 'ann' } },
        { id: 'bye', type: 'terminal', output: 'bye' },
      ].filter(({ id, type }) => type === 'approval' || id === to),
    },
  });
  test.each([
    ['pay', 'financial_commitment'],
    ['mail', 'external_communication'],
    ['bye', 'high_impact_mutation'],
  ] as const)('an approval before %s: %s', async (to, row) => {
    const { report } = await play(gate(to), {});
    expect(report.waiting[0]?.data).toEqual({ escalation: escalationOf(row) });
  });

  test('a tool that always asks', async () => {
    const { report } = await play(
      {
        tools: { 'pay.out': { effect: 'financial', input: INPUT, approval: 'always' } },
        flow: {
          id: 'demo',
          entry: 'pay',
          nodes: [{ id: 'pay', type: 'tool', tool: 'pay.out', params: { to: 'ann', amount: 3 } }],
        },
      },
      {},
    );
    expectRow(report.waiting[0], 'financial_commitment');
    expect(report.waiting[0]?.data).toMatchObject({ amount: 3, payee: 'ann' });
  });
});

test('a run that ends without anybody says whose it is §escalation/security-guard', async () => {
  const { report } = await play(doc({ effect: 'write' }, { fail_closed: [{ what: 'never', when: 'true' }] }), {
    ...proposing({}),
  });
  expect(report).toMatchObject({
    state: 'failed',
    code: 'UNSAFE_DETECTION',
    escalation: { row: 'security_breach', route: 'fail_closed', endpoint: 'security operations' },
  });
  const good = await play(doc({ effect: 'read' }), proposing({}));
  expect([good.report.code, good.report.escalation]).toEqual(['SUCCESS', undefined]);
});

test('codes that end a run lead to the row they belong to', () => {
  const ended = ['TIMEOUT', 'REPEATED_FAILURE', 'PERMISSION_DENIED', 'UNSAFE_DETECTION', 'UNAVAILABLE_DEP'] as const;
  const rows = ended.map((code) => escalationOfEnd({ code, error: null, ofModel: false })?.row);
  expect(rows).toEqual(['budget_reached', 'tool_failure', 'repeated_denial', 'security_breach', 'provider_outage']);
});
