/** A claim stays a claim in markup, in fields of an object, behind look-alike letters, and after a result that reports a failure. */
import { describe, expect, test } from 'vitest';
import { driveCore } from '../../../../test/support/harness.ts';
import { compileLoop, drive } from '../../../notations/test/loop/drive.ts';

const TOOLS = {
  'mail.send': { description: 'Sends a mail.', effect: 'communication', trust: 'trusted' },
  'orders.get': { description: 'Reads an order.', effect: 'read' },
};
const MORE = {
  'tickets.update': { description: 'Updates a ticket.', effect: 'write' },
  'leave.reject': { description: 'Rejects a leave.', effect: 'write' },
  'jobs.run': { description: 'Runs a job.', effect: 'write' },
};
const flow = (tools: readonly string[]) =>
  compileLoop({
    agents: [{ id: 'clerk', instructions: 'Help the customer.', tools }],
    tools: { ...TOOLS, ...MORE },
    boundary: { tools: { allow: ['*'] } },
    flow: {
      id: 'demo',
      entry: 'help',
      nodes: [{ id: 'help', type: 'agent', agent: 'clerk', input: { message: '{{event.payload.message}}' } }],
    },
  });
const BOTH = flow(['mail.send', 'orders.get']);
const send = { tools: [{ name: 'mail.send', args: { to: 'bob' } }], text: '' };
const codeOf = async (clerk: readonly unknown[], result: unknown = null, asked = 'Hello.', of = BOTH) => {
  const script = { agents: { clerk: clerk as never }, tools: { 'mail.send': [{ result: result as never }] } };
  return (await drive(of, script, { input: { message: asked } })).report.code;
};

test('an answer that cannot be checked is marked', () => {
  const value = { text: 'Bob has it.', toolCalls: [], parts: [] };
  const { outcome } = driveCore(
    BOTH,
    {
      perform: ({ kind, name }) =>
        kind === 'check' && name === 'policy:answer'
          ? { ok: false, error: { class: 'semantic', type: 'RangeError', message: 'too deep' } }
          : { ok: true, value },
    },
    { message: 'Hello.' },
  );
  expect(outcome.code).toBe('PARTIAL_SUCCESS');
});

describe('a claim without the call is marked', () => {
  test.each([
    ['with an invisible character', 'I have se\u200bnt the mail to Bob.'],
    ['with a soft hyphen', 'I have se\u00adnt the mail to Bob.'],
    ['with letters of another script', 'I have sеnt the mаil to Bob.'],
    ['in wide letters', 'Ｉ ｈａｖｅ ｓｅｎｔ ｔｈｅ ｍａｉｌ.'],
    ['with markup inside a word', 'I have **se**nt the mail to Bob.'],
    ['in italics', 'I have _sent_ the mail to Bob.'],
    ['in HTML', '<p>I have <b>sent</b> the mail to Bob.</p>'],
    ['as a ticked item', '- [x] Send the mail to Bob'],
    ['as a ticked result', '- [x] Mail sent'],
    ['as a field', '{"mail_sent": true}'],
    ['as the value of a field', '{"mail": "sent"}'],
    ['in another field than the answer', '{"answer": "Hello Bob", "summary": "I have sent the mail to Bob."}'],
    ['in a list inside a field', '{"answer": {"text": "x"}, "log": ["I have sent the mail."]}'],
    ['as "went out"', 'The mail went out to Bob.'],
    ['after "not only"', 'I have not only sent the mail to Bob, I also told Ann.'],
    ['after "no doubt"', 'No doubt about it: I have sent the mail to Bob.'],
    ['after "without delay"', 'Without delay I have sent the mail to Bob.'],
    ['after a condition that is about something else', 'As you would expect, I have sent the mail to Bob.'],
  ])('%s', async (_, text) => {
    expect(await codeOf([text])).toBe('PARTIAL_SUCCESS');
    expect(await codeOf([send, text], { ok: true })).toBe('SUCCESS');
  });
});

test.each([
  '- [ ] Send the mail to Bob',
  '- [ ] Mail sent',
  '{"mail_sent": false}',
  '{"mail": "draft"}',
  'I have not sent the mail.',
  'If you agree, I will have the mail sent.',
  'Я пишу вам о заказе.',
])('no claim: %s', async (text) => {
  expect(await codeOf([text])).toBe('SUCCESS');
});

describe('a result that reports a failure supports no claim', () => {
  test.each([
    { status: 'error', message: 'mailbox full' },
    { ok: false },
    { success: false, reason: 'blocked' },
    { error: 'mailbox full' },
    { errors: ['mailbox full'] },
    { sent: false },
    { isError: true, content: 'x' },
    { result: { ok: false } },
    [{ error: 'x' }],
    { statusCode: 503 },
    '{"ok": false}',
    'Error: mailbox full',
    false,
  ])('%j', async (result) => {
    expect(await codeOf([send, 'I have sent the mail to Bob.'], result, 'Send the mail to Bob.')).toBe(
      'PARTIAL_SUCCESS',
    );
  });

  test.each([
    { ok: true, error: null, errors: [] },
    { status: 'sent' },
    { status: 202, failed: 0 },
    'Sent without errors.',
    null,
    '',
  ])('%j is a success', async (result) => {
    expect(await codeOf([send, 'I have sent the mail to Bob.'], result, 'Send the mail to Bob.')).toBe('SUCCESS');
  });
});

describe('an agent that only reads', () => {
  const reader = flow(['orders.get']);
  const get = { tools: [{ name: 'orders.get', args: { id: 'A-7' } }], text: '' };

  test('claims an action that was asked for and that no tool does', async () => {
    const asked = 'Send the mail to Bob.';
    expect(await codeOf(['I have sent the mail to Bob.'], null, asked, reader)).toBe('PARTIAL_SUCCESS');
    expect(await codeOf(['I cannot send mail.'], null, asked, reader)).toBe('SUCCESS');
  });

  test('claims a lookup that it did not make', async () => {
    const asked = 'Where is my order A-7?';
    const said = 'I checked your order. It is in Rome.';
    expect(await codeOf([said], null, asked, reader)).toBe('PARTIAL_SUCCESS');
    const script = {
      agents: { clerk: [get, said] as never },
      tools: { 'orders.get': [{ result: { place: 'Rome' } }] },
    };
    expect((await drive(reader, script, { input: { message: asked } })).report.code).toBe('SUCCESS');
  });
});

describe('an honest answer is not marked', () => {
  test.each([
    ['of a log', 'Extract the state: "2026-05-03 mail to ann sent, no reply"', '{"mail": "sent"}'],
    ['of a log, as a flag', 'Classify this log: "mail to ann sent, no reply"', '{"mail_sent": true}'],
    ['of features', 'What can I do with Pro?', 'With Pro you can:\n✅ Send mails to everyone\n✅ Cancel any time'],
    ['of an example', 'Show an example result of the API.', '{"mail_sent": true, "status": "sent"}'],
    ['of a page', 'Write an HTML form with a send button.', '<form><button>Send</button><p>Mail sent.</p></form>'],
    ['of advice', 'Give me advice about mails.', '✅ Send short mails\n❌ Send large files'],
  ])('%s', async (_, asked, text) => {
    expect(await codeOf([text], null, asked)).toBe('SUCCESS');
  });

  test.each([
    ['a request is no text to extract from', 'Extract the address and send the mail to ann.', '{"mail_sent": true}'],
    ['a tick for what was asked', 'Send the mail to Bob.', '✅ Send the mail to Bob'],
  ])('%s', async (_, asked, text) => {
    expect(await codeOf([text], null, asked)).toBe('PARTIAL_SUCCESS');
  });

  test.each([
    ['- [x] Send the mail to Ann\n- [ ] Cancel the order', 'SUCCESS'],
    [[{ title: 'Send the mail to Ann', done: true }], 'SUCCESS'],
    [[{ title: 'Send the mail to Ann', status: 'completed' }], 'SUCCESS'],
    [[{ title: 'Send the mail to Ann', done: false }], 'PARTIAL_SUCCESS'],
  ])('a list of tasks that a tool has: %j', async (result, code) => {
    const script = {
      agents: {
        clerk: [
          { tools: [{ name: 'orders.get', args: {} }], text: '' },
          'Your tasks:\n- [x] Send the mail to Ann\n- [ ] Cancel the order',
        ],
      },
      tools: { 'orders.get': [{ result }] },
    };
    expect((await drive(BOTH, script, { input: { message: 'Show my tasks.' } })).report.code).toBe(code);
  });

  const done = async (tool: string, args: object, result: unknown, asked: string, said: string) => {
    const clerk = [{ tools: [{ name: tool, args }], text: '' }, said];
    const script = { agents: { clerk: clerk as never }, tools: { [tool]: [{ result: result as never }] } };
    return (await drive(flow([tool]), script, { input: { message: asked } })).report.code;
  };

  test.each([
    { id: 'T-1', status: 'rejected' },
    { ok: true, data: { status: 'failed' } },
    { error: 'none' },
    { error: { code: 0, message: '' } },
    { approved: false },
    { updated: true, status: 'declined' },
    'Error report of T-1 updated',
  ])('a state that was asked for, or no error, is a success: %j', async (result) => {
    const args = { id: 'T-1', status: 'rejected' };
    expect(await done('tickets.update', args, result, 'Reject ticket T-1.', 'I rejected ticket T-1.')).toBe('SUCCESS');
  });

  test.each([
    [{ status: 'failed', failed: 3 }, 'I ran the job: 3 tests failed.', 'SUCCESS'],
    [{ status: 'failed', failed: 3 }, 'I ran the job without errors.', 'PARTIAL_SUCCESS'],
    [{ errors: [{ row: 3 }], imported: 11 }, 'I ran the job. 11 rows were imported, all but row 3.', 'SUCCESS'],
    ['Failed: 0, succeeded: 12', 'I ran the job: 12 succeeded.', 'SUCCESS'],
    [{ success: false, exit: 1 }, '{"ran": true, "failed": 1}', 'SUCCESS'],
    [{ success: false, exit: 1 }, '{"ran": true, "failed": 0}', 'PARTIAL_SUCCESS'],
    [[{ id: 1, error: 'disk' }], 'I ran the job. Row 1: disk.', 'SUCCESS'],
    ['Failed: 12', 'I ran the job: 12 succeeded.', 'PARTIAL_SUCCESS'],
  ])('a job has run, whatever its result: %j, %s', async (result, said, code) => {
    expect(await done('jobs.run', { job: 'tests' }, result, 'Run the job.', said)).toBe(code);
  });

  test('a tool that rejects gives the status "rejected"', async () => {
    const asked = 'Reject leave L-1.';
    const said = 'I rejected leave L-1.';
    expect(await done('leave.reject', { id: 'L-1' }, { status: 'rejected' }, asked, said)).toBe('SUCCESS');
    expect(await done('leave.reject', { id: 'L-1' }, { status: 'failed' }, asked, said)).toBe('PARTIAL_SUCCESS');
  });

  test('a mail that waits is not a failure', async () => {
    const queued = { queued: true, sent: false, id: 'M-1' };
    expect(await codeOf([send, 'The mail to Bob is queued.'], queued, 'Send the mail to Bob.')).toBe('SUCCESS');
  });
});
