/** Time is a budget like the others: where somebody may grant more, its end is a question, and the run goes on from there. */
import { stopsAtDeadline } from '../../../kernel/src/ir/meters.ts';
import { describe, expect, test } from 'vitest';
import type { Script } from '../../../library/src/host/scripted/script.ts';
import { freezeState, thawState } from '@sluice-internal/engine/journal';
import { compileLoop, drive } from './drive.ts';

function doc(
  { people, ...escalation }: { readonly [key: string]: unknown } = { expansions: 2 },
  tools: object = { find: { effect: 'read' } },
) {
  return compileLoop({
    agents: [{ id: 'bot', tools: Object.keys(tools) }],
    tools,
    budgets: { wall_clock_seconds: 60 },
    ...(people === undefined ? {} : { boundary: { escalation: { people } } }),
    loop: { agent: 'bot', criteria: [{ when: 'true', reason: 'never' }], escalation },
  });
}
const call = { tools: [{ name: 'find', args: {} }], text: '' };
/** The second answer comes after the time is up. */
const SLOW: Script = {
  agents: { bot: [call, { delayMs: 90_000, text: 'late' }, 'done'] },
  tools: { find: [{ result: 1 }] },
};

describe('the time of a run is up', () => {
  test('it waits for a person, and nothing more is called', async () => {
    const { report, difference } = await drive(doc(), SLOW);
    expect(report).toMatchObject({ state: 'suspended', code: 'CONFIRM_REQUIRED', usage: { modelCalls: 2 } });
    expect(report.waiting).toMatchObject([
      {
        node: 'budget',
        message: 'More budget is needed: budgets.wall_clock_seconds is used up.',
        expiresAt: null,
        data: { escalation: { row: 'budget_reached' }, short: { meter: 'wall_clock', left: 0, needs: 60_000 } },
      },
    ]);
    expect(difference).toBeNull();
  });

  test('granted: the deadline moves, and the model that was cut off is asked again', async () => {
    const { report, read, difference } = await drive(doc(), SLOW, {
      answers: [{ choice: 'approve', edit: { wall_clock_seconds: 30 } }],
    });
    expect(report).toMatchObject({ state: 'completed', code: 'SUCCESS', output: 'done', usage: { modelCalls: 3 } });
    expect(read.events.find(({ type }) => type === 'meter.raised')).toMatchObject({
      raises: [{ meter: 'wall_clock', by: 30_000 }],
    });
    expect(read.state.deadline).toBe(read.state.startedAt + 90_000);
    expect(difference).toBeNull();
    expect(thawState(freezeState(read.state))).toEqual(read.state);
  });

  test('a yes without a number grants as much again', async () => {
    const { read } = await drive(doc(), SLOW, { answers: [{ choice: 'approve' }] });
    expect(read.state.deadline).toBe(read.state.startedAt + 120_000);
  });

  test('a yes that grants something else grants as much again too: otherwise it would be a no', async () => {
    const { read } = await drive(doc(), SLOW, { answers: [{ choice: 'approve', edit: { steps: 5 } }] });
    expect(read.state.deadline).toBe(read.state.startedAt + 120_000);
    expect(read.state.raised).toEqual({ steps: 5, wall_clock: 60_000 });
  });

  test('it is asked about again, as often as the document allows', async () => {
    const little = { choice: 'approve', edit: { wall_clock_seconds: 1 } };
    const script: Script = { ...SLOW, agents: { bot: [call, { delayMs: 90_000, text: 'late' }] } };
    const { report } = await drive(doc(), script, { answers: [little, little] });
    expect(report).toMatchObject({ state: 'failed', code: 'TIMEOUT', error: { type: 'TimeoutError' } });
  });

  test('refused: the run ends, and says that it was the time', async () => {
    const { report } = await drive(doc(), SLOW, { answers: [{ choice: 'reject' }] });
    expect(report).toMatchObject({
      state: 'failed',
      code: 'TIMEOUT',
      error: { class: 'timeout', message: 'budgets.wall_clock_seconds is used up' },
      escalation: { row: 'budget_reached' },
    });
  });

  test('what was granted runs out as well', async () => {
    const script: Script = { ...SLOW, agents: { bot: [call, { delayMs: 900_000, text: 'late' }] } };
    const { report } = await drive(doc(), script, {
      answers: [{ choice: 'approve' }, { choice: 'approve', edit: { wall_clock_seconds: 1 } }],
    });
    expect(report).toMatchObject({ state: 'failed', code: 'TIMEOUT' });
    expect(report.usage.wallClockSeconds).toBe(121);
  });

  test('more time can be granted before it is up, with anything else', async () => {
    const flow = compileLoop({
      agents: [{ id: 'bot', tools: ['find'] }],
      tools: { find: { effect: 'read' } },
      budgets: { wall_clock_seconds: 60, tool_calls: 1 },
      loop: { agent: 'bot', escalation: { expansions: 1 } },
    });
    const script: Script = { agents: { bot: [call, call, 'done'] }, tools: { find: [{ result: 1 }] } };
    const { report, read } = await drive(flow, script, {
      answers: [{ choice: 'approve', edit: { tool_calls: 1, wall_clock_seconds: 9.5 } }],
    });
    expect(report.code).toBe('SUCCESS');
    expect(read.state.deadline).toBe(read.state.startedAt + 69_500);
  });
});

describe('what is under way when the time is up', () => {
  test('a tool is cut off and not called again: its failure is what was observed', async () => {
    const script: Script = {
      agents: { bot: [call, 'done'] },
      tools: { find: [{ delayMs: 90_000, result: 1 }] },
    };
    const flow = doc({ expansions: 1 }, { find: { effect: 'read', timeout: 300 } });
    const { report, read } = await drive(flow, script, { answers: [{ choice: 'approve' }] });
    expect(report).toMatchObject({ code: 'SUCCESS', usage: { toolCalls: 1 } });
    expect(read.state.threads.get('0')?.slots['observations']).toMatchObject([
      { tool: 'find', ok: false, error: '`find` did not answer in time' },
    ]);
  });

  test('a question to a person stays open; the time that they take is not the run’s', async () => {
    const flow = doc({ expansions: 1 }, { save: { effect: 'write' } });
    const script: Script = {
      agents: { bot: [{ tools: [{ name: 'save', args: {} }], text: '' }, 'done'] },
      tools: { save: [{ result: 1 }] },
    };
    const { report } = await drive(flow, script);
    expect(report.waiting).toMatchObject([{ data: { tool: 'save' }, expiresAt: null }]);
  });
});

test.each([{ expansions: 0 }, { expansions: 2, people: false }])(
  'without anybody to ask, the end of time is the end: %o',
  async (escalation) => {
    const flow = doc(escalation);
    expect(stopsAtDeadline(flow)).toBe(true);
    const { report, read } = await drive(flow, SLOW);
    expect(report).toMatchObject({ state: 'failed', code: 'TIMEOUT' });
    expect(read.events.some(({ type }) => type === 'run.halted')).toBe(true);
  },
);
