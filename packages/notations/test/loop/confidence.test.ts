/** The confidence gate: a number from 0 to 1 of the verifier that is high enough, and nothing else, lets an answer pass. */
import { describe, expect, test } from 'vitest';
import { compileLoop, drive } from './drive.ts';

const NONE = 'the verifier gave no confidence from 0 to 1, and 0.8 is needed';
const WRONG = ['low', '0.9', '', false, true, [], [0.9], {}, null, 90, 1.0001, -0.5];

async function answered(loop: object, agents: { readonly [agent: string]: readonly string[] }) {
  const flow = compileLoop({
    agents: ['bot', 'judge', 'safe'].map((id) => ({ id })),
    budgets: { reflections: 0 },
    boundary: { escalation: { people: false } },
    loop: { agent: 'bot', verifier: { agent: 'judge', confidence: 0.8 }, ...loop },
  });
  const { report } = await drive(flow, { agents: { bot: ['old'], ...agents } });
  return [report.code, report.error?.message ?? null];
}
const verdict = (confidence?: unknown): string => JSON.stringify({ ok: true, confidence });

describe('the confidence of the verifier', () => {
  test.each(WRONG)('%j is none', async (wrong) => {
    expect(await answered({}, { judge: [verdict(wrong)] })).toEqual(['LOW_CONFIDENCE', NONE]);
  });

  test("is not made up for by the agent's own", async () => {
    const bot = [JSON.stringify({ status: 'complete', answer: 'old', confidence: 0.99 })];
    expect(await answered({}, { bot, judge: [verdict()] })).toEqual(['LOW_CONFIDENCE', NONE]);
  });

  test.each(WRONG)('%j of the safer agent decides nothing', async (wrong) => {
    const escalation = { safer: 'safe' };
    const [code] = await answered({ escalation }, { judge: [verdict(0.1)], safe: [verdict(wrong)] });
    expect(code).toBe('LOW_CONFIDENCE');
  });

  test('that is too low is named', async () => {
    expect(await answered({}, { judge: [verdict(0.79)] })).toEqual([
      'LOW_CONFIDENCE',
      'the confidence of the verifier is 0.79, and 0.8 is needed',
    ]);
  });

  test.each([0.8, 1])('%d is enough', async (enough) => {
    expect(await answered({}, { judge: [verdict(enough)] })).toEqual(['SUCCESS', null]);
  });
});
