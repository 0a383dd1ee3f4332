import { describe, expect, test } from 'vitest';
import { compileText } from './compile-text.ts';

const BASE = `
agents: [{ id: bot, instructions: Answer. }]
flow:
  id: demo
  entry: one
  nodes:
    - { id: one, type: agent, agent: bot, description: "ask", input: { task: "{{event.payload.message}}" } }
`;

describe('compile', () => {
  test('the same flow in JSON, in another order and with comments has the same hash', () => {
    const hash = compileText(BASE).flow?.hash;
    const json = JSON.stringify({
      flow: {
        nodes: [{ type: 'agent', input: { task: '{{event.payload.message}}' }, agent: 'bot', id: 'one' }],
        entry: 'one',
        id: 'demo',
      },
      agents: [{ instructions: 'Answer.', id: 'bot' }],
    });
    expect(hash).toMatch(/^sha256:[0-9a-f]{64}$/);
    expect(compileText(json).flow?.hash).toBe(hash);
    expect(compileText(JSON.parse(json) as object).flow?.hash).toBe(hash);
    expect(compileText(`# a comment\n\n${BASE}`).flow?.hash).toBe(hash);
  });

  test('everything that a run may do is in the hash', () => {
    const hashes = [
      BASE,
      BASE.replace('Answer.', 'Reply.'),
      BASE.replace('message}}', 'text}}'),
      BASE.replace('id: demo', 'id: demo2'),
      `budgets: { steps: 3 }${BASE}`,
    ].map((text) => compileText(text).flow?.hash);
    expect(new Set(hashes).size).toBe(hashes.length);
  });

  test('the compiled flow is frozen all the way down', () => {
    const flow = compileText(BASE).flow;
    const frozen = (value: unknown): boolean =>
      typeof value !== 'object' || value === null || (Object.isFrozen(value) && Object.values(value).every(frozen));
    expect(frozen(flow)).toBe(true);
  });

  test('half of a surrogate pair is a diagnostic with its place, in a value and in a key', () => {
    const places = (text: string) =>
      compileText(text).diagnostics.map(({ code, line, column }) => [code, line, column]);
    const written = BASE.split('\n').findIndex((line) => line.includes('{{event.payload.message}}'));
    const column = (BASE.split('\n')[written] ?? '').indexOf('"{{event.payload.message}}') + 1;
    expect(places(BASE.replace('{{event.payload.message}}', '\\ud800'))).toEqual([['not-json', written + 1, column]]);
    expect(places(`${BASE}\n"\\udfff": 1\n`)).toEqual([['not-json', BASE.split('\n').length + 1, 1]]);
    const object = { agents: [{ id: 'a', instructions: '\ud800' }], loop: { agent: 'a' } };
    expect(compileText(object).diagnostics).toMatchObject([
      {
        code: 'not-json',
        message: expect.stringMatching(/^agents\[0\]\.instructions: this text contains half/) as string,
      },
    ]);
  });

  test('a document with mistakes still has its picture', () => {
    expect(compileText(BASE.replace('agent: bot,', 'agent: bott,')).graph?.nodes.map(({ id }) => id)).toEqual([
      '~start',
      'one',
      '~end',
    ]);
  });
});
