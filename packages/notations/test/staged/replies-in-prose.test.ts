/** A stage that expects an object takes the one object from a reply in prose. */
import { expect, test } from 'vitest';
import { ONE, play } from './drive.ts';

const told = (object: string): string => `Here it is:\n\n\`\`\`json\n${object}\n\`\`\`\n\nI hope this helps.`;

test('a plan and a verdict', async () => {
  const { report } = await play(
    { staged: { plan: { agent: 'planner' }, workers: { agent: 'worker' }, validate: { agent: 'critic' } } },
    { agents: { planner: [told(ONE)], worker: ['A is 1.'], critic: [told('{"ok": true, "confidence": 0.9}')] } },
  );
  expect(report).toMatchObject({ code: 'SUCCESS', usage: { modelCalls: 3 } });
});

test('a verdict that refuses', async () => {
  const { report } = await play(
    { staged: { plan: { agent: 'planner' }, workers: { agent: 'worker' }, validate: { agent: 'critic' }, replans: 0 } },
    { agents: { planner: [ONE], worker: ['A is 1.'], critic: [told('{"ok": false, "problem": "no sources"}')] } },
  );
  expect(report).toMatchObject({ code: 'VALIDATION_FAIL' });
  expect(report.error?.message).toContain('no sources');
});

test('a handoff and the result of peers', async () => {
  const { report } = await play(
    { staged: { peers: { agents: ['ann', 'bob'], start: 'ann' } } },
    { agents: { ann: [told('{"handoff": "bob", "message": "Go."}')], bob: [told('{"done": "It is 1."}')] } },
  );
  expect(report).toMatchObject({ code: 'SUCCESS', output: 'It is 1.' });
});

test('a write to the board', async () => {
  const { report } = await play(
    { staged: { board: { agents: ['ann'], rounds: 2 } } },
    { agents: { ann: [told('{"writes": {"a": 1}, "version": 0, "done": true}')] } },
  );
  expect(report).toMatchObject({ code: 'SUCCESS', output: { a: 1 } });
});

test('a summary of an agent with a schema', async () => {
  const output = { type: 'object', properties: { a: { type: 'integer' } }, required: ['a'] };
  const { report } = await play(
    {
      agents: [{ id: 'ann', output }],
      staged: { sop: [{ id: 'one', agent: 'ann' }] },
    },
    { agents: { ann: [told('{"a": 1}')] } },
  );
  expect(report).toMatchObject({ code: 'SUCCESS', output: [{ id: 'one', summary: { a: 1 } }] });
});
