/** A call with an unknown outcome is not repeated by `retry`, by a route back, or by a second try of the work around it. */
import { describe, expect, test } from 'vitest';
import type { Script } from '../../../library/src/host/scripted/script.ts';
import { play } from './play.ts';

const PAY = {
  effect: 'financial',
  timeout: 5,
  input: { type: 'object', properties: { to: { type: 'string' } } },
} as const;
const lost = { error: 'timeout', message: 'no answer' } as const;
const paid = { result: { paid: true } };

describe('a tool node', () => {
  const node = { id: 'pay', type: 'tool', tool: 'pay.send', params: { to: 'Ann' }, retry: { max_attempts: 3 } };
  const document = (pay: object = {}, more: object = {}, tools: object = {}) => ({
    tools: { 'pay.send': { ...PAY, ...pay }, ...tools },
    flow: { id: 'demo', entry: 'pay', nodes: [{ ...node, ...more }] },
  });
  const script = (more: Partial<Script> = {}): Script => ({ tools: { 'pay.send': [lost, paid] }, ...more });

  test('`retry` does not repeat it: a person is asked', async () => {
    const { report, dispatched } = await play(document(), script());
    expect(report).toMatchObject({ state: 'suspended', receipts: [{ tool: 'pay.send', status: 'unknown' }] });
    expect(report.waiting[0]?.message).toContain('may have happened');
    expect(dispatched).toEqual(['pay.send']);
  });

  test('approved: it is called again; rejected: the node fails', async () => {
    const yes = await play(document(), script({ approvals: { 'pay.send': 'approve' } }));
    expect(yes.report).toMatchObject({ code: 'SUCCESS', output: { paid: true } });
    expect(yes.report.receipts).toMatchObject([{ status: 'unknown' }, { status: 'committed', approvedBy: 'script' }]);
    const no = await play(document(), script({ approvals: { 'pay.send': 'reject' } }));
    expect(no.report).toMatchObject({ state: 'failed', error: { class: 'timeout' } });
    expect(no.dispatched).toEqual(['pay.send']);
  });

  test('a failure with an answer is still retried', async () => {
    const declined = { error: 'transient', message: 'card declined' } as const;
    const { report } = await play(document(), script({ tools: { 'pay.send': [declined, paid] } }));
    expect(report).toMatchObject({ code: 'SUCCESS', receipts: [{ status: 'committed' }], usage: { retries: 1 } });
  });

  test('an idempotent tool is retried under the same key', async () => {
    const { report, dispatched } = await play(document({ idempotent: true }), script());
    expect([report.code, dispatched]).toEqual(['SUCCESS', ['pay.send']]);
  });

  const find = { 'pay.find': { effect: 'read', input: PAY.input } };
  test.each([
    ['finds it: that is the result', { id: 7 }, ['pay.send', 'pay.find'], { id: 7 }],
    ['finds nothing: it is called again', { found: false }, ['pay.send', 'pay.find', 'pay.send'], { paid: true }],
  ])('`verify` %s', async (_, result, calls, output) => {
    const tools = { 'pay.send': [lost, paid], 'pay.find': [{ result }] };
    const { report, dispatched } = await play(document({ verify: 'pay.find' }, {}, find), script({ tools }));
    expect([report.code, dispatched, report.output]).toEqual(['SUCCESS', calls, output]);
  });

  test('without `retry`, the error route is taken; a route back to the node waits for a person', async () => {
    const { retry: _, ...once } = node;
    const back = {
      tools: { 'pay.send': PAY },
      flow: {
        id: 'demo',
        entry: 'pay',
        max_iterations: 6,
        nodes: [
          { ...once, on_error: [{ match: 'Timeout|no answer', to: 'wait' }] },
          { id: 'wait', type: 'wait', for: 1, routes: [{ to: 'pay' }] },
        ],
      },
    };
    const { report, dispatched } = await play(back, script());
    expect(report).toMatchObject({ state: 'suspended', path: ['pay', 'wait', 'pay'] });
    expect(dispatched).toEqual(['pay.send']);
  });
});

const pay = { text: '', tools: [{ name: 'pay.send', args: { to: 'Ann' } }] };
const broken = { error: 'fatal', message: 'model failed' } as const;
const TEAM = {
  tools: { 'pay.send': PAY },
  agents: [{ id: 'bot', tools: ['pay.send'], model: 'x' }],
  boundary: { tools: { allow: ['pay.send'] } },
};
const FLOW = {
  id: 'demo',
  entry: 'work',
  nodes: [{ id: 'work', type: 'agent', agent: 'bot', retry: { max_attempts: 3 } }],
};
const STEP = { name: 'work', agent: { name: 'bot' }, prompt: 'Pay Ann', error_mode: { retry: { max_retries: 2 } } };

/** The turn fails after the unknown outcome, and the work is tried again. */
describe('a second try of a turn', () => {
  const script: Script = { agents: { bot: [pay, broken, pay, 'Ann was paid.'] }, tools: { 'pay.send': [lost, paid] } };
  test.each([
    ['flow', { ...TEAM, flow: FLOW }],
    ['workflow', { ...TEAM, workflow: { id: 'demo', steps: [STEP] } }],
  ])('%s: the same call waits for a person', async (_, document) => {
    const { report, dispatched } = await play(document, script, { input: { message: 'Pay Ann' } });
    expect([report.state, dispatched]).toEqual(['suspended', ['pay.send']]);
  });
});

describe('a notation with turns of its own', () => {
  const bot = { Name: 'Bot', Instructions: 'Pay.', Plugins: ['pay.send'] };
  const team = (selection: object) => ({
    tools: { 'pay.send': PAY },
    boundary: { tools: { allow: ['pay.send'] } },
    Orchestration: { Agents: [bot, { Name: 'Ann', Instructions: 'Look on.' }], Selection: selection },
  });
  const twice: Script = {
    agents: { Bot: [pay, pay, 'It is not known whether Ann was paid.'], Ann: ['ok'] },
    tools: { 'pay.send': [lost, paid] },
  };
  test('Orchestration: the same call is not made again, and a person decides', async () => {
    const { report, dispatched } = await play(team({ Type: 'sequential' }), twice, { input: 'Pay Ann' });
    expect(dispatched).toEqual(['pay.send']);
    expect(report.receipts).toMatchObject([{ status: 'unknown' }]);
    expect(report.state).toBe('suspended');
  });

  test('loop', async () => {
    const loop = { ...TEAM, loop: { id: 'demo', agent: 'bot' } };
    const script: Script = { agents: { bot: [pay, pay, 'Unknown.'] }, tools: { 'pay.send': [lost, paid] } };
    const { report, dispatched } = await play(loop, script, { input: 'Pay Ann' });
    expect([report.state, dispatched]).toEqual(['suspended', ['pay.send']]);
  });

  const staged = (workers: object) => ({
    ...TEAM,
    agents: [...TEAM.agents, { id: 'planner' }],
    staged: { id: 'demo', tier: 'interactive', plan: { agent: 'planner' }, workers: { agent: 'bot', ...workers } },
  });
  const planner = ['{"tasks": [{"id": "a", "brief": "Pay Ann."}]}'];
  test('staged: a worker that fails after it is tried again, and its call waits for a person', async () => {
    const agents = { planner, bot: [pay, broken, pay, 'Ann was paid.'] };
    const { report, dispatched } = await play(
      staged({}),
      { agents, tools: { 'pay.send': [lost, paid] } },
      { input: 'Pay Ann' },
    );
    expect(dispatched).toEqual(['pay.send']);
    expect(report.receipts).toMatchObject([{ status: 'unknown' }]);
  });

  test('staged: a worker that ran out of time does not call again', async () => {
    const agents = { planner, bot: [pay, pay, 'Ann was paid.'] };
    const tools = { 'pay.send': [{ delayMs: 4000, ...paid }, paid] };
    const { report, dispatched } = await play(staged({ timeout: 2 }), { agents, tools }, { input: 'Pay Ann' });
    expect(dispatched).toEqual(['pay.send']);
    expect(report.receipts).toMatchObject([{ status: 'unknown' }]);
  });
});

/** The time of the work runs out while the call is under way. */
describe('work that ran out of time', () => {
  const script: Script = {
    agents: { bot: [pay, pay, 'Ann was paid.'] },
    tools: { 'pay.send': [{ delayMs: 4000, ...paid }, paid] },
  };
  test.each([
    ['flow', { ...TEAM, flow: { ...FLOW, nodes: [{ ...FLOW.nodes[0], timeout: 2 }] } }],
    ['workflow', { ...TEAM, workflow: { id: 'demo', steps: [{ ...STEP, timeout_secs: 2 }] } }],
  ])('%s: is not tried again, and the receipt says that the outcome is unknown', async (_, document) => {
    const { report, dispatched } = await play(document, script, { input: { message: 'Pay Ann' } });
    expect([report.state, dispatched]).toEqual(['failed', ['pay.send']]);
    expect(report.receipts).toMatchObject([{ tool: 'pay.send', status: 'unknown' }]);
  });
});
