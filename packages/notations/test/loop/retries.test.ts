/** A budget says how often a call is repeated, a profile how many attempts it has; the budget comes first. */
import { describe, expect, test } from 'vitest';
import { compileLoop, drive } from './drive.ts';

async function after(failures: number, profile: string | null, retries?: number) {
  const flow = compileLoop({
    agents: [{ id: 'bot' }],
    ...(retries === undefined ? {} : { budgets: { retries } }),
    ...(profile === null ? {} : { boundary: { profile } }),
    loop: { agent: 'bot', criteria: [{ when: 'true', reason: 'never' }] },
  });
  const down = { error: 'transient', message: '503' } as const;
  const { report } = await drive(flow, { agents: { bot: [...Array.from({ length: failures }, () => down), 'fine'] } });
  return [report.code, report.usage.modelCalls];
}

describe('retries', () => {
  test.each([
    ['a profile', 'sre', undefined, 1],
    ['another profile', 'research', undefined, 2],
    ['the largest profile', 'coding', undefined, 4],
    ['a budget', null, 2, 2],
    ['a larger budget', null, 5, 5],
    ['a budget above that of the profile', 'sre', 5, 5],
    ['a budget below that of the profile', 'coding', 1, 1],
    ['a budget of none', 'coding', 0, 0],
    ['neither', null, undefined, 2],
  ])('by %s', async (_, profile, retries, times) => {
    expect(await after(times, profile, retries)).toEqual(['SUCCESS', times + 1]);
    const [code, calls] = await after(times + 1, profile, retries);
    expect([code, calls]).toEqual([times === 0 ? 'UNAVAILABLE_DEP' : 'REPEATED_FAILURE', times + 1]);
  });
});
