/** Everything has a maximum, and a run whose state breaks an invariant ends with a named error. */
import { describe, expect, test } from 'vitest';
import { createVirtualClock } from '@sluice-internal/engine/ports';
import type { Performer } from '@sluice-internal/engine/ports';
import { readRun } from '@sluice-internal/engine/journal';
import { storyOf } from '@sluice-internal/engine/report';
import { createRuntime } from '@sluice-internal/engine/worker';
import { LIMITS, TURN_EVENTS } from '@sluice-internal/kernel/ir';
import { compile, createEngine, openMemory, replay } from '@sluice-internal/library';
import type { CompiledFlow, Store } from '@sluice-internal/library';
import { flowOf } from '../protections/run-flow.ts';

/** Calls a tool again and again. */
const loop = (visits: number, effect = 'read') =>
  flowOf({
    tools: { 'my.tool': { effect, ...(effect === 'read' ? {} : { compensate: 'my.undo' }) }, 'my.undo': { effect } },
    flow: {
      id: 'again',
      entry: 'a',
      max_iterations: visits,
      nodes: [
        {
          id: 'a',
          type: 'tool',
          tool: 'my.tool',
          routes: [
            { when: "a.result != 'stop'", to: 'a' },
            { when: 'default', to: 'end' },
          ],
        },
      ],
    },
  });

async function typesOf(store: Store, run: string): Promise<readonly string[]> {
  const engine = createEngine({ journal: store, pickUp: false });
  const types: string[] = [];
  for await (const { type } of engine.events(run, { live: false })) types.push(type);
  return types;
}

describe('the events of a run', () => {
  test('a warning, then a named end, and its effects are undone', async () => {
    const store = openMemory();
    const undone: string[] = [];
    let calls = 0;
    const engine = createEngine({
      journal: store,
      limits: { events: 100 },
      tools: {
        'my.tool': async () => String(++calls),
        'my.undo': async (_, { result }) => void undone.push(String(result)),
      },
    });
    const report = await engine.settled(await engine.start(loop(5000, 'write')));
    expect(report).toMatchObject({
      state: 'failed',
      code: 'BUDGET_EXHAUSTED',
      error: { class: 'budget', type: 'RunLimitError', message: expect.stringContaining('a run may have 100') },
    });
    expect(calls).toBeLessThan(100);
    expect(undone.length).toBeGreaterThanOrEqual(calls - 1);
    const types = await typesOf(store, report.run);
    expect(types.filter((type) => type === 'limit.met')).toHaveLength(2);
    expect(types.at(-1)).toBe('run.ended');
    expect(await replay(store.journal, report.run)).toMatchObject({ agrees: true });
    const told = storyOf(await readRun(store.journal, report.run)).filter(({ type }) => type === 'run.limited');
    expect(told).toMatchObject([
      { limit: 'events', max: 100, ends: false },
      { limit: 'events', max: 100, ends: true },
    ]);
    await engine.close();
  });

  test('a turn with very many events is stored in parts', { timeout: 60_000 }, async () => {
    const store = openMemory();
    const appends: number[] = [];
    const { commit } = store.journal;
    const journal = {
      ...store.journal,
      commit: async (...given: Parameters<typeof commit>) => {
        appends.push(...given[1].map(({ count }) => count));
        return commit.apply(store.journal, given);
      },
    };
    const flow = flowOf({
      flow: {
        id: 'turns',
        entry: 'a',
        max_iterations: 8000,
        nodes: [
          {
            id: 'a',
            type: 'set',
            values: { n: '{{has(a.n) ? a.n + 1 : 1}}' },
            routes: [
              { when: 'a.n < 7000', to: 'a' },
              { when: 'default', to: 'end' },
            ],
          },
        ],
      },
    });
    const engine = createEngine({ journal: { ...store, journal }, limits: { events: 50_000 } });
    const report = await engine.settled(await engine.start(flow));
    expect(report).toMatchObject({ state: 'completed' });
    expect(appends.length).toBeGreaterThan(1);
    expect(Math.max(...appends)).toBeLessThan(TURN_EVENTS + 10);
    expect(await replay(store.journal, report.run)).toMatchObject({ agrees: true });
    await engine.close();
  });
});

test('the bytes of the large values of a run', async () => {
  const store = openMemory();
  let calls = 0;
  const engine = createEngine({
    journal: store,
    limits: { bytes: 1_000_000 },
    tools: { 'my.tool': async () => `${++calls}${'x'.repeat(100_000)}` },
  });
  const report = await engine.settled(await engine.start(loop(5000)));
  expect(report).toMatchObject({ code: 'BUDGET_EXHAUSTED', error: { type: 'RunLimitError' } });
  expect(report.error?.message).toContain('a run may have 1000000');
  expect(calls).toBeLessThan(15);
  await engine.close();
});

test('the open questions of a run', { timeout: 60_000 }, async () => {
  const { flow, diagnostics } = compile({
    flow: {
      id: 'ask',
      entry: 'all',
      nodes: [
        { id: 'all', type: 'map', over: '{{event.payload.items}}', do: 'ask', width: 1000, on_item_error: 'collect' },
        { id: 'ask', type: 'approval', message: 'Go on?' },
      ],
    },
  });
  expect(diagnostics).toEqual([]);
  const store = openMemory();
  const engine = createEngine({ journal: store });
  const items = Array.from({ length: LIMITS.openQuestions + 3 }, (_, index) => index);
  const run = await engine.start(flow as CompiledFlow, { input: { items } });
  const report = await engine.settled(run);
  expect(report.waiting).toHaveLength(LIMITS.openQuestions);
  await engine.close();
});

test('the runs of a process, and what it takes from a caller', async () => {
  const store = openMemory();
  const waits = createEngine({
    journal: store,
    limits: { runs: 2 },
    tools: { 'my.tool': async () => new Promise(() => {}) },
  });
  await waits.start(loop(5), { run: 'one' });
  await waits.start(loop(5), { run: 'two' });
  await expect(waits.start(loop(5), { run: 'three' })).rejects.toMatchObject({ code: 'too-many-runs' });
  expect((await store.index.list({})).items.map(({ run }) => run).toSorted()).toEqual(['one', 'two']);
  const large = { text: 'x'.repeat(LIMITS.input) };
  const other = createEngine({ journal: openMemory(), tools: { 'my.tool': async () => 'stop' } });
  await expect(other.start(loop(5), { run: 'big', input: large })).rejects.toMatchObject({ code: 'value-too-large' });
  await expect(other.get('big')).rejects.toMatchObject({ code: 'run-not-found' });
  await other.close();
  expect(() => createEngine({ journal: openMemory(), limits: { events: LIMITS.runEvents + 1 } })).toThrow(
    /`limits.events` is not a whole number from 1 to/,
  );
});

test('a reply of a model function', async () => {
  const flow = flowOf({
    agents: [{ id: 'bot', instructions: 'Answer.' }],
    flow: { id: 'f', entry: 'a', nodes: [{ id: 'a', type: 'agent', agent: 'bot' }] },
  });
  const engine = createEngine({ journal: openMemory(), model: () => 'x'.repeat(LIMITS.response + 1) });
  expect(await engine.settled(await engine.start(flow))).toMatchObject({ error: { type: 'TooLargeError' } });
  await engine.close();
});

describe('the tool calls of a reply', () => {
  const flow = () =>
    flowOf({
      agents: [{ id: 'bot', instructions: 'Answer.', tools: ['my.tool'] }],
      tools: { 'my.tool': { effect: 'read' } },
      flow: { id: 'f', entry: 'a', nodes: [{ id: 'a', type: 'agent', agent: 'bot' }] },
    });
  const reply = (calls: number) => ({
    text: '',
    toolCalls: Array.from({ length: calls }, (_, index) => ({ name: 'my.tool', args: { index } })),
  });

  test('100,000 calls are refused before any of them is made; the second time the run fails', async () => {
    const store = openMemory();
    let made = 0;
    const asked: string[] = [];
    const engine = createEngine({
      journal: store,
      model: ({ messages }) => {
        asked.push(messages.map(({ content }) => content).join('\n'));
        return reply(asked.length === 1 ? 100_000 : LIMITS.replyCalls + 1);
      },
      tools: { 'my.tool': () => ++made },
    });
    const report = await engine.settled(await engine.start(flow()));
    expect(report).toMatchObject({ code: 'VALIDATION_FAIL', error: { type: 'TooManyCallsError', class: 'semantic' } });
    expect(report.error?.message).toContain('the reply has 129 tool calls, and a reply may have 128');
    expect([made, asked.length]).toEqual([0, 2]);
    expect(asked[1]).toContain('This reply does not fit: the reply has 100000 tool calls');
    expect(asked[1]?.length).toBeLessThan(1000);
    expect(await replay(store.journal, report.run)).toMatchObject({ agrees: true });
    await engine.close();
  });

  test('a reply that was repaired is used, and 128 calls are made', async () => {
    let made = 0;
    const replies = [reply(LIMITS.replyCalls + 1), reply(LIMITS.replyCalls), 'Done.'];
    const engine = createEngine({
      journal: openMemory(),
      model: () => replies.shift() ?? 'Done.',
      tools: { 'my.tool': () => ++made },
    });
    const report = await engine.settled(await engine.start(flow()));
    expect(report).toMatchObject({ code: 'SUCCESS' });
    expect(made).toBe(LIMITS.replyCalls);
    await engine.close();
  });
});

describe('a broken invariant', () => {
  /** The compiler refuses such a graph. Its second node leads to a node that does not exist. */
  function broken(effect: string): CompiledFlow {
    const flow = structuredClone(
      flowOf({
        tools: { 'my.tool': { effect } },
        flow: {
          id: 'broken',
          entry: 'a',
          nodes: [
            { id: 'a', type: 'tool', tool: 'my.tool', routes: [{ to: 'b' }] },
            { id: 'b', type: 'set', values: { x: 'y' }, routes: [{ to: 'end' }] },
          ],
        },
      }),
    ) as unknown as { nodes: { [id: string]: { next?: string } } };
    for (const node of Object.values(flow.nodes)) if (node.next === 'b') node.next = 'nowhere';
    return flow as unknown as CompiledFlow;
  }

  test.for([
    ['read', 'UNAVAILABLE_DEP'],
    ['write', 'REVIEW_REQUIRED'],
  ] as const)('after a %s the run ends with %s, and others go on', async ([effect, code]) => {
    const store = openMemory();
    const notices: string[] = [];
    const perform: Performer['perform'] = async () => ({ ok: true, value: 'stop' });
    const faults: Error[] = [];
    const engine = createRuntime({
      store,
      clock: createVirtualClock(0),
      performer: { perform },
      onNotice: (text) => notices.push(text),
      onFault: (error) => faults.push(error),
    });
    const run = await engine.start(broken(effect));
    const report = await engine.settled(run);
    expect(report).toMatchObject({ state: 'failed', code, error: { class: 'fatal', type: 'InvariantError' } });
    expect(report.error?.message).toContain('the state of the run is inconsistent');
    expect(await store.index.find(run)).toMatchObject({ status: 'failed', code });
    expect(notices.join()).toContain(`run \`${run}\` was stopped, because its state is inconsistent`);
    expect(faults).toEqual([]);
    expect(await engine.settled(await engine.start(loop(5)))).toMatchObject({ code: 'SUCCESS' });
    await engine.close();
  });
});
