/** Approval nodes with data: `fields`, the parts of an answer that a flow reads, and the words of a person for the next agent. */
import { describe, expect, test } from 'vitest';
import type { Script } from '@sluice-internal/library/host';
import { compiled, playOn, scriptedEngine } from '../support/harness.ts';
import type { Play } from '../support/harness.ts';

const FLOW = `
agents: [{ id: clerk, instructions: Write. }]
tools: { pay: { effect: read, module: './p.mjs#pay', input: { type: object, properties: { amount: { type: number } } } } }
flow:
  id: f
  entry: gate
  nodes:
    - id: gate
      type: approval
      message: How much?
      fields: { type: object, properties: { amount: { type: number, maximum: 50 } }, required: [amount], additionalProperties: false }
      routes: [{ when: "approvals.gate == 'approve' && gate.data.amount < 40", to: pay }, { to: no }]
    - { id: pay, type: tool, tool: pay, params: { amount: "{{gate.data.amount}}" }, routes: [{ to: done }] }
    - { id: done, type: terminal, output: { amount: "{{gate.data.amount}}", text: "{{gate.text}}", by: "{{gate.by}}" } }
    - { id: no, type: terminal, output: "{{gate.text}}" }
`;

async function play(document: string, script: Script, answers: Play['answers'] = []) {
  const { engine, prompts } = scriptedEngine(script);
  return { ...(await playOn(engine, compiled(document), { input: 'x', answers })), prompts };
}
const tools = { pay: [{ result: 'paid' }] };

describe('fields', () => {
  test('the data, the text and the person of an answer are read', async () => {
    const { report, events } = await play(FLOW, { tools }, [{ choice: 'approve', edit: { amount: 20 }, text: 'fair' }]);
    expect([report.code, report.output]).toEqual(['SUCCESS', { amount: 20, text: 'fair', by: 'ann' }]);
    expect(JSON.stringify(events)).toContain('"amount":20');
  });

  test.each([
    ['that does not fit', { amount: 90 }, 'does not take this data'],
    ['with another field', { amount: 1, more: true }, 'does not take this data'],
    ['without the required data', undefined, 'needs data'],
  ])('an answer %s is refused, and the question stays open', async (_, edit, why) => {
    const { engine } = scriptedEngine({ tools });
    const flow = compiled(FLOW);
    const run = await engine.start(flow, { input: 'x' });
    const { waiting } = await engine.settled(run);
    const given = { choice: 'approve', by: 'ann', ...(edit === undefined ? {} : { edit }) };
    await expect(engine.answer(waiting[0]?.id ?? '', given)).rejects.toThrow(why);
    expect((await engine.get(run)).state).toBe('suspended');
    await engine.close();
  });

  test('a rejection needs no data', async () => {
    const { report } = await play(FLOW, { tools }, [{ choice: 'reject', text: 'too late' }]);
    expect(report.output).toBe('too late');
  });

  test('a script gives data', async () => {
    const { report } = await play(FLOW, {
      tools,
      approvals: { gate: { choice: 'approve', data: { amount: 5 }, text: 'ok' } },
    });
    expect(report.output).toMatchObject({ amount: 5, text: 'ok' });
  });

  test('an approval without fields takes no data', async () => {
    const document = FLOW.replace(/\n {6}fields: .*/, '').replaceAll(/gate\.data\.amount/g, 'gate.data');
    const { engine } = scriptedEngine({ tools });
    const run = await engine.start(compiled(document.replace(' && gate.data < 40', '')), { input: 'x' });
    const { waiting } = await engine.settled(run);
    const answer = engine.answer(waiting[0]?.id ?? '', { choice: 'approve', by: 'ann', edit: 1 });
    await expect(answer).rejects.toThrow('takes no data');
    await engine.close();
  });
});

describe('the words of a person reach the next agent', () => {
  const DRAFT = `
agents: [{ id: writer, instructions: Write. }, { id: sender, instructions: Send. }]
flow:
  id: f
  entry: draft
  max_iterations: 9
  nodes:
    - { id: draft, type: agent, agent: writer, routes: [{ to: gate }] }
    - id: gate
      type: approval
      message: "Send {{draft.output}}?"
      routes: [{ when: "approvals.gate == 'approve'", to: send }, { to: note }]
    - { id: note, type: set, values: { rejected: true }, routes: [{ to: draft }] }
    - { id: send, type: agent, agent: sender, routes: [{ to: check }] }
    - { id: check, type: agent, agent: sender }
`;

  test('the reason of a rejection, once', async () => {
    const { report, prompts } = await play(DRAFT, { agents: { writer: ['one', 'two'], sender: ['sent', 'fine'] } }, [
      { choice: 'reject', text: 'Too long, and no greeting.' },
      { choice: 'approve' },
    ]);
    expect(report.code).toBe('SUCCESS');
    const texts = prompts.map(({ messages }) => JSON.stringify(messages));
    expect(texts.map((each) => each.includes('Too long, and no greeting.'))).toEqual([false, true, false, false]);
    expect(texts[1]).toContain(String.raw`A person answered \"reject\"`);
  });
});
