/** `engine.fork`: the clock of a fork, what it undoes, and what it leaves to its parent. */
import { expect, test } from 'vitest';
import { createEngine, openMemory } from '../../src/index.ts';
import type { ChainedEvent, Engine, Store } from '../../src/index.ts';
import { compiled } from '../harness.ts';

const SAGA = compiled({
  tools: {
    'pay.do': { effect: 'financial', compensate: 'pay.undo', timeout: 5 },
    'pay.undo': { effect: 'financial' },
    'mail.send': { effect: 'communication' },
  },
  flow: {
    id: 'saga',
    entry: 'pay',
    nodes: [
      { id: 'pay', type: 'tool', tool: 'pay.do', params: { n: 1 }, routes: [{ to: 'gate' }] },
      { id: 'gate', type: 'approval', message: 'send?', choices: ['yes', 'no'], routes: [{ to: 'send' }] },
      { id: 'send', type: 'tool', tool: 'mail.send', params: { to: '{{pay.result.to}}' } },
    ],
  },
});

function engineOn(journal: Store, calls: string[]): Engine {
  return createEngine({
    journal,
    pickUp: false,
    performer: {
      perform: async ({ command, idempotencyKey }) => {
        calls.push(`${command.name} ${JSON.stringify(command.input['args'])} ${idempotencyKey}`);
        return { ok: true, value: { to: 'ann' } };
      },
    },
  });
}

async function eventsOf(engine: Engine, run: string): Promise<readonly ChainedEvent[]> {
  const events: ChainedEvent[] = [];
  for await (const event of engine.events(run, { live: false })) events.push(event);
  return events;
}

test('a cancelled fork undoes nothing of its parent, and the parent still can', async () => {
  const calls: string[] = [];
  await using engine = engineOn(openMemory(), calls);
  const parent = await engine.run(SAGA, {});
  await parent.waiting();
  const asked = (await eventsOf(engine, parent.id)).at(-1)?.seq ?? 0;
  const fork = await engine.fork(parent.id, { at: asked, by: 'ann' });
  expect(await fork.waiting()).toMatchObject([{ node: 'gate', run: fork.id }]);
  await fork.cancel({ by: 'ann' });
  expect(await engine.settled(fork.id)).toMatchObject({ code: 'USER_CANCEL', parent: { run: parent.id, seq: asked } });
  expect(calls.map((call) => call.split(' ')[0])).toEqual(['pay.do']);
  await parent.cancel({ by: 'ann' });
  await engine.settled(parent.id);
  expect(calls.map((call) => call.split(' ')[0])).toEqual(['pay.do', 'pay.undo']);
});

test('an effect that was open is made again under its own key, with its full time', async () => {
  const calls: string[] = [];
  await using engine = engineOn(openMemory(), calls);
  const parent = await engine.run(SAGA, {});
  await parent.waiting();
  const open = (await eventsOf(engine, parent.id)).find(({ type }) => type === 'effect.requested')?.seq ?? 0;
  // Longer than the timeout of the tool: the clock of the fork stands still meanwhile.
  const late = Date.now() + 60_000;
  const { promise, resolve } = Promise.withResolvers<void>();
  const now = Date.now;
  Date.now = () => late;
  try {
    const fork = await engine.fork(parent.id, { at: open });
    await fork.waiting();
    const usage = (await fork.report()).usage.wallClockSeconds;
    expect(usage).toBeLessThan(5);
    resolve();
  } finally {
    Date.now = now;
  }
  await promise;
  expect(calls.map((call) => call.split(' ')[0])).toEqual(['pay.do', 'pay.do']);
  expect(new Set(calls).size).toBe(2);
});

test('two forks under one id: one wins', async () => {
  await using engine = engineOn(openMemory(), []);
  const parent = await engine.run(SAGA, {});
  await parent.waiting();
  const results = await Promise.allSettled([1, 2].map(() => engine.fork(parent.id, { at: 1, run: 'f' })));
  expect(results.map(({ status }) => status).sort()).toEqual(['fulfilled', 'rejected']);
});

test('edits reach every branch, and `input` also the copies of it', async () => {
  const flow = compiled({
    tools: { 't.a': {}, 't.b': {} },
    flow: {
      id: 'p',
      entry: 'both',
      nodes: [
        { id: 'both', type: 'parallel', branches: [{ to: 'a' }, { to: 'b' }], routes: [{ to: 'done' }] },
        { id: 'a', type: 'tool', tool: 't.a', params: { q: '{{event.payload.q}}' }, routes: [{ to: 'end' }] },
        { id: 'b', type: 'tool', tool: 't.b', params: { q: '{{event.payload.q}}' }, routes: [{ to: 'end' }] },
        { id: 'done', type: 'terminal', output: { ok: true } },
      ],
    },
  });
  const calls: string[] = [];
  await using engine = engineOn(openMemory(), calls);
  const parent = await engine.run(flow, { q: 'old' });
  await parent.result();
  const at = (await eventsOf(engine, parent.id)).find(({ type }) => type === 'thread.forked')?.seq ?? 0;
  await (await engine.fork(parent.id, { at, set: { input: { q: 'new' } } })).result();
  expect(calls.map((call) => call.split(' ').slice(0, 2).join(' ')).slice(2)).toEqual([
    't.a {"q":"new"}',
    't.b {"q":"new"}',
  ]);
});
