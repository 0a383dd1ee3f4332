/** What compression keeps and what it drops, by what the agent is told before and after it. */
import { describe, expect, test } from 'vitest';
import { compileLoop, drive } from '../../packages/notations/test/loop/drive.ts';
import type { Driven } from '../../packages/notations/test/loop/drive.ts';

const LONG = 'fact '.repeat(300);
const call = (name: string, n: number, text = '') => ({ tools: [{ name, args: { n } }], text });
const steps = (...ids: string[]) =>
  JSON.stringify({
    steps: ids.map((id, at) => ({ id, do: `do ${id}`, tool: 'find', ...(at > 0 ? { after: [ids[at - 1]] } : {}) })),
  });

function documentOf(loop: object): object {
  return {
    agents: [{ id: 'boss' }, { id: 'bot', tools: ['find', 'save'] }],
    tools: { find: { effect: 'read' }, save: { effect: 'write' } },
    budgets: { tool_calls: 9 },
    loop: { criteria: ['names the total'], compression: { window: 1500 }, ...loop },
  };
}

/** The prompt before and the one after the talk was dropped. */
function around(driven: Driven): { readonly before: string; readonly after: string } {
  const at = driven.prompts.findIndex((prompt) => prompt.includes('\nOpen: '));
  expect(driven.read.events.some((event) => 'node' in event && event.node === 'context_compression')).toBe(true);
  expect(at).toBeGreaterThan(0);
  return { before: driven.prompts[at - 1] ?? '', after: driven.prompts[at] ?? '' };
}

const planned = () =>
  drive(compileLoop(documentOf({ planner: 'boss', executor: 'bot' })), {
    agents: {
      boss: ['a plan that is no JSON', steps('gather', 'report')],
      bot: [
        call('find', 1, 'a draft: maybe 98. I suppose it is 99'),
        call('find', 2),
        call('find', 3),
        'all gathered',
        'the total is 3',
      ],
    },
    tools: { find: [{ result: LONG }] },
  });

describe('after the talk was dropped, the agent is told', () => {
  test.each([
    ['the goal', 'Goal: what is it?'],
    ['the criteria', '- names the total'],
  ])('%s §keep/goal-and-acceptance-criteria', async (_, words) => {
    expect(around(await planned()).after).toContain(words);
  });

  test('the plan, what is finished, and what to do now §keep/plan-and-dependency-state', async () => {
    const { after } = around(await planned());
    expect(after).toMatch(/Plan:\n- open gather: do gather\n- open report: do report/);
    expect(after).toContain('Do now: do gather');
  });

  test('what was observed, with its outcome §keep/verified-observations', async () => {
    expect(around(await planned()).after).toMatch(/<data from="find">\n\[\S+\] find \{"n":\d\} succeeded: fact fact/);
  });

  test('its ids, which stay those of the journal §keep/ids-and-trace-pointers', async () => {
    const driven = await planned();
    const seen = driven.read.state.threads.get('0')?.slots['observations'] as unknown as readonly { id: string }[];
    const { after } = around(driven);
    expect(seen.slice(0, 2).every(({ id }) => after.includes(`[${id}]`))).toBe(true);
  });

  test('the budget §keep/budget-state', async () => {
    expect(around(await planned()).after).toContain('Budget: {"steps":50,"reflections":2,"tool_calls":9}');
  });

  test('what is open: a failure that has not been mended §keep/open-questions', async () => {
    const driven = await drive(compileLoop(documentOf({ agent: 'bot' })), {
      agents: { bot: [call('find', 1), call('find', 2), 'the total is 3'] },
      tools: { find: [{ result: LONG }, { error: 'fatal', message: `no such thing ${LONG}` }] },
    });
    expect(around(driven).after).toMatch(/Open: find: no such thing/);
    expect(around(driven).after).toContain('repairs 1');
  });

  test('nothing that lets it past a gate: what was rejected stays rejected §keep/escalation-and-approval-state', async () => {
    const driven = await drive(compileLoop(documentOf({ agent: 'bot' })), {
      agents: { bot: [call('save', 1), call('find', 1), call('find', 2), call('save', 1), 'the total is 3'] },
      tools: { find: [{ result: LONG }], save: [{ result: 1 }] },
      approvals: { save: 'reject' },
    });
    around(driven);
    const asked = driven.read.events.filter((event) => event.type === 'effect.requested' && event.kind === 'ask');
    expect([asked.length, driven.report.usage.sideEffects]).toEqual([1, 0]);
  });
});

describe('after the talk was dropped, the agent is no longer told', () => {
  test('what it drafted §drop/raw-deliberation-drafts', async () => {
    const { before, after } = around(await planned());
    expect([before.includes('a draft: maybe 98'), after.includes('a draft')]).toEqual([true, false]);
  });

  test('what it assumed without support §drop/unsupported-assumptions', async () => {
    const { before, after } = around(await planned());
    expect([before.includes('I suppose it is 99'), after.includes('I suppose')]).toEqual([true, false]);
  });

  test('a plan that was replaced §drop/failed-plans', async () => {
    const { prompts } = await planned();
    expect(prompts[1]).toContain('The last plan is not valid');
    expect(around(await planned()).after).not.toContain('a plan that is no JSON');
  });

  test('results a second time: equal ones are shown once, in full §drop/redundant-tool-outputs', async () => {
    const { before, after } = around(await planned());
    const facts = (text: string): number => text.split('fact ').length - 1;
    expect(facts(before)).toBeGreaterThanOrEqual(300);
    expect(facts(after)).toBe(300);
  });

  test('why an earlier answer was sent back §drop/reflection-chatter', async () => {
    const flow = compileLoop(
      documentOf({ agent: 'bot', criteria: [{ when: 'answer.contains("3")', reason: 'too hasty' }] }),
    );
    const driven = await drive(flow, {
      agents: { bot: ['x', call('find', 1), call('find', 2), call('find', 3), 'the total is 3'] },
      tools: { find: [{ result: LONG }] },
    });
    const { before, after } = around(driven);
    expect([before.includes('too hasty'), after.includes('too hasty')]).toEqual([true, false]);
  });
});
