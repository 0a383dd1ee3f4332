/** An agent without a tool that changes something cannot have done what it was asked to do in the world. */
import { describe, expect, test } from 'vitest';
import { compileLoop, drive } from './drive.ts';

const reply = (input: string, text: string, tools: readonly string[] = []) =>
  drive(
    compileLoop({
      agents: [{ id: 'bot', tools: [...tools] }],
      tools: { 'parts.find': { effect: 'read' } },
      loop: { agent: 'bot' },
    }),
    { agents: { bot: [text] } },
    { input },
  );

describe('without a tool that changes something', () => {
  test.each([
    ['Order part A-1.', 'Done, the order was placed.'],
    ['Please cancel my booking B-7.', 'I have cancelled your booking.'],
    ['Refund order A-7.', 'Your refund has been issued.'],
    ['Bestelle Teil A-1.', 'Ich habe das Teil bestellt.'],
  ])('%s: %s', async (input, text) => {
    for (const tools of [[], ['parts.find']]) {
      const { report } = await reply(input, text, tools);
      expect(report).toMatchObject({ code: 'PARTIAL_SUCCESS', violations: [{ kind: 'action' }] });
    }
  });

  test.each([
    ['Write a poem about shopping.', 'The order was placed, the roses are red.'],
    ['Summarise: I placed the order on May 3. It was cancelled on May 5.', 'The order was cancelled on May 5.'],
    ['Order these names: Carl, Bob.', 'Bob, Carl'],
    ['Draft a mail that tells Ann that her refund was issued.', 'Dear Ann, your refund has been issued.'],
    ['Translate into German: The invoice was paid.', 'Die Rechnung wurde bezahlt.'],
    ['Rewrite this sentence: the cat was sitting', 'I have rewritten the sentence: The cat sat.'],
    ['Please refund A-7.', 'Your request to refund A-7 was received. I cannot refund orders.'],
  ])('a text is a result: %s', async (input, text) => {
    expect((await reply(input, text)).report).toMatchObject({ code: 'SUCCESS', violations: [] });
  });
});
