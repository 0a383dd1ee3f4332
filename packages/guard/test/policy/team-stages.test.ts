/** A call that an agent of a team proposes passes the stages that it passes in every other notation; about money, messages and infrastructure a person is asked. */
import { describe, expect, test } from 'vitest';
import { play } from './play.ts';

const PAY = {
  effect: 'financial',
  input: { type: 'object', properties: { amount: { type: 'number', maximum: 100 } }, required: ['amount'] },
};
const LOOK = { effect: 'read', input: { type: 'object', properties: { q: { type: 'string' } }, required: ['q'] } };
const RESTART = { effect: 'infrastructure', input: { type: 'object', properties: {} } };
const NOTE = { effect: 'write' };

type Sections = { readonly tools?: object } & { readonly [section: string]: unknown };

function doc({ tools = {}, ...sections }: Sections = {}): object {
  const all = { 'pay.pay': PAY, 'web.look': LOOK, 'infra.restart': RESTART, 'notes.add': NOTE, ...tools };
  return {
    tools: all,
    boundary: { tools: { allow: ['pay.pay', 'infra.restart'] } },
    ...sections,
    Orchestration: {
      Agents: [
        { Name: 'Ann', Instructions: 'Begin.' },
        { Name: 'Bot', Instructions: 'Work.', Plugins: Object.keys(all) },
      ],
    },
  };
}

function script(...calls: { name: string; args: unknown }[]) {
  return {
    agents: { Ann: ['begun'], Bot: [...calls.map((call) => ({ text: '', tools: [call as never] })), 'done'] },
    tools: {
      'pay.pay': [{ result: { paid: false } }],
      'web.look': [{ result: 'found' }],
      'infra.restart': [{ result: { ok: true } }],
      'notes.add': [{ result: { ok: false } }],
    },
  };
}
const pay = (amount: unknown) => ({ name: 'pay.pay', args: { amount } });

describe('each stage is an event', () => {
  test.each(['pay.pay', 'infra.restart', 'notes.add'])(
    '%s is called without anybody being asked if the boundary allows it',
    async (name) => {
      const { events, report, dispatched } = await play(doc(), script({ name, args: { amount: 3 } }));
      expect(report.code).toBe('SUCCESS');
      expect(dispatched).toEqual([name]);
      const judged = events.flatMap((event) => (event.type === 'call.judged' ? event.controls : []));
      expect(judged.map(([control]) => control)).toEqual(expect.arrayContaining(['arguments', 'budget']));
      expect(judged.filter(([, verdict]) => verdict !== 'pass')).toEqual([]);
    },
  );

  test('the boundary that it was called under is part of the flow', async () => {
    const { flow } = await play(doc({ boundary: {} }), script(pay(3)));
    expect(flow.boundaries?.['Bot']?.tools).toMatchObject({ approve: ['pay.pay', 'infra.restart'], deny: [] });
  });
});

describe('arguments', () => {
  test.each([[{}], [{ amount: 5000 }], [{ amount: 'much' }]])(
    '%j is not dispatched and costs nothing',
    async (args) => {
      const { dispatched, report, flow } = await play(doc(), script({ name: 'pay.pay', args }));
      expect(flow.notation).toBe('orchestration');
      expect(dispatched).toEqual([]);
      expect(report).toMatchObject({ code: 'SUCCESS', output: 'done', usage: { toolCalls: 0 } });
    },
  );

  const strict = { boundary: { escalation: { malformed: 'fail' } } };
  test('told as often as it takes, where nothing that is written says otherwise', async () => {
    const calls = [1, 2, 3].map(() => ({ name: 'web.look', args: {} }));
    const { report, dispatched } = await play(doc(), script(...calls, pay(1000), pay(1001), pay(1002)));
    expect(report).toMatchObject({ code: 'SUCCESS', output: 'done', usage: { toolCalls: 0 } });
    expect(dispatched).toEqual([]);
  });

  test('or repaired twice at most: then a person is asked for the missing data', async () => {
    const calls = [1, 2, 3].map(() => ({ name: 'web.look', args: {} }));
    const { report, dispatched } = await play(doc(strict), script(...calls));
    expect(report).toMatchObject({ state: 'suspended', code: 'MISSING_INFO' });
    expect(dispatched).toEqual([]);
  });

  test('or the run ends, where nothing is missing but what is there is wrong', async () => {
    const { report } = await play(doc(strict), script(pay(1000), pay(1001), pay(1002)));
    expect(report).toMatchObject({ state: 'failed', code: 'VALIDATION_FAIL', output: 'begun' });
  });
});

describe('what is refused', () => {
  const forbid = (tool: string) => ({
    policies: { p: `permit(principal, action, resource); forbid(principal, action == Action::"${tool}", resource);` },
  });
  test.each<[string, object, { name: string; args: object }, string]>([
    ['a policy about money', forbid('pay.pay'), pay(3), 'PERMISSION_DENIED'],
    ['a policy about a note', forbid('notes.add'), { name: 'notes.add', args: {} }, 'SUCCESS'],
    [
      'a boundary about infrastructure',
      { boundary: { tools: { deny: ['infra.*'] } } },
      { name: 'infra.restart', args: {} },
      'PERMISSION_DENIED',
    ],
    [
      'a boundary that tells',
      { boundary: { tools: { deny: ['infra.*'] }, escalation: { denied: 'tell' } } },
      { name: 'infra.restart', args: {} },
      'SUCCESS',
    ],
  ])('%s', async (_, sections, call, code) => {
    const { report, dispatched } = await play(doc({ ...sections }), script(call));
    expect(dispatched).toEqual([]);
    expect(report.code).toBe(code);
    expect(report.output).toBe(code === 'SUCCESS' ? 'done' : 'begun');
  });
});

describe('what came back is not what it should be', () => {
  test.each([
    ['pay.pay', 'result.paid == true', 'VALIDATION_FAIL'],
    ['notes.add', 'result.ok == true', 'SUCCESS'],
  ])('%s', async (name, verify, code) => {
    const tools = { [name]: { ...(name === 'pay.pay' ? PAY : NOTE), verify } };
    const { report, dispatched } = await play(doc({ tools }), script({ name, args: { amount: 3 } }));
    expect(dispatched).toEqual([name]);
    expect(report.code).toBe(code);
  });
});
