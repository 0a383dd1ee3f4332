/** A call with effects that did not answer in time (decision 66). */
import { describe, expect, test } from 'vitest';
import type { Script } from '../../../library/src/host/scripted/script.ts';
import { compile } from '../../../library/src/compile.ts';
import { play } from './play.ts';

const PAY = { effect: 'financial', input: { type: 'object', properties: { to: { type: 'string' } } } };
const document = (pay: object = {}, tools: object = {}) => ({
  tools: { 'pay.send': { ...PAY, ...pay }, ...tools },
  agents: [{ id: 'bot', tools: ['pay.send'] }],
  boundary: { tools: { allow: ['pay.send'] } },
  flow: { id: 'demo', entry: 'work', nodes: [{ id: 'work', type: 'agent', agent: 'bot' }] },
});
const pay = { text: '', tools: [{ name: 'pay.send', args: { to: 'Ann' } }] };
const lost = { error: 'timeout', message: 'no answer' } as const;
const script = (more: Partial<Script> = {}): Script => ({
  agents: { bot: [pay, pay, 'It is not known whether Ann was paid.'] },
  tools: { 'pay.send': [lost, { result: { paid: true } }] },
  ...more,
});

describe('the outcome is not known', () => {
  test('the receipt says so, the agent is told, and the same call waits for a person', async () => {
    const { report, dispatched, events } = await play(document(), script());
    expect(report).toMatchObject({ state: 'suspended', receipts: [{ tool: 'pay.send', status: 'unknown' }] });
    expect(report.waiting[0]?.message).toContain('it may have happened');
    expect(dispatched).toEqual(['pay.send']);
    expect(JSON.stringify(events)).toContain('[UNKNOWN] pay.send: no answer. It may or may not have happened');
    expect(JSON.stringify(events)).toContain('"unknown":true,"message"');
  });

  test('approved: the call is made again, under a key of its own', async () => {
    const { report, dispatched } = await play(document(), script({ approvals: { 'pay.send': 'approve' } }));
    expect(dispatched).toEqual(['pay.send', 'pay.send']);
    expect(report.receipts).toMatchObject([{ status: 'unknown' }, { status: 'committed', approvedBy: 'script' }]);
  });

  test('rejected: it is not made again', async () => {
    const { report, dispatched } = await play(document(), script({ approvals: { 'pay.send': 'reject' } }));
    expect([dispatched, report.code]).toEqual([['pay.send'], 'SUCCESS']);
  });

  test('other arguments are another call', async () => {
    const other = { text: '', tools: [{ name: 'pay.send', args: { to: 'Bob' } }] };
    const bob = script({ agents: { bot: [pay, other, 'Bob was paid.'] } });
    const { dispatched } = await play(document(), bob, { input: { message: 'Pay Ann and Bob' } });
    expect(dispatched).toEqual(['pay.send', 'pay.send']);
  });

  test('a call that failed with an answer can be repeated', async () => {
    const failed = { error: 'transient', message: 'card declined' } as const;
    const tools = { 'pay.send': [failed, { result: { paid: true } }] };
    const { report, dispatched } = await play(document(), script({ tools }), { input: { message: 'Pay Ann' } });
    expect([dispatched.length, report.receipts?.map(({ status }) => status)]).toEqual([2, ['committed']]);
  });

  test('a read without an answer is no such case', async () => {
    const { report } = await play(document({ effect: 'read' }), script());
    expect(report).toMatchObject({ state: 'completed', receipts: [{ status: 'committed' }] });
  });
});

describe('an idempotent tool', () => {
  test('is called again under the same key', async () => {
    const { report, events } = await play(
      document({ idempotent: true }),
      script({ agents: { bot: [pay, 'Ann was paid.'] } }),
    );
    expect(report).toMatchObject({ code: 'SUCCESS', receipts: [{ tool: 'pay.send', status: 'committed' }] });
    const keys = events.flatMap((event) => (event.type === 'effect.settled' ? [event.key] : []));
    const requested = events.filter((event) => event.type === 'effect.requested' && event.kind === 'tool');
    expect(requested).toHaveLength(1);
    expect(keys.filter((key) => key === (requested[0] as { key: string }).key)).toHaveLength(2);
  });

  test('that never answers is unknown as any other', async () => {
    const { report } = await play(document({ idempotent: true }), script({ tools: { 'pay.send': [lost] } }));
    expect(report).toMatchObject({ state: 'suspended', receipts: [{ status: 'unknown' }] });
  });
});

describe('a tool with a lookup', () => {
  const tools = {
    'pay.find': { effect: 'read', input: { type: 'object', properties: { to: { type: 'string' } } } },
  };
  const found = (result: unknown): Script =>
    script({
      agents: { bot: [pay, 'The payment was looked up.'] },
      tools: { 'pay.send': [lost], 'pay.find': [{ result: result as never }] },
    });

  test('that finds the call: it happened', async () => {
    const { report, dispatched } = await play(document({ verify: 'pay.find' }, tools), found({ id: 7, to: 'Ann' }));
    expect(dispatched).toEqual(['pay.send', 'pay.find']);
    expect(report.receipts).toMatchObject([
      { tool: 'pay.send', status: 'committed', result: { id: 7 } },
      { tool: 'pay.find', args: { to: 'Ann' } },
    ]);
  });

  test.each([[[]], [null], [false], [{ found: false }]])('that gives %j: it did not happen', async (result) => {
    const { report } = await play(document({ verify: 'pay.find' }, tools), found(result));
    expect(report.receipts?.map(({ tool }) => tool)).toEqual(['pay.find']);
  });

  test('that fails: the outcome stays unknown', async () => {
    const broken = {
      ...found(null),
      tools: { 'pay.send': [lost], 'pay.find': [{ error: 'fatal' as const, message: 'x' }] },
    };
    const { report } = await play(document({ verify: 'pay.find' }, tools), broken);
    expect(report.receipts).toMatchObject([{ tool: 'pay.send', status: 'unknown' }]);
  });

  test('an expression is still an expression, and a misspelt name is an error', () => {
    expect(
      compile(document({ verify: 'result.paid == true' })).diagnostics.filter(({ severity }) => severity === 'error'),
    ).toEqual([]);
    expect(compile(document({ verify: 'pay.fnd' }, tools)).diagnostics[0]).toMatchObject({ severity: 'error' });
  });
});
