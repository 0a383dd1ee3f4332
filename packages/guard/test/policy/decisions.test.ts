/** The decision rights of a boundary: what is not granted does not happen, in every notation. */
import { describe, expect, test } from 'vitest';
import { compile } from '../../../library/src/compile.ts';
import { DECISIONS } from '../../../compile/src/document/schema/bounds.ts';
import { play } from './play.ts';

type Right = (typeof DECISIONS)[number];
const without = (...rights: Right[]) => ({ decisions: DECISIONS.filter((right) => !rights.includes(right)) });

describe('plan', () => {
  const document = (boundary: object, own: object = {}) => ({
    agents: [{ id: 'boss', boundary: own }, { id: 'bot' }],
    boundary,
    loop: { planner: 'boss', executor: 'bot' },
  });
  test.each([
    ['the document withholds it', document(without('plan'))],
    ['the agent’s own boundary does', document({}, without('plan'))],
    ['an agent cannot grant itself what the document withholds', document(without('plan'), { decisions: ['plan'] })],
  ])('%s: there is no plan', (_, each) => {
    const { flow, diagnostics } = compile(each);
    expect(flow).toBeUndefined();
    expect(diagnostics.map(({ code, message }) => [code, message])).toEqual([
      ['not-granted', expect.stringContaining('`boss` makes the plan here')],
    ]);
  });

  test('the place is where the planner is named', () => {
    const { diagnostics } = compile(
      [
        'agents: [{ id: boss }, { id: bot }]',
        'boundary: { decisions: [tools, arguments] }',
        'loop:',
        '  planner: boss',
        '  executor: bot',
      ].join('\n'),
    );
    expect(diagnostics).toMatchObject([{ code: 'not-granted', line: 4, column: 12 }]);
  });

  test('an agent that only executes does not need it', () => {
    const { flow } = compile(document({}, {}));
    expect(flow).toBeDefined();
    const executor = { ...document({}), agents: [{ id: 'boss' }, { id: 'bot', boundary: without('plan') }] };
    expect(compile(executor).flow).toBeDefined();
  });

  test('a team’s manager makes plans as well', () => {
    const team = {
      boundary: without('plan'),
      Orchestration: {
        Agents: [{ Name: 'A', Instructions: 'work' }],
        Selection: { Type: 'magentic', Magentic: { Model: 'openai/x' } },
      },
    };
    expect(compile(team).diagnostics.map(({ code }) => code)).toContain('not-granted');
    expect(compile({ ...team, boundary: {} }).diagnostics.map(({ code }) => code)).not.toContain('not-granted');
  });
});

describe('escalate', () => {
  const REVIEW = { review_request: [{ result: { id: '1', queue: 'review', state: 'open' } }] };
  const flow = (boundary: object) => ({
    agents: [{ id: 'bot', tools: ['review_request'] }],
    boundary,
    flow: { id: 'demo', entry: 'work', nodes: [{ id: 'work', type: 'agent', agent: 'bot' }] },
  });
  const script = {
    agents: { bot: [{ text: '', tools: [{ name: 'review_request', args: { reason: 'unsure' } }] }, 'done'] },
    tools: REVIEW,
  };

  test('granted: a review is requested without approval', async () => {
    const { dispatched } = await play(flow({}), script);
    expect(dispatched).toEqual(['review_request']);
  });

  test('withheld: no review is asked for, not even where the tool is allowed by name', async () => {
    const boundary = { ...without('escalate'), tools: { allow: ['review_request'] } };
    const { dispatched, report, flow: compiled } = await play(flow(boundary), script);
    expect([report.code, dispatched]).toEqual(['SUCCESS', []]);
    expect(compiled.boundaries?.['bot']?.tools.deny).toEqual(['review_request']);
  });

  const loop = (boundary: object) => ({ agents: [{ id: 'bot' }], boundary, loop: { agent: 'bot' } });
  const saying = (said: object) => ({ agents: { bot: [JSON.stringify(said)] } });
  test.each([
    ['missing_info', 'escalate', { status: 'missing_info', question: 'Which?' }, 'MISSING_INFO'],
    ['missing_info', 'clarify', { status: 'missing_info', question: 'Which?' }, 'MISSING_INFO'],
    ['ambiguous', 'escalate', { status: 'ambiguous', question: 'This or that?' }, 'AMBIGUOUS_INTENT'],
    ['conflict', 'escalate', { status: 'conflict', reason: 'a is not b' }, 'SOURCE_CONFLICT'],
  ] as const)('%s without %s: nobody is asked, and the run ends', async (_, right, said, code) => {
    const asked = await play(loop({}), saying(said));
    expect(asked.report.state).toBe('suspended');
    const { report, events } = await play(loop(without(right)), saying(said));
    expect(report).toMatchObject({ state: 'failed', code, error: { class: 'policy', type: 'NotGranted' } });
    expect(events.some((event) => event.type === 'effect.requested' && event.kind === 'ask')).toBe(false);
  });

  test('what the system asks about is not the agent’s choice', async () => {
    const document = {
      tools: { save: { effect: 'write' } },
      agents: [{ id: 'bot', tools: ['save'] }],
      boundary: without('escalate', 'clarify'),
      loop: { agent: 'bot' },
    };
    const { report } = await play(document, { agents: { bot: [{ text: '', tools: [{ name: 'save', args: {} }] }] } });
    expect([report.state, report.code]).toEqual(['suspended', 'CONFIRM_REQUIRED']);
  });

  test('a planner that may not ask gives up instead', async () => {
    const document = {
      agents: [{ id: 'boss', boundary: without('escalate') }, { id: 'bot' }],
      loop: { planner: 'boss', executor: 'bot' },
    };
    const { report } = await play(document, {
      agents: { boss: ['{"status": "missing_info", "question": "Which?"}'], bot: ['x'] },
    });
    expect(report).toMatchObject({ state: 'failed', code: 'MISSING_INFO', error: { type: 'PlanAbandoned' } });
  });

  test('a member of a team that may not hand over keeps its turn', async () => {
    const team = (boundary: object) => ({
      boundary,
      Orchestration: {
        Agents: [
          { Name: 'A', Instructions: 'work', Plugins: ['Handoff'] },
          { Name: 'B', Instructions: 'work' },
        ],
        Selection: { Type: 'keyword', DefaultAgent: 'A', Routes: [{ Keyword: 'NEXT', Agent: 'B' }] },
        Termination: { Type: 'regex', Pattern: 'DONE' },
      },
    });
    const hand = { text: '', tools: [{ name: 'handoff', args: { route_keyword: 'NEXT' } }] };
    const agents = { A: [hand, 'DONE myself'], B: ['DONE by B'] };
    expect((await play(team({}), { agents })).report.output).toBe('DONE by B');
    const kept = await play(team(without('escalate')), { agents });
    expect([kept.report.output, kept.dispatched]).toEqual(['DONE myself', []]);
  });
});
