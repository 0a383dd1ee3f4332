/** What a single agent may use of steps and of time holds for it alone, in every notation. */
import { describe, expect, test } from 'vitest';
import type { Script } from '../../../library/src/host/scripted/script.ts';
import { compile } from '../../../library/src/compile.ts';
import { compileLoop, drive } from '../../../notations/test/loop/drive.ts';
import { play } from './play.ts';

const LOOK = { effect: 'read', input: { type: 'object' } };
const slow = (seconds: number, text = 'said') => ({ delayMs: seconds * 1000, text });

describe('steps', () => {
  const flow = (budget: object, tools: readonly string[] = []) => ({
    tools: { look: LOOK },
    agents: [{ id: 'bot', budget, tools }, { id: 'other' }],
    flow: {
      id: 'demo',
      entry: 'a',
      max_iterations: 20,
      nodes: [
        { id: 'a', type: 'agent', agent: 'bot', routes: [{ to: 'b' }] },
        { id: 'b', type: 'agent', agent: 'other', routes: [{ when: "b.output != 'stop'", to: 'a' }] },
      ],
    },
  });

  test.each([[[]], [['look']]])('the turn too many does not begin, tools %j', async (tools) => {
    const { report } = await play(flow({ steps: 2 }, tools), { agents: { bot: ['x'], other: ['y'] } });
    expect(report).toMatchObject({
      state: 'failed',
      code: 'BUDGET_EXHAUSTED',
      path: ['a', 'b', 'a', 'b'],
      error: { message: 'bot.budget.steps has 0 left, and 1 is needed' },
    });
  });

  test('what an agent calls in a turn is no step of its own', async () => {
    const call = { text: '', tools: [{ name: 'look', args: {} }] };
    const { report } = await play(flow({ steps: 1 }, ['look']), {
      agents: { bot: [call, call, 'x'], other: ['stop'] },
      tools: { look: [{ result: 1 }] },
    });
    expect([report.code, report.usage.modelCalls]).toEqual(['SUCCESS', 4]);
  });

  test('the boundary of an agent may say so as well, and the tighter one holds', async () => {
    const document = flow({ steps: 5 });
    const agents = [{ ...document.agents[0], budget: { steps: 1 } }, document.agents[1]];
    const { report } = await play({ ...document, agents }, { agents: { bot: ['x'], other: ['y'] } });
    expect([report.code, report.path]).toEqual(['BUDGET_EXHAUSTED', ['a', 'b']]);
  });

  test('there is no warning any more', () => {
    const { diagnostics } = compile(flow({ steps: 2, wall_clock_seconds: 3 }));
    expect(diagnostics.map(({ code }) => code)).not.toContain('not-enforced');
  });
});

describe('time', () => {
  const line = (more: object = {}) => ({
    tools: { look: LOOK, save: { effect: 'write', input: { type: 'object' } } },
    agents: [{ id: 'bot', budget: { wall_clock_seconds: 10 }, tools: ['look', 'save'] }, { id: 'other' }],
    flow: {
      id: 'demo',
      entry: 'a',
      nodes: [
        { id: 'a', type: 'agent', agent: 'bot', routes: [{ to: 'b' }] },
        { id: 'b', type: 'agent', agent: 'other', routes: [{ to: 'c' }] },
        { id: 'c', type: 'agent', agent: 'bot', ...more },
        ...('on_error' in more ? [{ id: 'rescue', type: 'terminal', output: 'rescued' }] : []),
      ],
    },
  });

  test('is counted over all turns, and cut off where it ends', async () => {
    const { report } = await play(line(), { agents: { bot: [slow(6)], other: [slow(60)] } });
    expect(report).toMatchObject({ state: 'failed', code: 'TIMEOUT', path: ['a', 'b', 'c'] });
    expect(report.usage.wallClockSeconds).toBe(70);
  });

  test('that is enough is enough', async () => {
    const { report } = await play(line(), { agents: { bot: [slow(4.9)], other: [slow(60)] } });
    expect(report.code).toBe('SUCCESS');
  });

  test('that ran out can be caught like any other failure', async () => {
    const { report } = await play(line({ on_error: [{ match: 'TimeoutError', to: 'rescue' }] }), {
      agents: { bot: [slow(6)], other: ['x'] },
    });
    expect([report.code, report.output]).toEqual(['SUCCESS', 'rescued']);
  });

  test('that tools take is the agent’s', async () => {
    const call = { text: '', tools: [{ name: 'look', args: {} }] };
    const { report, dispatched } = await play(line(), {
      agents: { bot: [call, call, 'x'], other: ['x'] },
      tools: { look: [{ delayMs: 6000, result: 1 }] },
    });
    expect([report.code, dispatched.length]).toEqual(['TIMEOUT', 2]);
    expect(report.error?.message).toContain('bot.budget.wall_clock_seconds');
  });

  test('that calls take at once is counted once', async () => {
    const both = {
      agents: [{ id: 'bot', budget: { wall_clock_seconds: 10 } }],
      flow: {
        id: 'demo',
        entry: 'all',
        nodes: [
          { id: 'all', type: 'parallel', branches: [{ to: 'a' }, { to: 'b' }] },
          { id: 'a', type: 'agent', agent: 'bot' },
          { id: 'b', type: 'agent', agent: 'bot' },
        ],
      },
    };
    expect((await play(both, { agents: { bot: [slow(9)] } })).report.code).toBe('SUCCESS');
    expect((await play(both, { agents: { bot: [slow(9), slow(11)] } })).report.code).toBe('TIMEOUT');
  });

  test('that a person takes counts for no agent', async () => {
    const call = { text: '', tools: [{ name: 'save', args: {} }] };
    const document = { ...line(), boundary: { approval_timeout: 3600 } };
    const { report } = await play(document, {
      agents: { bot: [call, slow(4), slow(4)], other: ['x'] },
      tools: { save: [{ result: 1 }] },
      approvals: { save: { expires: true } },
    });
    expect(report.code).toBe('SUCCESS');
    expect(report.usage.wallClockSeconds).toBe(8);
  });
});

describe('in a loop', () => {
  const document = (budget: object) =>
    compileLoop({
      agents: [{ id: 'bot', tools: ['look'], budget }],
      tools: { look: LOOK },
      loop: { agent: 'bot', escalation: { expansions: 1 } },
    });
  const call = { text: '', tools: [{ name: 'look', args: {} }] };

  test('an agent’s steps can be granted, to it alone', async () => {
    const script: Script = { agents: { bot: [call, call, 'x'] }, tools: { look: [{ result: 1 }] } };
    const waiting = await drive(document({ steps: 2 }), script);
    expect(waiting.report.waiting[0]?.message).toBe(
      'More budget is needed: bot.budget.steps has 0 left, and 1 is needed.',
    );
    const { report, read, difference } = await drive(document({ steps: 2 }), script, {
      answers: [{ choice: 'approve' }],
    });
    expect(report.code).toBe('SUCCESS');
    expect(read.state.raised).toEqual({ 'steps@bot': 1 });
    expect(difference).toBeNull();
  });

  test('and so can its time', async () => {
    const script: Script = { agents: { bot: [call, slow(20), 'x'] }, tools: { look: [{ result: 1 }] } };
    const { report, read, difference } = await drive(document({ wall_clock_seconds: 10 }), script, {
      answers: [{ choice: 'approve', edit: { wall_clock_seconds: 5 } }],
    });
    expect([report.code, report.output]).toEqual(['SUCCESS', 'x']);
    expect(read.state.raised).toEqual({ 'time@bot': 5000 });
    expect(difference).toBeNull();
  });

  test('or it ends under the code of time', async () => {
    const script: Script = { agents: { bot: [slow(20)] } };
    const { report } = await drive(document({ wall_clock_seconds: 10 }), script, { answers: [{ choice: 'reject' }] });
    expect(report).toMatchObject({
      code: 'TIMEOUT',
      error: { message: 'bot.budget.wall_clock_seconds is used up' },
    });
  });
});
