/** Names in a report are names that an author knows: whose error it is, who asks, and what somebody agreed to. */
import { describe, expect, test } from 'vitest';
import { compileLoop, drive } from './drive.ts';

const call = (name: string, n = 1) => ({ tools: [{ name, args: { n } }], text: '' });
const broken = { error: 'fatal', message: 'no' } as const;
const flow = (more: { readonly tools?: object; readonly loop?: object; readonly [section: string]: unknown } = {}) =>
  compileLoop({
    agents: [{ id: 'boss' }, { id: 'bot', tools: ['find', 'put'] }, { id: 'judge' }],
    budgets: { tool_calls: 9 },
    ...more,
    tools: { find: { effect: 'read', ...more.tools }, put: { effect: 'write' } },
    loop: { id: 'demo', agent: 'bot', ...more.loop },
  });
const nodeOf = async (...args: Parameters<typeof drive>) => (await drive(...args)).report.error?.node;

describe('whose error it is', () => {
  test('of a turn, and of a call in it: the agent', async () => {
    expect(await nodeOf(flow(), { agents: { bot: [broken] } })).toBe('bot');
    const closed = { boundary: { fail_closed: [{ what: 'never', when: 'true', code: 'UNSAFE_DETECTION' }] } };
    expect(await nodeOf(flow(closed), { agents: { bot: [call('find')] } })).toBe('bot');
    const strict = flow({ tools: { verify: 'result == 1' }, boundary: { escalation: { unverified: 'fail' } } });
    const script = { agents: { bot: [call('find')] }, tools: { find: [{ result: 2 }] } };
    const { report } = await drive(strict, script);
    expect(report.error).toMatchObject({
      node: 'bot',
      message: expect.stringContaining('the result of `find` was not'),
    });
  });

  test('of the planner: its own', async () => {
    const planned = compileLoop({
      agents: [{ id: 'boss' }, { id: 'bot' }],
      loop: { planner: 'boss', executor: 'bot' },
    });
    expect(await nodeOf(planned, { agents: { boss: [broken] } })).toBe('boss');
  });

  test('of a check of the loop: the loop', async () => {
    const script = { agents: { bot: ['fine'] } };
    const validate = (when: string) => flow({ loop: { criteria: [{ when, reason: 'no' }] } });
    expect(await nodeOf(validate('false'), script)).toBe('demo');
    expect(await nodeOf(validate('answer + 1 > 2'), script)).toBe('demo');
    expect(await nodeOf(flow({ budgets: { wall_clock_seconds: 0 } }), script)).toBe('demo');
  });

  test('of a budget: the agent that has it', async () => {
    const script = { agents: { bot: [call('find', 1), call('find', 2)] }, tools: { find: [{ result: 1 }] } };
    expect(await nodeOf(flow({ budgets: { tool_calls: 1 } }), script)).toBe('demo');
    const own = { agents: [{ id: 'bot', tools: ['find'], budget: { tool_calls: 1 } }] };
    expect(await nodeOf(flow(own), script)).toBe('bot');
  });
});

test('answers about calls are kept by tool, each of them', async () => {
  const script = {
    agents: { bot: [call('put', 1), call('put', 2), call('put', 3), 'fine'] },
    tools: { put: [{ result: 1 }] },
    approvals: { bot: ['approve', 'reject', 'approve'] },
  };
  const { report, difference } = await drive(flow(), script);
  expect(report.approvals).toEqual({ put: 'approve', 'put (2)': 'reject', 'put (3)': 'approve' });
  expect(report.path).toEqual(['bot', 'bot', 'bot', 'bot']);
  expect(difference).toBeNull();
});

test('the agent that proposes a call is the one who asks', async () => {
  const { report } = await drive(flow(), { agents: { bot: [call('put')] } });
  expect(report.waiting[0]).toMatchObject({ node: 'bot', message: 'bot wants to call put.' });
});
