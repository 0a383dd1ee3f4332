/** The form of the final answer is enforced: it fits, it is mended, or the run ends under the code that says so. */
import { describe, expect, test } from 'vitest';
import type { Json } from '@sluice-internal/kernel/expr';
import { compileLoop, drive } from './drive.ts';

const ORDER = {
  type: 'object',
  properties: { id: { type: 'integer' }, status: { type: 'string' } },
  required: ['id'],
  additionalProperties: false,
};

const loop = (output: Json, more: object = {}) =>
  compileLoop({
    agents: [{ id: 'bot', output }],
    loop: { agent: 'bot', criteria: [{ when: 'true', reason: 'never' }], ...more },
  });
const saying = (...replies: string[]) => ({ agents: { bot: replies }, strict: true });

describe('an answer that fits', () => {
  test.each([
    ['as the reply itself', '{"id": 7}', { id: 7 }],
    ['under `answer`', '{"status": "complete", "answer": {"id": 7}}', { id: 7 }],
    ['as text under `answer`', '{"status": "complete", "answer": "{\\"id\\": 7}"}', { id: 7 }],
    ['with a status of its own', '{"id": 7, "status": "shipped"}', { id: 7, status: 'shipped' }],
  ])('%s', async (_, reply, output) => {
    const { report } = await drive(loop(ORDER), saying(reply));
    expect([report.code, report.output, report.usage.modelCalls]).toEqual(['SUCCESS', output, 1]);
  });

  test.each([
    [{ type: 'array', items: { type: 'integer' } }, '[1, 2]', [1, 2]],
    [{ type: 'integer' }, '42', 42],
    [{ type: 'string', minLength: 2 }, 'ok', 'ok'],
  ])('%j', async (schema, reply, output) => {
    const { report } = await drive(loop(schema), saying(reply));
    expect([report.code, report.output]).toEqual(['SUCCESS', output]);
  });
});

describe('an answer that does not', () => {
  test('is given back with what is wrong, and the mended one counts', async () => {
    const { report, prompts, read, difference } = await drive(loop(ORDER), saying('{"id": "x"}', '{"id": 7}'));
    expect([report.code, report.output]).toEqual(['SUCCESS', { id: 7 }]);
    expect(prompts[1]).toContain('`id` must be integer');
    const verdicts = read.events.filter(
      (event) => event.type === 'effect.requested' && event.kind === 'check' && event.name === 'policy:output',
    );
    expect(verdicts).toHaveLength(2);
    expect(difference).toBeNull();
  });

  test('is mended twice at the most, and then the run ends', async () => {
    const { report } = await drive(loop(ORDER), saying('no', 'nor this', '{"id": true}', '{"id": 7}'));
    expect(report).toMatchObject({
      state: 'failed',
      code: 'VALIDATION_FAIL',
      usage: { modelCalls: 3, retries: 2 },
      error: { type: 'ValidationError' },
    });
    expect(report.error?.message).toContain('does not fit the output schema: `id` must be integer');
  });

  test('a repair counts as a retry, in the report and in the budget', async () => {
    const replies = saying('{"id": "x"}', '{"id": 7}');
    const budgeted = (retries: number) =>
      compileLoop({
        agents: [{ id: 'bot', output: ORDER }],
        budgets: { retries },
        loop: { agent: 'bot', criteria: [{ when: 'true', reason: 'never' }] },
      });
    const { report, difference } = await drive(budgeted(1), replies);
    expect(report).toMatchObject({ code: 'SUCCESS', usage: { modelCalls: 2, retries: 1 } });
    expect(difference).toBeNull();
    const { report: refused } = await drive(budgeted(0), replies);
    expect(refused).toMatchObject({ code: 'VALIDATION_FAIL', usage: { modelCalls: 1, retries: 0 } });
  });

  test('a repair for another reason does not', async () => {
    const answers = saying('{"id": 7, "status": "lost"}', '{"id": 7, "status": "found"}');
    const criteria = [{ when: "answer.status == 'found'", reason: 'it is lost' }];
    const { report } = await drive(loop(ORDER, { criteria }), answers);
    expect(report).toMatchObject({ code: 'SUCCESS', usage: { modelCalls: 2, retries: 0 } });
  });

  test('as often as the document says', async () => {
    const { report } = await drive(
      compileLoop({ agents: [{ id: 'bot', output: ORDER }], budgets: { retries: 0 }, loop: { agent: 'bot' } }),
      saying('no', '{"id": 7}'),
    );
    expect([report.code, report.usage.modelCalls]).toEqual(['VALIDATION_FAIL', 1]);
  });
});

test('an agent with an output schema can still report missing data', async () => {
  const { report } = await drive(loop(ORDER), saying('{"status": "missing_info", "question": "Which order?"}'));
  expect([report.state, report.code]).toEqual(['suspended', 'MISSING_INFO']);
});

test('the form is told, and asked of the last step of a plan alone', async () => {
  const flow = compileLoop({
    agents: [{ id: 'boss' }, { id: 'bot', output: ORDER }],
    loop: { planner: 'boss', executor: 'bot' },
  });
  const plan = '{"steps": [{"id": "a", "do": "look"}, {"id": "b", "do": "write it down", "after": ["a"]}]}';
  const { report, prompts } = await drive(flow, { agents: { boss: [plan], bot: ['looked', '{"id": 7}'] } });
  expect([report.code, report.output]).toEqual(['SUCCESS', { id: 7 }]);
  expect(prompts[1]).toContain(JSON.stringify(ORDER));
});

test('without a form there is no check', () => {
  const { nodes } = compileLoop({ agents: [{ id: 'bot' }], loop: { agent: 'bot' } });
  expect(Object.keys(nodes).filter((id) => id.startsWith('~output'))).toEqual([]);
});
