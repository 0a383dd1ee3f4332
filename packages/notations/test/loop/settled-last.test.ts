/** What a person is asked to let pass holds otherwise: an answer is validated before anybody is asked about it. */
import { describe, expect, test } from 'vitest';
import { compileLoop, drive } from './drive.ts';

const criteria = [{ when: 'answer == "ok"', reason: 'must say ok' }];
const approve = { choice: 'approve' };

describe('a conflict', () => {
  const contested = (loop: object, more: object = {}) =>
    compileLoop({
      agents: [{ id: 'bot', tools: ['find'] }, { id: 'judge' }],
      tools: { find: { effect: 'read' } },
      ...more,
      loop: { agent: 'bot', criteria, ...loop },
    });
  const reports = (answer: string | null) =>
    JSON.stringify({ status: 'conflict', reason: 'two years', ...(answer === null ? {} : { answer }) });

  test('that the agent reports goes to a person with a valid answer', async () => {
    const script = { agents: { bot: [reports('bad'), reports('bad'), reports('ok')] }, strict: true };
    const { report, difference } = await drive(contested({}), script, { answers: [approve] });
    expect([report.code, report.output, report.approvals]).toEqual(['SUCCESS', 'ok', { conflict: 'approve' }]);
    expect(report.usage.modelCalls).toBe(3);
    expect(difference).toBeNull();
  });

  test('with an invalid answer ends the run, and no person is asked', async () => {
    const { report } = await drive(contested({}), { agents: { bot: [reports('bad')] } });
    expect([report.code, report.error?.message]).toEqual(['VALIDATION_FAIL', 'must say ok']);
  });

  test('that an expression finds is one of them', async () => {
    const conflict = { when: 'goal == ""', reason: 'they differ', code: 'SOURCE_CONFLICT' };
    const flow = contested({ criteria: [...criteria, conflict] });
    expect((await drive(flow, { agents: { bot: ['bad'] } })).report.code).toBe('VALIDATION_FAIL');
    const { report } = await drive(flow, { agents: { bot: ['ok'] } }, { answers: [approve] });
    expect([report.code, report.output]).toEqual(['SUCCESS', 'ok']);
  });

  test('that no budget is left to cross-check is one of them', async () => {
    const flow = contested({}, { budgets: { reflections: 0, steps: 9, tool_calls: 3 } });
    expect((await drive(flow, { agents: { bot: [reports('bad')] } })).report.code).toBe('VALIDATION_FAIL');
    expect((await drive(flow, { agents: { bot: [reports('ok')] } })).report.code).toBe('REVIEW_REQUIRED');
  });

  test('is looked at by the verifier too', async () => {
    const script = { agents: { bot: [reports('ok')], judge: ['{"ok": false, "problem": "too short"}'] } };
    const { report } = await drive(contested({ verifier: 'judge' }), script);
    expect([report.code, report.error?.message]).toEqual(['VALIDATION_FAIL', 'too short']);
  });

  test('without an answer cannot be approved', async () => {
    const { report } = await drive(contested({}), { agents: { bot: [reports(null)] } });
    expect(report.waiting[0]).toMatchObject({ node: 'conflict', choices: ['revise', 'reject'] });
  });
});

test('a value without a source goes to a person only if the answer is valid otherwise', async () => {
  const flow = compileLoop({
    agents: [{ id: 'bot', tools: ['save'] }],
    tools: { save: { effect: 'write' } },
    loop: {
      agent: 'bot',
      criteria: [{ when: 'size(answer) < 12', reason: 'too long' }],
      grounding: { on_violation: 'escalate' },
    },
  });
  const { report } = await drive(flow, { agents: { bot: ['It is ORD-9917, as you wanted.'] } });
  expect([report.code, report.error?.message]).toEqual(['VALIDATION_FAIL', 'too long']);
  expect((await drive(flow, { agents: { bot: ['ORD-9917'] } })).report.waiting[0]?.node).toBe('violation');
});

describe('a safer agent that answers instead of judging', () => {
  const flow = (more: object = {}) =>
    compileLoop({
      agents: [{ id: 'bot' }, { id: 'expert' }, { id: 'judge' }],
      budgets: { reflections: 0 },
      loop: { agent: 'bot', verifier: { agent: 'judge', confidence: 0.5 }, escalation: { safer: 'expert' }, ...more },
    });
  const bot = ['x'];
  const judge = ['{"ok": true, "confidence": 0.1}', '{"ok": true, "confidence": 0.9}'];
  const expert = ['{"status": "Complete", "answer": "y", "confidence": 0.9}'];

  test('has given the answer', async () => {
    const { report, difference } = await drive(flow(), { agents: { bot, expert, judge } });
    expect([report.code, report.output]).toEqual(['SUCCESS', 'y']);
    expect(difference).toBeNull();
  });

  test('which is validated', async () => {
    const rule = { criteria: [{ when: 'answer == "x"', reason: 'must be x' }] };
    const { report } = await drive(flow(rule), { agents: { bot, expert, judge } });
    expect([report.code, report.error?.message]).toEqual(['VALIDATION_FAIL', 'must be x']);
  });

  test('and is asked once: an uncertain answer goes to a person', async () => {
    const unsure = ['{"ok": true, "confidence": 0.2}'];
    const { report } = await drive(flow(), { agents: { bot, expert, judge: unsure } });
    expect(report.waiting[0]).toMatchObject({ node: 'confidence', data: { answer: 'y' } });
    expect(report.usage.modelCalls).toBe(5);
  });

  test('and is unsure itself leaves it to a person', async () => {
    const script = { agents: { bot, judge, expert: ['{"status": "complete", "answer": "y", "confidence": 0.2}'] } };
    expect((await drive(flow(), script)).report.waiting[0]).toMatchObject({ data: { answer: 'x' } });
  });
});
