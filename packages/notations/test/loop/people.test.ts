/** Who can be asked, for how long and how often: the same for every question of a loop, those about calls included. */
import { describe, expect, test } from 'vitest';
import { compile } from '@sluice-internal/notations/driver';
import type { Json } from '@sluice-internal/kernel/expr';
import { compileLoop, drive } from './drive.ts';

const put = (n: number) => ({ tools: [{ name: 'put', args: { n } }], text: '' });
const putting = (loop: object, more: object = {}) =>
  compileLoop({
    agents: [{ id: 'bot', tools: ['put'] }],
    tools: { put: { effect: 'write', input: { type: 'object', properties: { n: {} }, required: ['n'] } } },
    budgets: { tool_calls: 9 },
    ...more,
    loop: { agent: 'bot', ...loop },
  });
const SCRIPT = { agents: { bot: [put(1), 'fine'] }, tools: { put: [{ result: 1 }] } };

describe('where no person can be asked', () => {
  const alone = { boundary: { escalation: { people: false } } };

  test('a call that needs approval ends the run', async () => {
    const { report } = await drive(putting({}, alone), SCRIPT);
    expect(report).toMatchObject({
      state: 'failed',
      code: 'PERMISSION_DENIED',
      usage: { toolCalls: 0 },
      error: { node: 'bot', type: 'ApprovalRequiredError' },
    });
    expect(report.error?.message).toContain('put needs');
  });

  test('a call that needs no approval is made', async () => {
    const { report } = await drive(
      putting({}, { boundary: { ...alone.boundary, tools: { allow: ['put'] }, untrusted: 'off' } }),
      SCRIPT,
    );
    expect([report.code, report.usage.toolCalls]).toEqual(['SUCCESS', 1]);
  });

  test('a refusal that needs a person ends the run', async () => {
    const flow = putting({}, { boundary: { escalation: { people: false, unregistered: 'ask' } } });
    const script = { agents: { bot: [{ tools: [{ name: 'nothing', args: {} }], text: '' }] } };
    const { report } = await drive(flow, script);
    expect([report.state, report.code, report.error?.node]).toEqual(['failed', 'PERMISSION_DENIED', 'bot']);
  });

  test('a plan that needs approval is a mistake', () => {
    const { diagnostics } = compile(
      {
        agents: [{ id: 'boss' }, { id: 'bot' }],
        ...alone,
        loop: { planner: 'boss', executor: 'bot', plan: { approve: true } },
      },
      { hash: (text) => text },
    );
    expect(diagnostics.filter(({ severity }) => severity === 'error')).toMatchObject([
      { code: 'bad-value', message: 'loop.plan.approve: the plan needs approval, and no person can be asked' },
    ]);
  });
});

describe('a question about a call', () => {
  test('waits as long as any other, and counts as a no then', async () => {
    const script = { ...SCRIPT, approvals: { put: { expires: true } } };
    const { report } = await drive(putting({ escalation: { timeout: 5 } }), script);
    expect([report.code, report.approvals, report.usage.toolCalls]).toEqual(['SUCCESS', { put: 'reject' }, 0]);
  });

  test('waits as long as the boundary says, where that says something', () => {
    const timeouts = (boundary: object) =>
      Object.values(putting({ escalation: { timeout: 5 } }, { boundary }).nodes).flatMap((node) =>
        (node.op === 'do' ? (node.controls?.walk ?? []) : []).flatMap((each) =>
          each.how === 'ask' && each.with.ask.about === 'put' ? [each.with.timeoutMs] : [],
        ),
      );
    expect(timeouts({})).toEqual([5000]);
    expect(timeouts({ approval_timeout: 60 })).toEqual([60_000]);
  });
});

describe('what the input must have', () => {
  const flow = (steps = 9) =>
    compileLoop({
      agents: [{ id: 'bot' }],
      budgets: { steps },
      loop: { agent: 'bot', requires: ['order', 'name', 'city'] },
    });
  const script = { agents: { bot: ['fine'] } };
  const respond = (edit: Json) => ({ choice: 'respond', edit });

  test('is asked for until it is there', async () => {
    const first = await drive(flow(), script, { input: '{"city": "Rome"}', answers: [respond({ order: 'A-7' })] });
    expect(first.report.waiting[0]).toMatchObject({ message: 'Missing: name', data: { fields: ['name'] } });
    const answers = [respond({ order: 'A-7' }), respond({}), respond({ name: null }), respond({ name: 'Ann' })];
    const { report, prompts, difference } = await drive(flow(), script, { input: '{"city": "Rome"}', answers });
    expect([report.code, report.usage.reviews]).toEqual(['SUCCESS', 4]);
    expect(prompts[0]).toContain('{"order":"A-7"}');
    expect(prompts[0]).toContain('{"name":"Ann"}');
    expect(difference).toBeNull();
  });

  test('can be said as JSON in words, or in words alone', async () => {
    const text = '{"order": 1, "name": "Ann"}';
    const asked = await drive(flow(), script, { answers: [{ choice: 'respond', text }] });
    expect(asked.report.waiting[0]?.message).toBe('Missing: city');
    const plain = await drive(flow(), script, { answers: [{ choice: 'respond', text: 'Order 1 of Ann in Rome' }] });
    expect(plain.report.code).toBe('SUCCESS');
  });

  test('is asked for as often as the loop may go round, and no more', async () => {
    const { report } = await drive(flow(2), script, { answers: [respond({}), respond({})] });
    expect([report.state, report.code, report.usage.modelCalls]).toEqual(['failed', 'MISSING_INFO', 0]);
  });
});

describe('a plan', () => {
  const flow = compileLoop({
    agents: [{ id: 'boss' }, { id: 'bot', tools: ['find', 'look'] }],
    tools: { find: { effect: 'read' }, look: { effect: 'read' } },
    budgets: { tool_calls: 9 },
    loop: { planner: 'boss', executor: 'bot' },
  });
  const script = (...steps: object[]) => ({
    agents: {
      boss: [JSON.stringify({ steps })],
      bot: [{ tools: ['find', 'look'].map((name) => ({ name, args: {} })), text: '' }, 'fine'],
    },
    tools: { find: [{ result: 1 }], look: [{ result: 2 }] },
  });

  test.each([
    ['names no tool', [{ id: 'a', do: 'it' }], 'find, look'],
    [
      'names one in another step',
      [
        { id: 'a', do: 'it' },
        { id: 'b', do: 'more', tool: 'find' },
      ],
      'look',
    ],
  ])('that %s: what it does not name is for a person to decide', async (_, steps, names) => {
    const { report } = await drive(flow, script(...steps));
    expect([report.code, report.usage.toolCalls]).toEqual(['REVIEW_REQUIRED', 0]);
    expect(report.waiting[0]).toMatchObject({
      node: 'divergence',
      message: `The agent wants to call ${names}, which no step of the plan names.`,
    });
  });

  test('that names all of them is followed', async () => {
    const call = (name: string) => ({ tools: [{ name, args: {} }], text: '' });
    const { agents, tools } = script({ id: 'a', do: 'it', tool: 'find' }, { id: 'b', do: 'more', tool: 'look' });
    const bot = [call('find'), 'fine', call('look'), 'fine'];
    const { report, prompts } = await drive(flow, { agents: { ...agents, bot }, tools });
    expect([report.code, report.usage.toolCalls]).toEqual(['SUCCESS', 2]);
    expect(prompts[0]).toContain('Only tools that a step names will be called.');
  });
});
