/** When a model may answer out of itself, and when only a tool can show it. */
import { describe, expect, test } from 'vitest';
import { compileLoop, drive } from '../../packages/notations/test/loop/drive.ts';

interface Row {
  readonly what: string;
  readonly tool: string;
  readonly result: unknown;
  /** What the author says of the task; nothing where the words of the answer alone give it away. */
  readonly loop?: object;
  readonly answer: string;
  /** Whether the answer holds without the call. */
  readonly alone: boolean;
}

const cite = { grounding: { cite: 'required', on_violation: 'halt' } };
const halt = { grounding: { on_violation: 'halt' } };
const json = (answer: string, more: object = {}) => JSON.stringify({ status: 'complete', answer, ...more });

const ROWS: readonly Row[] = [
  {
    what: 'a rough estimate §reasoning/low-stakes-arithmetic',
    tool: 'calculator',
    result: 40,
    answer: 'About forty.',
    alone: true,
  },
  {
    what: 'an exact figure §reasoning/exact-arithmetic',
    tool: 'calculator',
    result: 41.37,
    loop: cite,
    answer: json('41.37', { citations: ['$seen'] }),
    alone: false,
  },
  {
    what: 'a current fact §reasoning/external-fact',
    tool: 'rates',
    result: 1841,
    loop: halt,
    answer: 'It is 1,841.',
    alone: false,
  },
  {
    what: 'the state of an account §reasoning/account-status',
    tool: 'account',
    result: 'open',
    loop: halt,
    answer: json('open', { claims: [{ tool: 'account' }] }),
    alone: false,
  },
  {
    what: 'the result of a test §reasoning/code-execution',
    tool: 'tests',
    result: { exitCode: 0 },
    loop: halt,
    answer: json('they pass', { claims: [{ tool: 'tests' }] }),
    alone: false,
  },
  {
    what: 'whether a call succeeded §reasoning/api-result',
    tool: 'send',
    result: 'ok',
    loop: halt,
    answer: json('it went out', { claims: [{ tool: 'send' }] }),
    alone: false,
  },
  {
    what: 'a draft §reasoning/creative-drafting',
    tool: 'rates',
    result: 1,
    answer: 'Dear Ann, thank you for your patience.',
    alone: true,
  },
];

async function ask({ tool, result, loop = halt, answer }: Row, calls: boolean, more: object = {}) {
  const flow = compileLoop({
    agents: [{ id: 'bot', tools: [tool] }],
    tools: { [tool]: { effect: tool === 'send' ? 'communication' : 'read' } },
    boundary: { tools: { allow: ['*'] } },
    loop: { agent: 'bot', ...loop, ...more },
  });
  const replies = [
    ...(calls ? [{ tools: [{ name: tool, args: { q: 1 } }], text: '' }] : []),
    answer.replace('$seen', 'bot.1.1.0'),
  ];
  return (await drive(flow, { agents: { bot: replies }, tools: { [tool]: [{ result: result as never }] } })).report;
}

describe('answer or call', () => {
  test.each(ROWS.map((row) => [row.what, row] as const))('%s', async (_, row) => {
    expect((await ask(row, true)).code).toBe('SUCCESS');
    const alone = await ask(row, false);
    expect([alone.code, alone.error?.type]).toEqual(
      row.alone ? ['SUCCESS', undefined] : ['VALIDATION_FAIL', 'GroundingError'],
    );
  });

  test('a grave recommendation needs sources and a review by a person §reasoning/high-stakes-recommendation', async () => {
    const row = {
      what: '',
      tool: 'library',
      result: 'x',
      loop: cite,
      answer: json('take it', { citations: ['$seen'] }),
      alone: false,
    };
    expect((await ask(row, false, { review: true })).code).toBe('VALIDATION_FAIL');
    expect(await ask(row, true, { review: true })).toMatchObject({ state: 'suspended', code: 'REVIEW_REQUIRED' });
  });
});
