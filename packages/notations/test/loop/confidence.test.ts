/** The confidence gate: a number from 0 to 1 that is high enough, and nothing else, lets an answer pass. */
import { describe, expect, test } from 'vitest';
import { compileLoop, drive } from './drive.ts';

const NONE = 'no confidence from 0 to 1 was given, and 0.8 is needed';
const WRONG = ['low', '0.9', '', false, true, [], [0.9], {}, null, 90, 1.0001, -0.5];

async function answered(loop: object, agents: { readonly [agent: string]: readonly string[] }) {
  const flow = compileLoop({
    agents: ['bot', 'judge', 'safe'].map((id) => ({ id })),
    loop: { agent: 'bot', confidence: 0.8, escalation: { people: false }, ...loop },
  });
  const { report } = await drive(flow, { agents });
  return [report.code, report.error?.message ?? null];
}
const answer = (confidence?: unknown): string => JSON.stringify({ status: 'complete', answer: 'old', confidence });
const verdict = (confidence?: unknown): string => JSON.stringify({ ok: true, confidence });

describe('the confidence of an answer', () => {
  test.each(WRONG)("%j is none, be it the agent's or the verifier's", async (wrong) => {
    expect(await answered({}, { bot: [answer(wrong)] })).toEqual(['LOW_CONFIDENCE', NONE]);
    const verified = await answered({ verifier: 'judge' }, { bot: [answer()], judge: [verdict(wrong)] });
    expect(verified).toEqual(['LOW_CONFIDENCE', NONE]);
  });

  test.each(WRONG.filter((wrong) => wrong !== null))(
    "%j of the verifier is not made up for by the agent's own",
    async (wrong) => {
      const agents = { bot: [answer(0.99)], judge: [verdict(wrong)] };
      expect(await answered({ verifier: 'judge' }, agents)).toEqual(['LOW_CONFIDENCE', NONE]);
    },
  );

  test.each(WRONG)('%j of the safer agent decides nothing', async (wrong) => {
    const escalation = { people: false, safer: 'safe' };
    const [code] = await answered({ escalation }, { bot: [answer(0.1)], safe: [verdict(wrong)] });
    expect(code).toBe('LOW_CONFIDENCE');
  });

  test('without any there is too little, and the words say so', async () => {
    expect(await answered({}, { bot: ['It is old.'] })).toEqual(['LOW_CONFIDENCE', NONE]);
    expect(await answered({}, { bot: [answer(0.79)] })).toEqual([
      'LOW_CONFIDENCE',
      'the confidence is 0.79, and 0.8 is needed',
    ]);
  });

  test.each([0.8, 1])('%d is enough', async (enough) => {
    expect(await answered({}, { bot: [answer(enough)] })).toEqual(['SUCCESS', null]);
    const agents = { bot: [answer()], judge: [verdict(enough)] };
    expect(await answered({ verifier: 'judge' }, agents)).toEqual(['SUCCESS', null]);
  });
});
