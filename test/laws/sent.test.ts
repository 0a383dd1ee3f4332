/**
 * Nothing that was not sent is undone, counted or shown. The world keeps its own list of calls, which is compared with receipts, usage
 * and undos, in the notations in which an agent or a node calls tools.
 */
import { describe, expect, test } from 'vitest';
import { openMemory } from '@sluice-internal/engine/memory';
import { createVirtualClock } from '@sluice-internal/engine/ports';
import { policyPerformer } from '@sluice-internal/guard/policy';
import { createRuntime } from '@sluice-internal/engine/worker';
import type { ChainedEvent, Report } from '@sluice-internal/engine/ports';
import type { Settled } from '@sluice-internal/kernel/ir';
import { compile } from '../../packages/library/src/compile.ts';
import { scriptedPerformer } from '../../packages/library/src/host/scripted/performer.ts';
import type { Script } from '../../packages/library/src/host/scripted/script.ts';

const TOOLS = {
  'pay.send': {
    effect: 'write',
    input: { type: 'object', properties: { to: { type: 'string' } } },
    compensate: 'pay.reverse',
  },
  'pay.reverse': { effect: 'write' },
};
const ALLOWED = { boundary: { tools: { allow: ['pay.send', 'pay.reverse'] } } };
const ASKED = { boundary: { tools: { approve: ['pay.send'] } } };
const AGENTS = [{ id: 'bot', tools: ['pay.send'] }];

interface Ran {
  readonly report: Report;
  readonly events: readonly ChainedEvent[];
  /** Tool calls as the world saw them, by key. */
  readonly world: readonly { readonly key: string; readonly name: string }[];
}

/** `together`: the replies of two agents arrive in the same turn. */
async function run(document: object, script: Script, cancelAt?: number, together = false): Promise<Ran> {
  const { flow, diagnostics } = compile({ tools: TOOLS, agents: AGENTS, ...document });
  if (flow === undefined) throw new Error(JSON.stringify(diagnostics));
  const inner = scriptedPerformer(script, policyPerformer());
  const world: { key: string; name: string }[] = [];
  const replies: Promise<Settled>[] = [];
  let release = (): void => {};
  const both = new Promise<void>((resolve) => (release = resolve));
  const clock = createVirtualClock();
  const engine = createRuntime({
    store: openMemory(),
    clock,
    pickUp: false,
    performer: {
      ...inner,
      perform: (call) => {
        const { kind, key, name } = call.command;
        if (kind === 'tool') world.push({ key, name });
        if (kind !== 'model' || !together) return inner.perform(call);
        replies.push(inner.perform(call));
        if (replies.length === 2) release();
        const own = replies.length - 1;
        return both.then(() => Promise.allSettled(replies)).then(() => replies[own] as Promise<Settled>);
      },
    },
  });
  try {
    const id = await engine.start(flow, { input: 'go', seed: 1 });
    if (cancelAt !== undefined) {
      await clock.sleep(cancelAt);
      await engine.cancel(id, 'ann');
    }
    const report = await engine.settled(id);
    const events: ChainedEvent[] = [];
    for await (const event of engine.events(id)) events.push(event);
    return { report, events, world };
  } finally {
    await engine.close();
  }
}

function checkWorld({ report, events, world }: Ran): void {
  const sent = new Set(world.map(({ key }) => key));
  const undone = events.flatMap((event) => (event.type === 'undo.requested' ? [event.undoes] : []));
  expect(undone.filter((key) => !sent.has(key))).toEqual([]);
  const paid = world.filter(({ name }) => name === 'pay.send');
  const reversed = world.filter(({ name }) => name === 'pay.reverse');
  expect(report.receipts.filter(({ tool }) => tool === 'pay.send')).toHaveLength(paid.length);
  expect(report.usage).toMatchObject({ toolCalls: paid.length, undoCalls: reversed.length });
  expect(reversed.length).toBeLessThanOrEqual(paid.length);
}

const pay = (to: string) => ({ name: 'pay.send', args: { to } });
const three = { text: '', tools: [pay('a'), pay('b'), pay('c')] };
const one = { text: '', tools: [pay('a')] };
const never = { error: 'fatal', message: 'broken' } as const;

describe.each([
  ['flow', { flow: { id: 'f', entry: 'work', nodes: [{ id: 'work', type: 'agent', agent: 'bot' }] } }],
  ['workflow', { workflow: { steps: [{ name: 'work', agent_name: 'bot' }] } }],
  ['loop', { loop: { agent: 'bot' } }],
] as const)('the calls of one reply in %s', (_, document) => {
  test.each([0, 1, 2])('L7: a budget of %d fits some of three', async (most) => {
    const ran = await run(
      { ...document, ...ALLOWED, budgets: { tool_calls: most } },
      { agents: { bot: [three, 'done'] }, tools: { 'pay.send': [{ result: {} }], 'pay.reverse': [{ result: {} }] } },
    );
    checkWorld(ran);
  });

  test('L7: one of three approvals is rejected', async () => {
    const ran = await run(
      { ...document, ...ASKED },
      {
        agents: { bot: [three, 'done'] },
        tools: { 'pay.send': [{ result: {} }], 'pay.reverse': [{ result: {} }] },
        approvals: { 'pay.send': ['approve', 'reject', 'approve'] },
      },
    );
    checkWorld(ran);
  });

  test('L7: the run is cancelled while a call is under way', async () => {
    const ran = await run(
      { ...document, ...ALLOWED },
      {
        agents: { bot: [one, 'done'] },
        tools: { 'pay.send': [{ result: {}, delayMs: 9_000 }], 'pay.reverse': [{ result: {} }] },
      },
      1_000,
    );
    expect(ran.report.code).toBe('USER_CANCEL');
    checkWorld(ran);
    expect(ran.world.map(({ name }) => name)).toEqual(['pay.send', 'pay.reverse']);
  });
});

describe('branches', () => {
  const node = (id: string, to: string) => ({
    ...{ id, type: 'tool', tool: 'pay.send', params: { to: id } },
    routes: [{ to }],
  });
  const flow = (join: object) => ({
    ...ALLOWED,
    agents: [{ id: 'l' }, { id: 'r' }],
    flow: {
      id: 'f',
      entry: 'split',
      nodes: [
        {
          id: 'split',
          type: 'parallel',
          branches: [{ to: 'left' }, { to: 'right' }],
          routes: [{ to: 'end' }],
          ...join,
        },
        { id: 'left', type: 'agent', agent: 'l', routes: [{ to: 'refund' }] },
        node('refund', 'end'),
        { id: 'right', type: 'agent', agent: 'r', routes: [{ to: 'end' }] },
      ],
    },
  });

  test.each([
    ['any', { join: { type: 'any' } }, 'ok'],
    ['first', { join: { type: 'first' } }, 'ok'],
    ['count', { join: { type: 'count', count: 1 } }, 'ok'],
    ['count, and a sibling fails', { join: { type: 'count', count: 2 } }, never],
  ] as const)('L7: join %s: a refund that was never paid is not charged back', async (_, join, right) => {
    const answers: string[] = [];
    for (const together of [true, false]) {
      const reply = { ...(typeof right === 'string' ? { text: right } : right), delayMs: 10 };
      const script = {
        agents: { l: [{ text: 'go', delayMs: 5 }], r: [reply] },
        tools: { 'pay.send': [{ result: {}, delayMs: 100 }], 'pay.reverse': [{ result: {} }] },
      };
      const ran = await run(flow(join), script, undefined, together);
      checkWorld(ran);
      for (const event of ran.events) if (event.type === 'drop.answered') answers.push(event.sent);
    }
    // The refund was once dropped before it was sent, and once while it was under way.
    expect(answers).toContain('no');
    expect(answers).toContain('yes');
  });
});
