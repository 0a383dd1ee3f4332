/** People who decide about plans and intents see what they decide about, and can change it. */
import { expect, test } from 'vitest';
import type { Script } from '../../../library/src/host/scripted/script.ts';
import { compileLoop, drive } from './drive.ts';

const document = {
  agents: [{ id: 'lead' }, { id: 'bot', tools: ['parts.find', 'parts.order', 'mail.send'] }],
  tools: {
    'parts.find': { effect: 'read' },
    'parts.order': { effect: 'write' },
    'mail.send': { effect: 'communication' },
  },
  boundary: { tools: { allow: ['*'] } },
  loop: { planner: 'lead', executor: 'bot', plan: { approve: true } },
};
const plan = JSON.stringify({
  steps: [
    { id: 'find', do: 'Find the part.', tool: 'parts.find' },
    { id: 'order', do: 'Order it.', tool: 'parts.order' },
  ],
});
const find = { tools: [{ name: 'parts.find', args: {} }], text: '' };
const script: Script = {
  agents: { lead: [plan], bot: [find, 'The part is p-1.'] },
  tools: { 'parts.find': [{ result: { part: 'p-1' } }], 'parts.order': [{ result: 'ok' }] },
};

test('`touches` names the tools of the plan that change something', async () => {
  const { report } = await drive(compileLoop(document), script);
  expect(report.waiting).toMatchObject([{ data: { touches: ['parts.order'], tool: 'parts.find, parts.order' } }]);
  expect(report.waiting[0]?.choices).toEqual(['approve', 'edit', 'reject']);
});

test('an edited plan takes the place of the draft', async () => {
  const edit = { steps: [{ id: 'find', do: 'Only find the part.', tool: 'parts.find' }] };
  const { report } = await drive(compileLoop(document), script, { answers: [{ choice: 'edit', edit }] });
  expect(report).toMatchObject({ code: 'SUCCESS', usage: { toolCalls: 1 } });
});

test('an edited plan that is not valid goes back to the planner', async () => {
  const edit = {
    steps: [
      { id: 'a', do: 'x', after: ['b'] },
      { id: 'b', do: 'y', after: ['a'] },
    ],
  };
  const { report } = await drive(compileLoop(document), script, { answers: [{ choice: 'edit', edit }] });
  expect(report.waiting).toMatchObject([{ data: { tool: 'parts.find, parts.order' } }]);
});

test('whoever chooses an intent sees its description', async () => {
  const flow = compileLoop({
    agents: [{ id: 'bot' }],
    loop: {
      agent: 'bot',
      intents: [
        { id: 'cancel', when: 'goal.contains("order")', description: 'Cancel the order.' },
        { id: 'status', when: 'goal.contains("order")', description: 'Say where the order is.' },
      ],
    },
  });
  const { report } = await drive(flow, { agents: { bot: ['It is here.'] } }, { input: 'my order' });
  expect(report.waiting[0]?.message).toBe(
    'What is meant: cancel (Cancel the order.) or status (Say where the order is.)?',
  );
  expect(report.waiting[0]?.data).toMatchObject({
    descriptions: [{ id: 'cancel', description: 'Cancel the order.' }, {}],
  });
});
