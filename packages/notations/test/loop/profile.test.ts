/** `profile` of a loop: the five of the page are boundaries, three of them budgets too, and a limit beside it loosens nothing. */
import { describe, expect, test } from 'vitest';
import { compileLoop, drive } from './drive.ts';

const document = (profile: string, more: object = {}): object => ({
  agents: [{ id: 'bot', tools: ['svc.restart'] }],
  tools: { 'svc.restart': { effect: 'infrastructure' } },
  loop: { agent: 'bot', profile },
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

  test.each(['support', 'procurement'])('%s brings no budgets but those of a loop without a profile', (profile) => {
    const { clock, meters } = compileLoop(document(profile));
    expect(clock).toBeUndefined();
    expect(meters['steps']).toMatchObject({ max: 50 });
    expect(Object.keys(meters).filter((name) => name.startsWith('budget.'))).toEqual(['budget.reflections']);
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

  test('a boundary of the document that names none keeps it: a rejection still ends an incident run', async () => {
    const flow = compileLoop(document('sre', { budgets: { side_effects: 1 }, boundary: { approval_timeout: 60 } }));
    const { report, difference } = await drive(flow, SCRIPT);
    expect(report).toMatchObject({ state: 'failed', usage: { toolCalls: 0 } });
    expect(difference).toBeNull();
  });

  test('a boundary that names another one has its way', () => {
    const flow = compileLoop(document('sre', { boundary: 'coding' }));
    expect(flow.boundaries?.['bot']).toMatchObject({ profile: 'coding' });
  });
});
