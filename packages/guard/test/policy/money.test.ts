/** Money is written, compared and spoken of in dollars: no limit is a hair smaller than it was written, and no message counts millionths. */
import { describe, expect, test } from 'vitest';
import { compileLoop, drive } from '../../../notations/test/loop/drive.ts';
import { play } from './play.ts';

const TOOLS = { look: { effect: 'read', input: { type: 'object' }, cost: 0.005 } };
const call = { text: '', tools: [{ name: 'look', args: {} }] };

describe('a flow', () => {
  const flow = (budgets: object, budget: object = {}) => ({
    budgets,
    tools: TOOLS,
    agents: [{ id: 'bot', tools: ['look'], budget }],
    flow: { id: 'demo', entry: 'work', nodes: [{ id: 'work', type: 'agent', agent: 'bot' }] },
  });
  const script = { agents: { bot: [call, call, 'done'] }, tools: { look: [{ result: 1 }] } };

  test('says what is left and what is needed', async () => {
    const { report } = await play(flow({ cost_usd: 0.003 }), script);
    expect(report.error).toMatchObject({ message: 'budgets.cost_usd has $0.003 left, and $0.005 is needed' });
  });

  test('and of one agent alone', async () => {
    const { report } = await play(flow({}, { cost_usd: 0.003 }), script);
    expect(report.error).toMatchObject({ message: 'bot.budget.cost_usd has $0.003 left, and $0.005 is needed' });
  });

  test.each([0.002005, 0.002006, 0.002007, 1.1, 4.35, 0.29])('a limit of %d is that limit', async (limit) => {
    const { flow: compiled } = await play(flow({ cost_usd: limit }, { cost_usd: limit }), {
      agents: { bot: ['done'] },
    });
    const limits = Object.values(compiled.meters).filter(({ unit }) => unit === 'costMicros');
    expect(limits.map(({ max }) => (max ?? 0) / 1_000_000)).toEqual([limit, limit]);
  });

  test.each([0.002005, 0.001001, 0.000129])('a call of %d fits into a budget of as much', async (cost) => {
    const document = { ...flow({ cost_usd: cost }), tools: { look: { ...TOOLS.look, cost } } };
    const { report } = await play(document, { agents: { bot: [call, 'done'] }, tools: script.tools });
    expect(report.code).toBe('SUCCESS');
  });
});

describe('a loop', () => {
  const loop = (budgets: object, escalation: object = {}) =>
    compileLoop({
      budgets,
      tools: TOOLS,
      agents: [{ id: 'bot', tools: ['look'] }],
      loop: { agent: 'bot', ...escalation },
    });
  const script = { agents: { bot: [call, call, 'done'] }, tools: { look: [{ result: 1 }] } };

  test('says what is left and what is needed', async () => {
    const { report } = await drive(loop({ cost_usd: 0.003 }), script);
    expect(report.error).toMatchObject({ message: 'budgets.cost_usd has $0.003 left, and $0.005 is needed' });
  });

  test('asks for more in dollars, and what is granted is what was said', async () => {
    const asks = loop({ cost_usd: 0.003 }, { escalation: { expansions: 1 } });
    const { report: waiting } = await drive(asks, script);
    expect(waiting.waiting[0]?.message).toBe(
      'More budget is needed: budgets.cost_usd has $0.003 left, and $0.005 is needed.',
    );
    const once = { ...script, agents: { bot: [call, 'done'] } };
    const { report, read, difference } = await drive(asks, once, {
      answers: [{ choice: 'approve', edit: { cost_usd: 0.002005 } }],
    });
    expect(report.code).toBe('SUCCESS');
    expect(read.state.raised).toEqual({ 'budget.costMicros': 2005 });
    expect(difference).toBeNull();
  });

  test('an immense grant is taken too', async () => {
    const asks = loop({ cost_usd: 0.003 }, { escalation: { expansions: 1 } });
    const { report } = await drive(asks, script, { answers: [{ choice: 'approve', edit: { cost_usd: 1e30 } }] });
    expect(report.code).toBe('SUCCESS');
  });
});
