/** The verifier of a loop: what it sees, what its verdict does, and what happens without one. */
import { readFileSync } from 'node:fs';
import { describe, expect, test } from 'vitest';
import { VERIFIER_PROMPT } from '@sluice-internal/kernel/catalog';
import { compile } from '@sluice-internal/library';
import { compileLoop, drive } from './drive.ts';

const TOOLS = { find: { effect: 'read' }, pay: { effect: 'financial', input: { type: 'object' } } } as const;
const documentOf = (loop: object = {}, more: object = {}) => ({
  agents: [{ id: 'bot', tools: ['find', 'pay'] }, { id: 'judge' }],
  tools: TOOLS,
  boundary: { tools: { allow: ['*'] } },
  ...more,
  loop: { agent: 'bot', ...loop },
});
const call = (name: string, args: object = {}) => ({ tools: [{ name, args: args as never }], text: '' });
const tools = {
  find: [{ result: { total: 4950 } }],
  pay: [{ error: 'fatal' as const, message: 'the account is closed' }],
};

test('its prompt is the text of the page', () => {
  const page = readFileSync(new URL('../../../../docs/guide/verifier.md', import.meta.url), 'utf8');
  expect(page).toContain(`Version ${VERIFIER_PROMPT.version}:\n\n\`\`\`text\n${VERIFIER_PROMPT.text}\n\`\`\``);
});

test('it sees the goal, the words of people, every call with its outcome, and the answer as data', async () => {
  const { prompts, report } = await drive(
    compileLoop(documentOf({ criteria: ['The amount is right'] })),
    {
      agents: {
        bot: [
          call('find', { id: 'A-7731' }),
          call('pay', { id: 'A-7731' }),
          '{"status": "missing_info", "question": "Which account?"}',
          'I paid it.',
        ],
      },
      tools,
      approvals: { pay: 'approve' },
    },
    { input: 'Pay A-7731.', answers: [{ choice: 'respond', text: 'the first one' }] },
  );
  const judged = prompts.at(-1) ?? '';
  expect(judged).toContain('Goal: Pay A-7731.');
  expect(judged).toContain('Messages of people:\n- the first one');
  expect(judged).toContain('- The amount is right');
  expect(judged).toContain('Nothing was changed.');
  expect(judged).toMatch(/<data from="find[^>]*>[^<]*find \{"id":"A-7731"\} returned: \{"total":4950\}/);
  expect(judged).toMatch(/<data from="pay[^>]*>[^<]*pay \{"id":"A-7731"\} failed: the account is closed/);
  expect(judged).toMatch(/<data from="answer[^>]*>\s*I paid it\./);
  expect(judged).not.toContain('Which account?');
  expect(report).toMatchObject({
    code: 'SUCCESS',
    changed: false,
    verdict: { by: 'verifier', ok: true, scripted: true },
  });
});

describe('where it is on', () => {
  const check = { when: 'answer != ""', reason: 'empty' };
  test.each<[string, object, string | null]>([
    ['by default', {}, 'verifier'],
    ['with a criterion in words', { criteria: ['good', check] }, 'verifier'],
    ['not with checks alone', { criteria: [check] }, null],
    ['with checks, if it is declared', { criteria: [check], verifier: 'default' }, 'verifier'],
    ['as an agent of the document', { verifier: 'judge' }, 'judge'],
    ['not if it is false', { verifier: false }, null],
  ])('%s', async (_, loop, agent) => {
    const { read } = await drive(compileLoop(documentOf(loop)), { agents: { bot: ['fine'], judge: ['{"ok": true}'] } });
    const calls = read.events.flatMap((event) =>
      event.type === 'effect.requested' && event.kind === 'model' ? [event.name] : [],
    );
    expect(calls).toEqual(agent === null ? ['bot'] : ['bot', agent]);
  });
});

test('it is in the certificate, and its model may be another one', () => {
  const models = { a: { provider: 'test', model: 'a' }, b: { provider: 'test', model: 'b' } };
  const compiled = (loop: object) => compile({ ...documentOf(loop, { models }), budgets: { steps: 1, tool_calls: 1 } });
  const [on, off] = [compiled({ verifier: { model: 'b' } }), compiled({ verifier: false })];
  expect(on.flow?.agents['verifier']?.model).toBe('b');
  expect(off.flow?.agents['verifier']).toBeUndefined();
  expect(on.bounds?.flow.modelCalls.most ?? 0).toBeGreaterThan(off.bounds?.flow.modelCalls.most ?? Infinity);
});

test('a "no" that stays goes to a person where the boundary asks one', async () => {
  const flow = compileLoop(
    documentOf({}, { boundary: { tools: { allow: ['*'] }, escalation: { ungrounded: 'ask' } } }),
  );
  const script = { agents: { bot: ['done'], verifier: [{ ok: false, problem: 'nothing was done' }] } };
  const asked = await drive(flow, script);
  expect(asked.report).toMatchObject({ code: 'REVIEW_REQUIRED', waiting: [{ node: 'verdict' }] });
  const approved = await drive(flow, script, { answers: [{ choice: 'approve' }] });
  expect(approved.report).toMatchObject({ code: 'SUCCESS', verdict: { by: 'person', ok: true } });
  expect(approved.difference).toBeNull();
});

describe('mistakes in a document', () => {
  const found = (document: object) =>
    compile(document)
      .diagnostics.filter(({ severity }) => severity === 'error')
      .map(({ code, help = '' }) => [code, help] as const);
  test.each([
    ['validate', [{ when: 'true', reason: 'x' }], '`criteria: [{ when: …, reason: … }]`'],
    ['conflict', 'true', 'code: SOURCE_CONFLICT'],
    ['confidence', 0.5, '`verifier: { confidence: … }`'],
    ['reflection', { repairs: 1 }, '`budgets: { reflections: … }`'],
  ])('`loop.%s` names what to write instead', (key, value, help) => {
    expect(found(documentOf({ [key]: value }))).toEqual([['unknown-key', expect.stringContaining(help) as string]]);
  });
  test.each<[object, string]>([
    [{ verifier: 'jugde' }, 'unknown-agent'],
    [{ verifier: { agent: 'jugde' } }, 'unknown-agent'],
    [{ verifier: { model: 'none' } }, 'unknown-model'],
  ])('%j', (loop, code) => expect(found(documentOf(loop)).map(([each]) => each)).toEqual([code]));
  test('an agent with the id that scripts use for the engine’s own', () => {
    const agents = [{ id: 'bot', tools: ['find'] }, { id: 'verifier' }];
    expect(found(documentOf({}, { agents })).map(([code]) => code)).toEqual(['bad-value']);
    expect(found(documentOf({ verifier: 'verifier' }, { agents }))).toEqual([]);
  });
});
