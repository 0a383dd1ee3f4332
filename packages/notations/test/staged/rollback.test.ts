/** Stages that are repeated: what they did is undone first, in every topology and for every reason to repeat them. */
import { describe, expect, test } from 'vitest';
import type { Report } from '@sluice-internal/library';
import type { Script } from '@sluice-internal/testing';
import { NO, ONE, YES, actions, play } from './drive.ts';
import type { Answered } from './drive.ts';

const book = (id: string) => ({ tools: [{ name: 'book', args: { id } }] });
const input = { type: 'object', properties: { id: { type: 'string' } } };
const DOCUMENT = {
  tools: {
    book: { effect: 'write', compensate: 'cancel', input },
    cancel: { effect: 'write', idempotent: true, input },
  },
  agents: [{ id: 'planner' }, { id: 'ann', tools: ['book'] }, { id: 'bob', tools: ['book'] }, { id: 'critic' }],
  boundary: { tools: { allow: ['book'] }, untrusted: 'off' },
};
const TOOLS: NonNullable<Script['tools']> = {
  book: [{ result: { done: true } }],
  cancel: [{ result: { done: true } }],
};
const TWO_STEPS = {
  sop: [
    { id: 'flight', agent: 'ann' },
    { id: 'hotel', agent: 'bob' },
  ],
};

interface Trial {
  readonly staged: object;
  readonly agents: NonNullable<Script['agents']>;
  readonly tools?: Script['tools'];
  readonly answers?: readonly Answered[];
  readonly more?: object;
}

/** Every booking in the order in which it was made, and what became of it. */
async function booked({ staged, agents, tools = TOOLS, answers = [], more = {} }: Trial) {
  const { report, events } = await play({ ...DOCUMENT, ...more, staged }, { agents, tools }, answers);
  const made = report.receipts.map(({ args, status }) => `${(args as { readonly id: string }).id} ${status}`);
  const undone = events.flatMap((event) => (event.type === 'undo.requested' ? [event.undoes] : []));
  return { report, made, undone };
}

const only = ({ decisions }: Report): readonly string[] => decisions.map(({ action }) => action);

describe('a new plan', () => {
  test('of a procedure undoes the finished steps, last first, and repeats them', async () => {
    const { report, made } = await booked({
      staged: { ...TWO_STEPS, validate: { agent: 'critic' } },
      agents: {
        ann: [book('F1'), 'F1', book('F2'), 'F2'],
        bob: [book('H1'), 'H1', book('H2'), 'H2'],
        critic: [NO, YES],
      },
    });
    expect(report).toMatchObject({ code: 'SUCCESS' });
    expect(made).toEqual(['F1 compensated', 'H1 compensated', 'F2 committed', 'H2 committed']);
    expect(actions(report)).toEqual(['schema_or_grounding: replan']);
  });

  test('after a step that failed: the step undoes its own work, the plan that of the steps before', async () => {
    const { report, made } = await booked({
      staged: {
        sop: [
          { id: 'flight', agent: 'ann' },
          { id: 'hotel', agent: 'bob', output: { type: 'object', required: ['room'] } },
        ],
      },
      agents: {
        ann: [book('F1'), 'F1', book('F2'), 'F2'],
        bob: [book('H1'), 'no room', 'no room', book('H2'), '{"room": 7}'],
      },
    });
    expect(report).toMatchObject({ code: 'SUCCESS' });
    expect(made).toEqual(['F1 compensated', 'H1 compensated', 'F2 committed', 'H2 committed']);
  });

  test('of workers undoes what all of them did', async () => {
    const { made } = await booked({
      staged: { plan: { agent: 'planner' }, workers: { agent: 'ann' }, validate: { agent: 'critic' } },
      agents: { planner: [ONE], ann: [book('A'), 'A', book('B'), 'B'], critic: [NO, YES] },
    });
    expect(made).toEqual(['A compensated', 'B committed']);
  });

  test('the abort undoes what the undo before it left, and nothing twice', async () => {
    const { report, made, undone } = await booked({
      staged: { ...TWO_STEPS, replans: 1, validate: { agent: 'critic' } },
      agents: { ann: [book('F1'), 'F1', book('F2'), 'F2'], bob: ['no hotel'], critic: [NO, NO] },
    });
    expect(report).toMatchObject({ state: 'failed', code: 'VALIDATION_FAIL' });
    expect(only(report)).toEqual(['replan', 'abort']);
    expect(made).toEqual(['F1 compensated', 'F2 compensated']);
    expect(new Set(undone).size).toBe(undone.length);
  });

  test('is not made if the work cannot be undone: the booking is not repeated, and a person has to look', async () => {
    const { report, made } = await booked({
      staged: { ...TWO_STEPS, validate: { agent: 'critic' } },
      agents: { ann: [book('F1'), 'F1', book('F2'), 'F2'], bob: ['no hotel'], critic: [NO] },
      tools: { ...TOOLS, cancel: [{ error: 'fatal', message: 'the airline does not answer' }] },
    });
    expect(report).toMatchObject({ state: 'failed', code: 'REVIEW_REQUIRED' });
    expect(made).toEqual(['F1 committed']);
    expect(report.path.filter((each) => each === 'plan')).toHaveLength(1);
  });

  test('by a person who responds', async () => {
    const { made } = await booked({
      staged: { ...TWO_STEPS, tier: 'regulated', validate: { agent: 'critic' } },
      agents: { ann: [book('F1'), 'F1', book('F2'), 'F2'], bob: ['no hotel'], critic: [NO, YES] },
      answers: [{ choice: 'respond', text: 'Take the train.' }],
    });
    expect(made).toEqual(['F1 compensated', 'F2 committed']);
  });

  test('in a team undoes only what the team did', async () => {
    const team = (agent: string, more: object) => ({ plan: { agent: 'planner' }, workers: { agent }, ...more });
    const { report, made } = await booked({
      staged: {
        plan: { agent: 'planner' },
        teams: [
          { id: 'north', staged: team('ann', { validate: { agent: 'critic' } }) },
          { id: 'south', staged: team('bob', {}) },
        ],
      },
      agents: {
        planner: [
          '{"tasks": [{"id": "n", "brief": "N", "worker": "north"}, {"id": "s", "brief": "S", "worker": "south"}]}',
          ONE,
        ],
        ann: [book('N1'), 'N1', book('N2'), 'N2'],
        bob: [book('S1'), 'S1'],
        critic: [NO, YES],
      },
    });
    expect(report).toMatchObject({ code: 'SUCCESS' });
    expect([...made].sort()).toEqual(['N1 compensated', 'N2 committed', 'S1 committed']);
  });
});

describe('another try of one stage', () => {
  test('undoes this step, and leaves the steps before it', async () => {
    const { report, made } = await booked({
      staged: {
        tier: 'interactive',
        sop: [
          { id: 'flight', agent: 'ann' },
          { id: 'hotel', agent: 'bob', guards: [], output: { type: 'string', minLength: 5 } },
        ],
        validate: { agent: 'critic' },
        aggregate: {},
      },
      agents: {
        ann: [book('F1'), 'F1'],
        bob: [book('H1'), 'x', 'x', book('H2'), 'Hotel two.'],
        critic: [YES],
      },
    });
    expect(report).toMatchObject({ code: 'SUCCESS' });
    expect(only(report)).toEqual(['retry']);
    expect(made).toEqual(['F1 committed', 'H1 compensated', 'H2 committed']);
  });

  test('interactive: the critic says no, and the work is repeated', async () => {
    const { report, made } = await booked({
      staged: {
        tier: 'interactive',
        plan: { agent: 'planner' },
        workers: { agent: 'ann' },
        validate: { agent: 'critic' },
      },
      agents: { planner: [ONE], ann: [book('A'), 'A', book('B'), 'B'], critic: [NO, YES] },
    });
    expect(only(report)).toEqual(['retry']);
    expect(made).toEqual(['A compensated', 'B committed']);
  });

  test('interactive: a worker whose summary does not fit tries again, and the others keep theirs', async () => {
    const { report, made } = await booked({
      staged: {
        tier: 'interactive',
        plan: { agent: 'planner' },
        workers: { agents: ['ann', 'bob'], max: 1, output: { type: 'object', required: ['fact'] } },
      },
      agents: {
        planner: ['{"tasks": [{"id": "a", "brief": "A"}, {"id": "b", "brief": "B"}]}'],
        ann: [book('A1'), '{"fact": 1}'],
        bob: [book('B1'), 'no', 'no', book('B2'), '{"fact": 2}'],
      },
    });
    expect(report).toMatchObject({ code: 'SUCCESS' });
    expect(made).toEqual(['A1 committed', 'B1 compensated', 'B2 committed']);
  });

  test('a person grants the budget once more: tasks that were done are undone before they run again', async () => {
    const { report, made } = await booked({
      staged: {
        tier: 'regulated',
        plan: { agent: 'planner' },
        workers: { agent: 'ann', max: 1, budget: { model_calls: 3 } },
      },
      agents: {
        planner: ['{"tasks": [{"id": "a", "brief": "A"}, {"id": "b", "brief": "B"}]}'],
        ann: [book('A1'), 'A1', book('B1'), book('A2'), 'A2', 'B2'],
      },
      answers: [{ choice: 'approve' }],
    });
    expect(report).toMatchObject({ code: 'SUCCESS' });
    expect(made).toEqual(['A1 compensated', 'B1 compensated', 'A2 committed']);
  });
});

describe('approve', () => {
  test('takes the result as it is, so nothing is undone', async () => {
    const { report, made } = await booked({
      staged: { ...TWO_STEPS, tier: 'regulated', validate: { agent: 'critic' } },
      agents: { ann: [book('F1'), 'F1'], bob: ['no hotel'], critic: [NO] },
      answers: [{ choice: 'approve' }],
    });
    expect(report).toMatchObject({ code: 'SUCCESS' });
    expect(made).toEqual(['F1 committed']);
  });
});

describe('receipts in rules', () => {
  const once = [{ when: "size(receipts.filter(r, r.tool == 'book')) == 1", reason: 'one booking stands' }];
  test('have no booking that was undone by a new plan', async () => {
    const { report } = await booked({
      staged: { ...TWO_STEPS, validate: { agent: 'critic' }, oracle: once },
      agents: { ann: [book('F1'), 'F1', book('F2'), 'F2'], bob: ['no hotel'], critic: [NO, YES] },
    });
    expect(report).toMatchObject({ code: 'SUCCESS' });
  });

  test('have no booking of a task that failed', async () => {
    const { report, made } = await booked({
      staged: { plan: { agent: 'planner' }, workers: { agents: ['ann', 'bob'], max: 1 }, oracle: once },
      agents: {
        planner: ['{"tasks": [{"id": "a", "brief": "A"}, {"id": "b", "brief": "B"}]}'],
        ann: [book('A1'), ''],
        bob: [book('B1'), 'B1'],
      },
    });
    expect(made).toEqual(['A1 compensated', 'B1 committed']);
    expect(report).toMatchObject({ code: 'PARTIAL_SUCCESS' });
  });
});
