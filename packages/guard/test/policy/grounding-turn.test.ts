/** Agents of other notations under a boundary that says what follows from values that nothing shows. */
import { describe, expect, test } from 'vitest';
import type { CompiledFlow } from '@sluice-internal/kernel/ir';
import { compileLoop, drive } from '../../../notations/test/loop/drive.ts';

const CLAIM = 'The letter is L-55012.';
const REASON = 'the answer states L-55012, which occurs in no observation and was not given';

const NOTATIONS: { readonly [notation: string]: object } = {
  flow: {
    flow: {
      id: 'demo',
      entry: 'write',
      nodes: [{ id: 'write', type: 'agent', agent: 'clerk', input: { message: '{{event.payload.message}}' } }],
    },
  },
  workflow: { workflow: { name: 'demo', steps: [{ name: 'write', agent_id: 'clerk', prompt: 'Do: {{input}}' }] } },
};

function mailer(notation: string, boundary?: unknown): CompiledFlow {
  return compileLoop({
    ...(boundary === undefined ? {} : { boundary }),
    agents: [{ id: 'clerk', instructions: 'Help.', tools: ['mail.send'] }],
    tools: { 'mail.send': { description: 'Sends a letter.', effect: 'communication' } },
    ...NOTATIONS[notation],
  });
}

describe.each(Object.keys(NOTATIONS))('an agent of a %s', (notation) => {
  test.each([CLAIM, 'I have sent the letter.', 'Ho inviato la lettera.'])(
    'whose author asks for no check ends as its graph says: %s',
    async (text) => {
      const { report } = await drive(mailer(notation), { agents: { clerk: [text] } });
      expect(report).toMatchObject({ code: 'SUCCESS', output: text, receipts: [], violations: [] });
    },
  );

  test('is told and may mend what it said, twice', async () => {
    const flow = mailer(notation, { escalation: { ungrounded: 'tell' } });
    const mended = await drive(flow, { agents: { clerk: [CLAIM, CLAIM, 'Nothing was sent.'] } });
    expect(mended.report).toMatchObject({ code: 'SUCCESS', usage: { modelCalls: 3 } });
    expect(mended.prompts[1]).toContain(`This is not supported: ${REASON}. Correct it.`);
    expect(mended.difference).toBeNull();
  });

  test('fails where the boundary fails', async () => {
    const { report, read, difference } = await drive(mailer(notation, { escalation: { ungrounded: 'fail' } }), {
      agents: { clerk: [CLAIM] },
    });
    expect(report).toMatchObject({
      code: 'VALIDATION_FAIL',
      error: { type: 'GroundingError', message: REASON },
      usage: { modelCalls: 1 },
    });
    expect(JSON.stringify(read.events)).toContain('policy:grounding');
    expect(difference).toBeNull();
  });

  test.each([
    ['approve', undefined, 'SUCCESS'],
    ['respond', 'Say that nothing was sent.', 'SUCCESS'],
    ['stop', undefined, 'VALIDATION_FAIL'],
  ])('is put before somebody, who says %s', async (choice, text, code) => {
    const flow = mailer(notation, { escalation: { ungrounded: 'ask' } });
    const script = { agents: { clerk: [CLAIM, 'Nothing was sent.'] } };
    const asked = await drive(flow, script);
    expect(asked.report).toMatchObject({
      state: 'suspended',
      code: 'REVIEW_REQUIRED',
      waiting: [{ data: { answer: CLAIM, problem: REASON } }],
    });
    const { report } = await drive(flow, script, { answers: [{ choice, ...(text === undefined ? {} : { text }) }] });
    expect(report).toMatchObject({ code });
  });

  test.each([
    ['research', 'VALIDATION_FAIL'],
    ['coding', 'VALIDATION_FAIL'],
    ['support', 'REVIEW_REQUIRED'],
    ['procurement', 'REVIEW_REQUIRED'],
    ['sre', 'VALIDATION_FAIL'],
  ])('under the profile %s ends or waits under %s', async (profile, code) => {
    const { report } = await drive(mailer(notation, profile), { agents: { clerk: [CLAIM] } });
    expect(report).toMatchObject({ code });
  });
});

test('what was done may be said', async () => {
  const flow = mailer('flow', 'support');
  const { report } = await drive(flow, {
    agents: { clerk: [{ tools: [{ name: 'mail.send', args: {} }], text: '' }, CLAIM] },
    tools: { 'mail.send': [{ result: { letter: 'L-55012' } }] },
    approvals: { 'mail.send': 'approve' },
  });
  expect(report).toMatchObject({ code: 'SUCCESS' });
});
