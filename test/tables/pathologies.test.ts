/** Failure modes that no other test shows whole: what keeps them from happening, or ends them. */
import { describe, expect, test } from 'vitest';
import { compileLoop, drive } from '../../packages/notations/test/loop/drive.ts';
import { play } from '../../packages/guard/test/policy/play.ts';

const call = (name: string, n = 1) => ({ text: '', tools: [{ name, args: { n } }] });

test('a costly lookup waits where a free one runs §pathologies/tool-overreach', async () => {
  const document = {
    tools: { free: { effect: 'read' }, paid: { effect: 'read', cost: 0.5 } },
    agents: [{ id: 'bot', tools: ['free', 'paid'] }],
    boundary: 'research',
    loop: { agent: 'bot' },
  };
  const { report, dispatched } = await play(
    document,
    { agents: { bot: [call('free'), call('paid'), 'done'] }, tools: { free: [{ result: 1 }], paid: [{ result: 2 }] } },
    { input: 'go' },
  );
  expect([report.code, dispatched]).toEqual(['CONFIRM_REQUIRED', ['free']]);
});

test('branches that wait without an end are stopped by their join §pathologies/coordination-failure', async () => {
  const flow = {
    id: 'demo',
    entry: 'both',
    nodes: [
      { id: 'both', type: 'parallel', branches: [{ to: 'quick' }, { to: 'stuck' }], join: { type: 'all', timeout: 5 } },
      { id: 'quick', type: 'agent', agent: 'bot' },
      { id: 'stuck', type: 'approval', message: 'Go on?' },
    ],
  };
  const { report } = await play({ agents: [{ id: 'bot' }], flow }, { agents: { bot: ['done'] } });
  expect(report).toMatchObject({ state: 'failed', code: 'TIMEOUT', waiting: [] });
});

describe('retries', () => {
  const document = {
    agents: [{ id: 'bot', tools: ['find'] }],
    tools: { find: { effect: 'read' } },
    loop: { agent: 'bot' },
  };

  test('are spaced, capped, and each is an event §controls/retry-storm', async () => {
    const { read, report } = await drive(compileLoop(document), {
      agents: { bot: [{ error: 'transient', message: '503' }] },
    });
    const again = read.events.flatMap((event) =>
      event.type === 'effect.judged' && event.verdict === 'retry' ? [event] : [],
    );
    expect([report.code, again.length, report.usage.retries]).toEqual(['REPEATED_FAILURE', 2, 2]);
    expect(again.every(({ notBefore, at }) => notBefore >= at && notBefore - at <= 30_000)).toBe(true);
    expect(again.some(({ notBefore, at }) => notBefore > at)).toBe(true);
  });

  test('of a call that changes something are not made: it is told instead §pathologies/idempotency-failure', async () => {
    const saving = { ...document, tools: { find: { effect: 'write' } }, boundary: { tools: { allow: ['*'] } } };
    const { read, report } = await drive(compileLoop(saving), {
      agents: { bot: [call('find'), 'it did not work'] },
      tools: { find: [{ error: 'transient', message: '503' }] },
    });
    expect([report.code, report.usage.toolCalls, report.usage.retries]).toEqual(['SUCCESS', 1, 0]);
    expect(read.state.threads.get('0')?.slots['observations']).toMatchObject([{ ok: false, error: '503' }]);
  });
});

test('nothing runs after the final answer, also if the model would call more tools §pathologies/refusal-to-stop', async () => {
  const flow = compileLoop({
    agents: [{ id: 'bot', tools: ['find'] }],
    tools: { find: { effect: 'read' } },
    loop: { agent: 'bot' },
  });
  const { report, read } = await drive(flow, {
    agents: { bot: ['it is 7', call('find'), 'it is 8'] },
    tools: { find: [{ result: 8 }] },
  });
  expect(report).toMatchObject({ code: 'SUCCESS', output: 'it is 7', usage: { modelCalls: 2, toolCalls: 0 } });
  expect(read.events.at(-1)?.type).toBe('run.ended');
});
