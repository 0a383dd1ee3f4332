/** The eligibility pipeline, step by step, as the page's diagram has it: every refusal and where it leads. */
import { describe, expect, test } from 'vitest';
import type { Event } from '@sluice-internal/kernel/ir';
import { play } from './play.ts';

const SEND = {
  effect: 'communication',
  input: { type: 'object', properties: { to: { type: 'string' }, count: { type: 'integer' } }, required: ['to'] },
};
const LOOK = { effect: 'read', input: { type: 'object', properties: { q: { type: 'string' } } } };

function doc(more: { tools?: object; boundary?: object | string; [section: string]: unknown } = {}) {
  const { tools = {}, ...rest } = more;
  const all = { 'mail.send': SEND, 'web.look': LOOK, ...tools };
  return {
    tools: all,
    agents: [{ id: 'bot', tools: Object.keys(all) }],
    ...rest,
    flow: { id: 'demo', entry: 'work', nodes: [{ id: 'work', type: 'agent', agent: 'bot' }] },
  };
}
const calls = (...proposed: { name: string; args?: unknown }[]) => ({
  bot: [...proposed.map((call) => ({ tools: [call as never], text: '' })), 'done'],
});
const SENT = { 'mail.send': [{ result: { sent: true } }], 'web.look': [{ result: 'found' }] };
const send = (args: unknown = { to: 'a@b.c' }) => ({ name: 'mail.send', args });
const judgedIn = (events: readonly Event[]) =>
  events.flatMap((event) => (event.type === 'call.judged' ? event.controls.map((each) => each.slice(0, 2)) : []));

describe('the order', () => {
  test('each verdict is in an event, and a person comes before the call §terms/action §handoffs/tool-contracts', async () => {
    const { events, report, dispatched } = await play(doc(), {
      agents: calls(send()),
      tools: SENT,
      approvals: { 'mail.send': 'approve' },
    });
    expect(report.code).toBe('SUCCESS');
    expect(dispatched).toEqual(['mail.send']);
    expect(judgedIn(events)).toEqual([
      ['arguments', 'pass'],
      ['budget', 'pass'],
      ['provenance', 'pass'],
      ['rejected', 'pass'],
      ['repeat', 'pass'],
      ['approval', 'ask'],
      ['approval', 'pass'],
      ['budget', 'pass'],
      ['repeat', 'pass'],
    ]);
  });

  test('read-only: dispatched without approval', async () => {
    const { events, dispatched } = await play(doc(), {
      agents: calls({ name: 'web.look', args: { q: 'x' } }),
      tools: SENT,
    });
    expect(dispatched).toEqual(['web.look']);
    expect(judgedIn(events)).toEqual([
      ['arguments', 'pass'],
      ['budget', 'pass'],
    ]);
  });

  test.each(['write', 'financial', 'communication', 'infrastructure'])(
    '%s waits for a person §controls/privileged-action §handoffs/trust-control §pathologies/escalation-bypass',
    async (effect) => {
      const { report, dispatched } = await play(doc({ tools: { 'mail.send': { ...SEND, effect } } }), {
        agents: calls(send()),
        tools: SENT,
      });
      expect(report).toMatchObject({ state: 'suspended', code: 'CONFIRM_REQUIRED' });
      expect(report.waiting[0]).toMatchObject({
        choices: ['approve', 'edit', 'reject', 'respond'],
        askedBy: 'bot',
        data: { tool: 'mail.send', args: { to: 'a@b.c' }, effect },
      });
      expect(dispatched).toEqual([]);
    },
  );
});

describe('registry', () => {
  test('not registered: the agent is told and may mend it', async () => {
    const { report, dispatched } = await play(doc(), {
      agents: calls({ name: 'mail.sned', args: {} }, { name: 'web.look', args: {} }),
      tools: SENT,
    });
    expect(report.code).toBe('SUCCESS');
    expect(dispatched).toEqual(['web.look']);
  });

  test('not registered: the boundary may end the run', async () => {
    const { report } = await play(doc({ boundary: { escalation: { unregistered: 'fail' } } }), {
      agents: calls({ name: 'mail.sned', args: {} }),
      tools: SENT,
    });
    expect(report).toMatchObject({
      state: 'failed',
      code: 'PERMISSION_DENIED',
      error: { type: 'UnknownToolError', node: 'work' },
    });
  });
});

describe('schema and normalisation', () => {
  test('numbers as text and the object as text are put right', async () => {
    const { report } = await play(doc(), {
      agents: calls(send('{"to": "a@b.c", "count": "3", "x": null}')),
      tools: SENT,
    });
    expect(report.waiting[0]?.data).toMatchObject({ args: { to: 'a@b.c', count: 3, x: null } });
  });

  test('malformed: told precisely, mended twice at the most, then the run fails', async () => {
    const bad = send({ to: 5 });
    const { report, dispatched, events } = await play(doc(), { agents: calls(bad, bad, bad), tools: SENT });
    expect(dispatched).toEqual([]);
    expect(report).toMatchObject({
      state: 'failed',
      code: 'VALIDATION_FAIL',
      usage: { modelCalls: 3 },
      error: { type: 'ArgumentError' },
    });
    expect(JSON.stringify(events)).toContain('`to` must be string');
  });

  test('a field that stays missing is asked for', async () => {
    const bad = send({});
    const script = { agents: { bot: [...calls(bad, bad, bad).bot.slice(0, 3), ...calls(send()).bot] }, tools: SENT };
    const waiting = await play(doc(), script);
    expect(waiting.report).toMatchObject({ state: 'suspended', code: 'MISSING_INFO' });
    expect(waiting.report.waiting[0]?.message).toBe('mail.send needs: to');
    const answered = await play(doc(), {
      ...script,
      approvals: { missing_info: { choice: 'respond', text: 'to a@b.c' }, 'mail.send': 'approve' },
    });
    expect(answered.report.code).toBe('SUCCESS');
    expect(answered.dispatched).toEqual(['mail.send']);
  });

  test('without the right to repair, the first mistake ends it', async () => {
    const { report } = await play(doc({ boundary: { decisions: ['tools', 'arguments'] } }), {
      agents: calls(send({})),
      tools: SENT,
    });
    expect(report).toMatchObject({ state: 'failed', code: 'VALIDATION_FAIL', usage: { modelCalls: 1 } });
  });
});

describe('permission', () => {
  const policies = {
    all: 'permit(principal, action, resource);',
    outside: 'forbid(principal, action == Action::"mail.send", resource) unless { context.args.to like "*@b.c" };',
  };

  test('forbidden: blocked, and the agent may do something else', async () => {
    const { report, dispatched } = await play(doc({ policies }), {
      agents: calls(send({ to: 'x@evil' }), { name: 'web.look', args: {} }),
      tools: SENT,
    });
    expect(report.code).toBe('SUCCESS');
    expect(dispatched).toEqual(['web.look']);
  });

  test('permitted goes on to the person', async () => {
    const { report } = await play(doc({ policies }), { agents: calls(send()), tools: SENT });
    expect(report.code).toBe('CONFIRM_REQUIRED');
  });

  test('the third denial is no slip any more §escalation/repeated-permission-denial', async () => {
    const bad = send({ to: 'x@evil' });
    const { report } = await play(doc({ policies }), { agents: calls(bad, bad, bad, bad), tools: SENT });
    expect(report).toMatchObject({ state: 'failed', code: 'PERMISSION_DENIED', usage: { modelCalls: 3 } });
  });

  test('a high-impact call that is denied ends the run at once', async () => {
    const { report } = await play(doc({ policies, tools: { 'mail.send': { ...SEND, effect: 'financial' } } }), {
      agents: calls(send({ to: 'x@evil' })),
      tools: SENT,
    });
    expect(report).toMatchObject({ state: 'failed', code: 'PERMISSION_DENIED', usage: { modelCalls: 1 } });
  });

  test('a denial can be escalated to a person §boundary/escalation-paths §terms/escalation-trigger', async () => {
    const { report } = await play(doc({ policies, boundary: { escalation: { denied: 'ask' } } }), {
      agents: calls(send({ to: 'x@evil' })),
      tools: SENT,
    });
    expect(report).toMatchObject({ state: 'suspended', code: 'REVIEW_REQUIRED' });
  });

  test('what the boundary denies is never called', async () => {
    const { report, dispatched } = await play(doc({ boundary: { tools: { deny: ['mail.*'] } } }), {
      agents: calls(send()),
      tools: SENT,
    });
    expect([report.code, dispatched]).toEqual(['SUCCESS', []]);
  });
});

describe('budget and rate', () => {
  test('over budget: stopped before a person is asked', async () => {
    const { report, events } = await play(doc({ budgets: { side_effects: 0 } }), {
      agents: calls(send()),
      tools: SENT,
      approvals: { 'mail.send': 'approve' },
    });
    expect(report).toMatchObject({ state: 'failed', code: 'BUDGET_EXHAUSTED' });
    expect(events.some((event) => event.type === 'effect.requested' && event.kind === 'ask')).toBe(false);
  });

  test('the exact call: two of three fit §terms/tool-budget', async () => {
    const look = { name: 'web.look', args: {} };
    const { report, dispatched } = await play(doc({ budgets: { tool_calls: 2 } }), {
      agents: calls(look, look, look),
      tools: SENT,
    });
    expect([report.code, dispatched.length]).toEqual(['BUDGET_EXHAUSTED', 2]);
  });

  test('the budget of one agent', async () => {
    const look = { name: 'web.look', args: {} };
    const document = doc();
    const agents = [{ ...document.agents[0], budget: { tool_calls: 1 } }];
    const { report, dispatched } = await play({ ...document, agents }, { agents: calls(look, look), tools: SENT });
    expect([report.code, dispatched.length]).toEqual(['BUDGET_EXHAUSTED', 1]);
  });

  test('too early: put off until there is room, as an event', async () => {
    const look = { name: 'web.look', args: {} };
    const tools = { 'web.look': { ...LOOK, rate_limit: { calls: 1, per_seconds: 60 } } };
    const { report, dispatched, events } = await play(doc({ tools }), { agents: calls(look, look), tools: SENT });
    expect([report.code, dispatched.length]).toEqual(['SUCCESS', 2]);
    const deferred = events.findIndex(
      (event) => event.type === 'call.judged' && event.controls.some(([, verdict]) => verdict === 'wait'),
    );
    expect(events[deferred]).toMatchObject({
      controls: [
        ['arguments', 'pass'],
        ['budget', 'pass'],
        ['rate', 'wait', expect.any(String)],
      ],
    });
    const again = events[deferred + 1] as unknown as { notBefore: number; at: number };
    expect(again.notBefore - again.at).toBeGreaterThan(59_000);
  });
});

describe('approval', () => {
  test('rejected: the agent is told, and the same call is not asked about again', async () => {
    const { report, dispatched, events } = await play(doc(), {
      agents: calls(send(), send()),
      tools: SENT,
      approvals: { 'mail.send': 'reject' },
    });
    expect([report.code, dispatched]).toEqual(['SUCCESS', []]);
    expect(events.filter((event) => event.type === 'effect.requested' && event.kind === 'ask')).toHaveLength(1);
  });

  test('rejected: the boundary may end the run', async () => {
    const { report } = await play(doc({ boundary: { escalation: { rejected: 'fail' } } }), {
      agents: calls(send()),
      tools: SENT,
      approvals: { 'mail.send': 'reject' },
    });
    expect(report).toMatchObject({
      state: 'failed',
      code: 'PERMISSION_DENIED',
      error: { type: 'ApprovalRejectedError' },
    });
  });

  test('edited: judged again, and called as edited', async () => {
    const approvals = { 'mail.send': { choice: 'edit', edit: { to: 'b@b.c', count: 2 } } };
    const { dispatched, events, report } = await play(doc(), { agents: calls(send()), tools: SENT, approvals });
    expect([report.code, dispatched]).toEqual(['SUCCESS', ['mail.send']]);
    expect(judgedIn(events).filter(([control]) => control === 'arguments')).toHaveLength(2);
    expect(report.receipts).toMatchObject([{ args: { to: 'b@b.c', count: 2 }, approvedBy: 'script' }]);
  });

  test('edited against the schema: the question stays open', async () => {
    const approvals = { 'mail.send': { choice: 'edit', edit: { to: 'b@b.c', count: 'two' } } };
    const { dispatched, report } = await play(doc(), { agents: calls(send()), tools: SENT, approvals });
    expect([report.code, dispatched]).toEqual(['CONFIRM_REQUIRED', []]);
  });

  test('edited into something invalid: refused', async () => {
    const approvals = { 'mail.send': { choice: 'edit', edit: { to: 7 } } };
    const { dispatched } = await play(doc(), { agents: calls(send()), tools: SENT, approvals });
    expect(dispatched).toEqual([]);
  });

  test('answered with words: told to the agent', async () => {
    const approvals = { 'mail.send': { choice: 'respond', text: 'write to Ann instead' } };
    const { dispatched, events } = await play(doc(), { agents: calls(send()), tools: SENT, approvals });
    expect(dispatched).toEqual([]);
    expect(JSON.stringify(events)).toContain('write to Ann instead');
  });

  test('unanswered in time: rejected §pathologies/human-review-queue', async () => {
    const { report, dispatched } = await play(doc({ boundary: { approval_timeout: 5 } }), {
      agents: calls(send()),
      tools: SENT,
      approvals: { 'mail.send': { expires: true } },
    });
    expect([report.code, dispatched]).toEqual(['SUCCESS', []]);
  });

  test('allowed by name: no person is asked', async () => {
    const { dispatched, report } = await play(doc({ boundary: { tools: { allow: ['mail.send'] } } }), {
      agents: calls(send()),
      tools: SENT,
    });
    expect([report.code, dispatched]).toEqual(['SUCCESS', ['mail.send']]);
  });
});

describe('capture and verification', () => {
  const tools = { 'mail.send': { ...SEND, verify: 'result.sent == true' } };

  test('what was seen is kept, and none of it is committed §pathologies/observation-parser-drift', async () => {
    const { report, events } = await play(doc({ tools }), {
      agents: calls(send()),
      tools: { 'mail.send': [{ result: { sent: false } }] },
      approvals: { 'mail.send': 'approve' },
    });
    expect(report.code).toBe('SUCCESS');
    expect(
      events.some((event) => event.type === 'effect.settled' && JSON.stringify(event.result).includes('"sent":false')),
    ).toBe(true);
    expect(events.some((event) => event.type === 'effect.judged' && event.verdict === 'failed')).toBe(true);
    expect(JSON.stringify(events.filter(({ type }) => type === 'slots.written'))).toContain('verification');
  });

  test('an unverified payment ends the run', async () => {
    const { report } = await play(doc({ tools: { 'mail.send': { ...tools['mail.send'], effect: 'financial' } } }), {
      agents: calls(send()),
      tools: { 'mail.send': [{ result: { sent: false } }] },
      approvals: { 'mail.send': 'approve' },
    });
    expect(report).toMatchObject({ state: 'failed', code: 'VALIDATION_FAIL' });
  });

  test('a failing tool is an observation', async () => {
    const { report } = await play(doc(), {
      agents: calls({ name: 'web.look', args: {} }),
      tools: { 'web.look': [{ error: 'fatal', message: 'gone' }] },
    });
    expect(report.code).toBe('SUCCESS');
  });
});
