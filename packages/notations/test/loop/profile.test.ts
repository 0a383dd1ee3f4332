/** The profile of the boundary gives a loop its budgets, and a limit beside it loosens nothing. */
import { describe, expect, test } from 'vitest';
import { compileLoop, drive } from './drive.ts';

const document = (profile: string, more: object = {}): object => ({
  agents: [{ id: 'bot', tools: ['svc.restart'] }],
  tools: { 'svc.restart': { effect: 'infrastructure' } },
  boundary: { profile },
  loop: { agent: 'bot' },
  ...more,
});
const SCRIPT = {
  agents: { bot: [{ tools: [{ name: 'svc.restart', args: { service: 'api' } }], text: '' }, 'Nothing was restarted.'] },
  tools: { 'svc.restart': [{ result: true }] },
  approvals: { 'svc.restart': 'reject' },
};

describe('the profile of a loop', () => {
  test.each(['research', 'coding', 'support', 'procurement', 'sre'])('%s is its boundary', (profile) => {
    expect(compileLoop(document(profile)).boundaries?.['bot']).toMatchObject({ profile });
  });

  test.each([
    ['research', 30, 0],
    ['coding', 50, 2],
    ['support', 20, 5],
    ['procurement', 40, 5],
    ['sre', 15, 0],
  ])('%s brings budgets', (profile, calls, effects) => {
    const { meters } = compileLoop(document(profile));
    expect([meters['budget.toolCalls']?.max, meters['budget.sideEffects']?.max]).toEqual([calls, effects]);
  });

  test('its output tokens limit a reply of a reasoning model, also beside a budget in dollars', () => {
    const models = { mini: { provider: 'openai', model: 'gpt-5-mini', price: { input: 0.25, output: 2 } } };
    const limit = (agent: object, budgets: object): unknown => {
      const agents = [{ id: 'bot', model: 'mini', ...agent }];
      return compileLoop(document('research', { models, agents, budgets })).agents['bot']?.maxOutputTokens;
    };
    expect(limit({}, {})).toBe(7_500);
    expect(limit({}, { cost_usd: 0.5 })).toBe(7_500);
    expect(limit({}, { cost_usd: 0.5, output_tokens: 40_000 })).toBe(10_000);
    expect(limit({ max_output_tokens: 20_000 }, { cost_usd: 0.5 })).toBe(20_000);
  });

  test('a rejection still ends an incident run', async () => {
    const flow = compileLoop(
      document('sre', { budgets: { side_effects: 1 }, boundary: { profile: 'sre', approval_timeout: 60 } }),
    );
    const { report, difference } = await drive(flow, SCRIPT);
    expect(report).toMatchObject({ state: 'failed', usage: { toolCalls: 0 } });
    expect(difference).toBeNull();
  });
});
