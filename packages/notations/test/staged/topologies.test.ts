/** The seven topologies: each runs, each shows what it protects against, first without the protection. */
import { describe, expect, test } from 'vitest';
import { compile } from '@sluice-internal/library';
import { AGENTS, ONE, PLAN, YES, actions, play } from './drive.ts';
import type { Script } from '@sluice-internal/testing';

const REST = { plan: { agent: 'planner' }, validate: { agent: 'critic' }, finalize: { agent: 'writer' } };
const script = (agents: NonNullable<Script['agents']>): Script => ({
  agents: { planner: [ONE], critic: [YES], writer: ['Done.'], ...agents },
});

describe('debate', () => {
  const debate = { agents: ['ann', 'bob'], rounds: 2, judge: 'cat' };
  test('each agent sees what the others said in the round before; the judge decides', async () => {
    const { report } = await play(
      { staged: { topology: 'debate', debate, plan: { agent: 'planner' } } },
      script({
        ann: ['Tea.', { when: "input.contains('[bob]\\nCoffee.')", text: 'Tea, still.' }, 'Ann heard nothing.'],
        bob: ['Coffee.', { when: "input.contains('[ann]\\nTea.')", text: 'Coffee, still.' }, 'Bob heard nothing.'],
        cat: [{ when: "input.contains('Tea, still.') && input.contains('Coffee, still.')", text: 'Tea wins.' }],
      }),
    );
    expect(report).toMatchObject({
      code: 'SUCCESS',
      output: 'Tea wins.',
      path: [
        'plan',
        'debate/ann',
        'debate/bob',
        'debate/ann',
        'debate/bob',
        'debate/cat',
        'aggregate',
        'validate',
        'finalize',
      ],
    });
    expect(report.usage.modelCalls).toBe(6);
  });
  test('without a judge and a planner, the last statements are the result', async () => {
    const { report } = await play(
      { staged: { debate: { agents: ['ann', 'bob'], rounds: 1 } } },
      script({ ann: ['Tea.'], bob: ['Coffee.'] }),
    );
    expect(report).toMatchObject({
      code: 'SUCCESS',
      output: [
        { id: 'ann', summary: 'Tea.' },
        { id: 'bob', summary: 'Coffee.' },
      ],
      path: ['plan', 'debate/ann', 'debate/bob', 'aggregate', 'validate', 'finalize'],
    });
  });
});

describe('sop', () => {
  test('steps run in order, and each sees the results before it', async () => {
    const { report } = await play(
      {
        staged: {
          ...REST,
          sop: [
            { id: 'draft', agent: 'ann' },
            { id: 'check', agent: 'bob', output: { type: 'object', required: ['ok'] } },
          ],
        },
      },
      script({ ann: ['A draft.'], bob: [{ when: "input.contains('A draft.')", text: '{"ok": true}' }] }),
    );
    expect(report).toMatchObject({
      code: 'SUCCESS',
      path: ['plan', 'sop/draft', 'sop/check', 'aggregate', 'validate', 'finalize'],
    });
  });
});

describe('handoff', () => {
  const peers = { agents: ['ann', 'bob', 'cat'], start: 'ann' };
  const to = (peer: string) => `{"handoff": "${peer}", "message": "from someone to ${peer}"}`;
  test('the task goes from peer to peer until one is done', async () => {
    const { report } = await play(
      { staged: { ...REST, finalize: undefined, peers } },
      script({ ann: [to('bob')], bob: [{ when: "input.contains('to bob')", text: '{"done": "Found it."}' }] }),
    );
    expect(report).toMatchObject({
      code: 'SUCCESS',
      output: 'Found it.',
      path: ['plan', 'peers/ann', 'peers/bob', 'aggregate', 'validate', 'finalize'],
    });
  });
  test('an unknown peer is corrected', async () => {
    const { report } = await play(
      { staged: { ...REST, peers } },
      script({ ann: [to('dan'), { when: "input.contains('no peer `dan`')", text: '{"done": "ok"}' }] }),
    );
    expect(report).toMatchObject({
      code: 'SUCCESS',
      path: ['plan', 'peers/ann', 'peers/ann', 'aggregate', 'validate', 'finalize'],
    });
  });
  const oscillating = script({ ann: [to('bob')], bob: [to('ann')] });
  test('off: two peers that hand the task back and forth go on to the budget', async () => {
    const { report } = await play(
      { staged: { ...REST, peers }, protections: { deadlock: false, hops: false }, budgets: { model_calls: 30 } },
      oscillating,
    );
    expect(report).toMatchObject({ state: 'failed', code: 'BUDGET_EXHAUSTED', usage: { modelCalls: 30 } });
  });
  test.each([
    ['interactive', 'abort'],
    ['batch', 'abort'],
    ['regulated', 'escalate'],
  ])('%s: the second cycle of the same handoffs is a deadlock: %s', async (tier, action) => {
    const { report } = await play({ staged: { ...REST, tier, peers } }, oscillating);
    expect(report.path).toEqual(['plan', 'peers/ann', 'peers/bob', 'peers/ann', 'peers/bob']);
    expect(actions(report)).toEqual([`deadlock: ${action}`]);
    expect(report).toMatchObject(action === 'abort' ? { code: 'REPEATED_FAILURE' } : { state: 'suspended' });
  });
  test('a declared action replaces that of the table', async () => {
    const { report } = await play(
      { staged: { ...REST, peers }, protections: { deadlock: { on_trip: 'escalate' } } },
      oscillating,
    );
    expect(actions(report)).toEqual(['deadlock: escalate']);
  });
  test('a sixth handoff is not made: the monitor escalates', async () => {
    const round = script({ ann: [to('bob'), to('cat')], bob: [to('cat')], cat: [to('ann'), to('bob')] });
    const { report } = await play({ staged: { ...REST, peers } }, round);
    expect(report).toMatchObject({ state: 'suspended', waiting: [{ node: 'escalation' }] });
    expect(report.path.filter((each) => each.startsWith('peers/'))).toHaveLength(6);
    expect(report.decisions).toMatchObject([{ failure: 'deadlock', action: 'escalate', mast: 'FM-1.5' }]);
  });
});

describe('blackboard', () => {
  const board = { agents: ['ann', 'bob'], rounds: 3 };
  test('writes with the version that was read are applied, and others are refused', async () => {
    const { report, events } = await play(
      { staged: { ...REST, finalize: undefined, board } },
      script({
        ann: ['{"writes": {"a": 1}, "version": 0}', '{"writes": {"b": 2}, "version": 1, "done": true}'],
        bob: ['{"writes": {"a": 9}, "version": 0}'],
      }),
    );
    expect(report).toMatchObject({
      code: 'SUCCESS',
      output: { a: 1, b: 2 },
      path: ['plan', 'board/ann', 'board/bob', 'board/ann', 'aggregate', 'validate', 'finalize'],
    });
    const conflicts = events.filter((event) => event.type === 'slots.written' && event.node.includes('conflict'));
    expect(conflicts).toHaveLength(1);
  });
  test('a refused agent reads why', async () => {
    const { report } = await play(
      { staged: { ...REST, finalize: undefined, board } },
      script({
        ann: ['{"writes": {"a": 1}, "version": 0}', '{"version": 1}'],
        bob: [
          '{"writes": {"b": 9}, "version": 0}',
          {
            when: "input.contains('Your last write was refused')",
            text: '{"writes": {"b": 2}, "version": 1, "done": true}',
          },
        ],
      }),
    );
    expect(report.output).toEqual({ a: 1, b: 2 });
  });
  test.each([
    ['interactive', ['no_progress: abort'], 'failed'],
    ['batch', ['no_progress: replan', 'no_progress: escalate'], 'suspended'],
    ['regulated', ['no_progress: escalate'], 'suspended'],
  ])('%s: a round without a change is no progress', async (tier, expected, state) => {
    const { report } = await play(
      { staged: { ...REST, tier, board } },
      script({ ann: ['{"version": 0}'], bob: ['{"writes": {}, "version": 0}'] }),
    );
    expect(actions(report)).toEqual(expected);
    expect(report.state).toBe(state);
  });
});

describe('swarm', () => {
  const spawn = (...ids: string[]) => JSON.stringify({ spawn: ids.map((id) => ({ id, brief: `Do ${id}.` })) });
  const swarm = { agent: 'worker', depth: 2, max: 6 };
  test('members start others, level by level', async () => {
    const { report } = await play(
      { staged: { ...REST, finalize: undefined, swarm } },
      script({ worker: [spawn('x', 'y'), 'X.', 'Y.'] }),
    );
    expect(report).toMatchObject({
      code: 'SUCCESS',
      output: [
        { id: 'x', summary: 'X.' },
        { id: 'y', summary: 'Y.' },
      ],
      path: ['plan', 'swarm/a', 'swarm/x', 'swarm/y', 'aggregate', 'validate', 'finalize'],
    });
  });
  test('two children of one member with one id are not started', async () => {
    const { report } = await play(
      { staged: { ...REST, finalize: undefined, swarm } },
      script({ worker: [spawn('x', 'x', 'y'), 'Y.'] }),
    );
    expect(report).toMatchObject({ code: 'PARTIAL_SUCCESS', output: [{ id: 'y', summary: 'Y.' }] });
    expect(report.path.filter((each) => each.startsWith('swarm/'))).toEqual(['swarm/a', 'swarm/y']);
    expect(actions(report)).toEqual(['malformed_plan: block']);
  });
  test('children of several members with one id keep apart', async () => {
    const { report } = await play(
      { staged: { ...REST, finalize: undefined, swarm } },
      script({ worker: [spawn('x', 'y'), spawn('z'), spawn('z', 'a'), 'Z.'] }),
    );
    expect(report.code).toBe('SUCCESS');
    expect(report.path.filter((each) => each.startsWith('swarm/'))).toEqual(
      ['a', 'x', 'y', 'x.z', 'y.z', 'y.a'].map((id) => `swarm/${id}`),
    );
  });
  test('a swarm that only spawns stays within depth and number', async () => {
    const { report } = await play({ staged: { ...REST, swarm } }, script({ worker: [spawn('x', 'y')] }));
    expect(report).toMatchObject({ state: 'failed', code: 'BUDGET_EXHAUSTED' });
    expect(report.path.filter((each) => each.startsWith('swarm/')).length).toBeLessThanOrEqual(6);
    expect(actions(report)).toEqual(['cost_overrun: block', 'cost_overrun: block', 'cost_overrun: abort']);
  });
  test('check warns', () => {
    const { diagnostics } = compile({ agents: AGENTS, staged: { ...REST, swarm } });
    expect(diagnostics).toContainEqual(expect.objectContaining({ code: 'swarm', severity: 'warning' }));
  });
});

describe('hierarchical', () => {
  const team = { plan: { agent: 'ann' }, workers: { agent: 'bob' }, validate: { agent: 'critic' } };
  const teams = [
    { id: 'north', staged: team },
    { id: 'south', staged: team },
  ];
  test('every task goes to a team with five stages of its own', async () => {
    const plan = '{"tasks": [{"id": "t1", "brief": "Snow?", "worker": "south"}, {"id": "north", "brief": "Sun?"}]}';
    const { report } = await play(
      { staged: { ...REST, teams } },
      script({ planner: [plan], ann: [PLAN], bob: ['Fine.'] }),
    );
    expect(report).toMatchObject({ code: 'SUCCESS', output: 'Done.' });
    expect(report.path).toContain('teams/south/workers/a');
    expect(report.path.filter((each) => each === 'teams/north/validate')).toHaveLength(1);
    expect(report.path.slice(-3)).toEqual(['aggregate', 'validate', 'finalize']);
  });
  test.each([
    ['workers', team],
    ['a debate', { plan: { agent: 'ann' }, debate: { agents: ['bob', 'cat'], rounds: 2, judge: 'ann' } }],
    ['steps', { sop: [{ id: 'one', agent: 'bob' }] }],
    ['peers', { peers: { agents: ['bob', 'cat'], start: 'bob' } }],
    ['teams', { plan: { agent: 'ann' }, teams: [{ id: 'inner', staged: team }] }],
  ])('the turns of teams with %s have different numbers, also in two tasks of one team', async (_, staged) => {
    const tasks = ['north', 'south', 'south'].map((worker, index) => ({ id: `t${index}`, brief: 'Snow?', worker }));
    const { events } = await play(
      { staged: { ...REST, teams: ['north', 'south'].map((id) => ({ id, staged })) } },
      script({ planner: [JSON.stringify({ tasks })], ann: [PLAN], bob: ['{"done": "ok"}'], cat: ['Fine.'] }),
    );
    const turns = events.flatMap((event) =>
      event.type === 'slots.written'
        ? event.writes.flatMap(({ slot, from }) => (slot === 'turn' ? [JSON.stringify(from)] : []))
        : [],
    );
    expect(turns.length).toBeGreaterThan(5);
    expect(turns.toSorted()).toEqual([...new Set(turns)].toSorted());
  });
  test('a team nested too deep is refused', () => {
    let staged: object = team;
    for (let depth = 0; depth < 8; depth++) staged = { plan: { agent: 'ann' }, teams: [{ id: 't', staged }] };
    const { diagnostics } = compile({ agents: AGENTS, staged });
    expect(diagnostics.filter(({ severity }) => severity === 'error')).toMatchObject([{ code: 'bad-value' }]);
  });
});
