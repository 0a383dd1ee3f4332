/** What a reply is taken for: an answer, a word to the loop, or something to be said again. Nothing of it is lost. */
import { describe, expect, test } from 'vitest';
import { compileLoop, drive } from './drive.ts';

const FENCE = '```';
const bot = compileLoop({
  agents: [{ id: 'bot' }],
  loop: { agent: 'bot', criteria: [{ when: 'true', reason: 'never' }] },
});
const ALL = 'complete, partial, impossible, missing_info, ambiguous, conflict';
const said = (...replies: (string | object)[]) => ({
  agents: { bot: replies.map((each) => (typeof each === 'string' ? each : JSON.stringify(each))) },
  strict: true,
});

describe('an object with a status that is no word of the loop', () => {
  test.each([
    [{ status: 'active', name: 'x' }],
    [{ status: 200, reason: 'OK' }],
    [{ status: null, answer: 'x' }],
    [{ status: 'complete', order: 7 }],
    [{ status: 'complete', answer: null, order: 7, confidence: 1 }],
    [{}],
  ])('%j is itself the answer', async (reply) => {
    const { report, difference } = await drive(bot, said(reply));
    expect([report.code, report.output]).toEqual(['SUCCESS', reply]);
    expect(difference).toBeNull();
  });

  test.each([
    [{ status: 'failed', reason: 'no such order' }],
    [{ status: 'error', answer: 'x' }],
    [{ status: 'blocked', question: 'which?' }],
    [{ status: 'needs_input', options: ['a'] }],
    [{ status: 'missing-info', confidence: 1 }],
  ])('%j is given back with the words that there are, and then ends the run', async (reply) => {
    const { report, prompts } = await drive(bot, said(reply, reply, reply));
    expect([report.code, report.output, report.usage.modelCalls]).toEqual(['VALIDATION_FAIL', null, 3]);
    expect(report.rejected?.text).toBe(JSON.stringify(reply));
    expect(prompts[1]).toContain(`there is no status "${reply.status}"; it is one of ${ALL}`);
    expect(report.error).toMatchObject({ type: 'ValidationError', node: 'loop' });
  });

  test('what is mended counts', async () => {
    const { report } = await drive(
      bot,
      said({ status: 'failed', reason: 'no' }, { status: 'impossible', reason: 'no' }),
    );
    expect([report.code, report.error?.message]).toEqual(['IMPOSSIBLE', 'no']);
  });
});

describe('a known status in any case', () => {
  test.each([
    ['Partial', 'PARTIAL_SUCCESS', 'half'],
    ['COMPLETE', 'SUCCESS', 'half'],
    [' Impossible ', 'IMPOSSIBLE', null],
  ])('%s', async (status, code, output) => {
    const { report } = await drive(bot, said({ status, answer: 'half' }));
    expect([report.code, report.output, report.usage.modelCalls]).toEqual([code, output, 1]);
  });

  test('a question is one', async () => {
    const { report } = await drive(bot, said({ status: 'Missing_Info', question: 'Which?' }));
    expect([report.code, report.waiting[0]?.message]).toEqual(['MISSING_INFO', 'Which?']);
  });
});

describe('a reply that answers nothing', () => {
  test.each([[''], ['  \n'], [{ status: 'complete' }], [{ status: 'partial', answer: ' ', confidence: 1 }]])(
    '%j is given back, and then ends the run',
    async (reply) => {
      const { report, prompts } = await drive(bot, said(reply, reply, reply));
      expect([report.state, report.code, report.usage.modelCalls]).toEqual(['failed', 'VALIDATION_FAIL', 3]);
      expect(prompts[1]).toContain('the reply contains no answer');
    },
  );

  test('also where tools have done the work', async () => {
    const flow = compileLoop({
      agents: [{ id: 'bot', tools: ['find'] }],
      tools: { find: { effect: 'read' } },
      loop: { agent: 'bot', criteria: [{ when: 'true', reason: 'never' }] },
    });
    const call = { tools: [{ name: 'find', args: {} }], text: '' };
    const { report } = await drive(flow, { agents: { bot: [call, '', 'fine'] }, tools: { find: [{ result: 1 }] } });
    expect([report.code, report.output, report.usage.modelCalls]).toEqual(['SUCCESS', 'fine', 3]);
  });
});

describe('within one Markdown fence', () => {
  const fenced = (value: unknown) => `${FENCE}json\n${JSON.stringify(value)}\n${FENCE}`;

  test('a status is one', async () => {
    const { report } = await drive(bot, said(fenced({ status: 'impossible', reason: 'no way' })));
    expect([report.code, report.error?.message]).toEqual(['IMPOSSIBLE', 'no way']);
  });

  test('an answer that must have a form has it', async () => {
    for (const [output, value] of [
      [{ type: 'object', required: ['n'] }, { n: 1 }],
      [{ type: 'array' }, [1, 2]],
    ] as const) {
      const flow = compileLoop({
        agents: [{ id: 'bot', output }],
        loop: { agent: 'bot', criteria: [{ when: 'true', reason: 'never' }] },
      });
      const { report } = await drive(flow, said(fenced(value)));
      expect([report.code, report.output, report.usage.modelCalls]).toEqual(['SUCCESS', value, 1]);
    }
  });

  test('a plan and a verdict are read', async () => {
    const flow = compileLoop({
      agents: [{ id: 'boss' }, { id: 'bot' }, { id: 'judge' }],
      loop: { planner: 'boss', executor: 'bot', verifier: 'judge' },
    });
    const { report } = await drive(flow, {
      agents: {
        boss: [fenced({ steps: [{ id: 'a', do: 'it' }] })],
        bot: ['fine'],
        judge: [fenced({ ok: true, confidence: 1 })],
      },
      strict: true,
    });
    expect([report.code, report.output]).toEqual(['SUCCESS', 'fine']);
  });
});

test('where the answer has a form of its own, that form decides what a status is', async () => {
  const output = {
    type: 'object',
    properties: { status: { enum: ['open', 'closed'] } },
    required: ['status', 'reason'],
  };
  const flow = compileLoop({
    agents: [{ id: 'bot', output }],
    loop: { agent: 'bot', criteria: [{ when: 'true', reason: 'never' }] },
  });
  const fits = { status: 'closed', reason: 'paid' };
  const { report, prompts } = await drive(flow, said({ status: 'failed', reason: 'no' }, fits));
  expect([report.code, report.output]).toEqual(['SUCCESS', fits]);
  expect(prompts[1]).toContain('there is no status "failed"');
});

test('the executor of a plan is held to the same', async () => {
  const flow = compileLoop({ agents: [{ id: 'boss' }, { id: 'bot' }], loop: { planner: 'boss', executor: 'bot' } });
  const plan = '{"steps": [{"id": "a", "do": "look"}, {"id": "b", "do": "write", "after": ["a"]}]}';
  const failing = { agents: { boss: [plan], bot: ['{"status": "failed", "reason": "no"}'] } };
  expect((await drive(flow, failing)).report).toMatchObject({ code: 'VALIDATION_FAIL', usage: { modelCalls: 4 } });
  const active = { agents: { boss: [plan], bot: ['{"status": "active", "name": "x"}', 'done'] } };
  const { report, prompts } = await drive(flow, active);
  expect(report.code).toBe('SUCCESS');
  expect(prompts[2]).toContain('- a: {"status":"active","name":"x"}');
});
