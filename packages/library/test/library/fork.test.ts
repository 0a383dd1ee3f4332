/** `engine.fork`: the clock of a fork, what it undoes, and what it leaves to its parent. */
import { describe, expect, onTestFinished, test } from 'vitest';
import { createEngine, openMemory, replay } from '../../src/index.ts';
import type { Json, Store } from '../../src/index.ts';
import { compiled } from '../../../../test/support/harness.ts';
import { engineOn, eventsOf } from './fork-kit.ts';

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

test('a fork shows the effects before it as inherited: its parent can still undo them', async () => {
  await using engine = engineOn(openMemory(), []);
  const parent = await engine.run(SAGA, {});
  await parent.waiting();
  const asked = (await eventsOf(engine, parent.id)).at(-1)?.seq ?? 0;
  const fork = await engine.fork(parent.id, { at: asked, by: 'ann', answers: { gate: { choice: 'yes' } } });
  await engine.settled(fork.id);
  await parent.cancel({ by: 'ann' });
  const { receipts: own } = await engine.settled(parent.id);
  expect(own).toMatchObject([{ tool: 'pay.do', status: 'compensated' }]);
  expect(own[0]).not.toHaveProperty('inherited');
  const { receipts } = await fork.report();
  expect(receipts).toMatchObject([{ tool: 'pay.do', status: 'committed', inherited: true }, { tool: 'mail.send' }]);
  expect(receipts[1]).not.toHaveProperty('inherited');
});

test('a run that undoes work before it repeats it is not forked there', async () => {
  const flow = compiled({
    tools: { 'pay.do': { effect: 'financial', compensate: 'pay.undo' }, 'pay.undo': { effect: 'financial' } },
    agents: [{ id: 'ann', tools: ['pay.do'] }, { id: 'critic' }],
    boundary: { tools: { allow: ['pay.do'] }, untrusted: 'off' },
    staged: { sop: [{ id: 'pay', agent: 'ann' }], validate: { agent: 'critic' } },
  });
  const script = {
    agents: {
      ann: [{ tools: [{ name: 'pay.do', args: { n: 1 } }] }, 'paid'],
      critic: ['{"ok": false, "problem": "wrong"}', '{"ok": true}'],
    },
    tools: { 'pay.do': [{ result: 1 }], 'pay.undo': [{ result: 1 }] },
  };
  await using engine = createEngine({ journal: openMemory(), script });
  const { run } = await engine.settled(await engine.start(flow, { input: 'Pay.' }));
  const undo = (await eventsOf(engine, run)).find(({ type }) => type === 'undo.requested');
  await expect(engine.fork(run, { at: undo?.seq ?? 0, by: 'ann' })).rejects.toMatchObject({
    code: 'bad-fork',
    message: expect.stringContaining('is undoing calls') as unknown,
  });
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

describe('an edit of a result', () => {
  const sorted = compiled({
    agents: [{ id: 'sorter' }, { id: 'writer' }],
    flow: {
      id: 'sorted',
      entry: 'sort',
      nodes: [
        {
          ...{ id: 'sort', type: 'agent', agent: 'sorter' },
          routes: [{ when: "kind == 'refund'", to: 'refund' }, { to: 'end' }],
        },
        { id: 'refund', type: 'agent', agent: 'writer', routes: [{ when: "kind == 'refund'", to: 'sort2' }] },
        { id: 'sort2', type: 'agent', agent: 'sorter' },
      ],
    },
  });
  const script = { agents: { sorter: ['{"kind": "refund"}'], writer: ['{"kind": "refund"}'] } };

  async function forkAfter(node: string, set: { readonly [name: string]: Json }) {
    await using engine = createEngine({ journal: openMemory(), script });
    const { run } = await engine.settled(await engine.start(sorted, { input: {} }));
    const written = (await eventsOf(engine, run)).find(
      (event) => event.type === 'slots.written' && event.node === node,
    );
    const { path, output } = await engine.settled((await engine.fork(run, { at: written?.seq ?? 0, set })).id);
    return { path, output };
  }

  test('reaches the routes that name a field of the latest output, and the output of the run', async () => {
    const expected = { path: ['sort'], output: { kind: 'other' } };
    expect(await forkAfter('sort', { 'sort.output': { kind: 'other' } })).toEqual(expected);
    expect(await forkAfter('sort', { 'sort.output.kind': 'other' })).toEqual(expected);
  });

  test('leaves the output of a later agent as it is', async () => {
    const { path } = await forkAfter('refund', { 'sort.output': { kind: 'other' } });
    expect(path).toEqual(['sort', 'refund', 'sort2']);
  });

  test('of a workflow step changes nothing that a later step wrote', async () => {
    const flow = compiled({
      name: 'w',
      steps: [
        { name: 'one', agent_name: 'a', output_var: 'first' },
        { name: 'two', agent_name: 'b' },
        { name: 'three', agent_name: 'c', prompt: '{{first}} {{input}}' },
      ],
    });
    const replies = { agents: { a: ['A'], b: ['B'], c: [{ when: "input == 'X B'", text: 'right' }, 'wrong'] } };
    await using engine = createEngine({ journal: openMemory(), script: replies });
    const { run } = await engine.settled(await engine.start(flow, { input: 'go' }));
    const events = await eventsOf(engine, run);
    const after = (node: string): number =>
      events.find((event) => event.type === 'slots.written' && event.node === node)?.seq ?? 0;
    const fork = await engine.fork(run, { at: after('two'), set: { 'one.output': 'X' } });
    expect(await engine.settled(fork.id)).toMatchObject({ output: 'right' });
    await expect(engine.fork(run, { at: after('three'), set: { 'two.output': 'X' } })).rejects.toMatchObject({
      code: 'unknown-slot',
      message: `\`two.output\` was replaced at event ${after('three')}`,
    });
    await expect(engine.fork(run, { at: after('one'), set: { 'two.output': 'X' } })).rejects.toMatchObject({
      code: 'unknown-slot',
      help: `The run wrote it with event ${after('two')}. Fork there or later.`,
    });
  });
});

const GATED = compiled({
  flow: {
    id: 'gated',
    entry: 'gate',
    nodes: [
      {
        ...{ id: 'gate', type: 'approval', message: 'go?', choices: ['yes', 'no'] },
        routes: [{ when: "approvals.gate == 'yes'", to: 'go' }, { to: 'second' }],
      },
      { id: 'second', type: 'approval', message: 'sure?', choices: ['yes', 'no'], routes: [{ to: 'end' }] },
      { id: 'go', type: 'set', values: { done: '{{true}}' } },
    ],
  },
});

test('what a person decided cannot be set in a fork, only answered', async () => {
  await using engine = engineOn(openMemory(), []);
  const run = await engine.run(GATED, {});
  const [question] = await run.waiting();
  await engine.answer(question?.id ?? '', { choice: 'no', by: 'ann' });
  const at = (await eventsOf(engine, run.id)).at(-1)?.seq ?? 0;
  const edits: readonly [string, Json][] = [
    ['approvals.gate', 'yes'],
    ['approvals', { gate: 'yes' }],
    ['approvals.gate.choice', 'yes'],
  ];
  for (const [slot, value] of edits)
    await expect(engine.fork(run.id, { at, set: { [slot]: value } })).rejects.toMatchObject({
      code: 'bad-fork',
      message: expect.stringContaining('only a person can give'),
      help: expect.stringContaining('--answer gate=CHOICE'),
    });
  expect(await engine.list()).toHaveLength(1);
});

describe('an edit cannot change what was asked before the fork', () => {
  const payment = (tool: object, gate: readonly object[]) => ({
    tools: { 'pay.do': { effect: 'financial', timeout: 5, ...tool } },
    flow: {
      id: 'f',
      entry: gate.length === 0 ? 'pay' : 'gate',
      nodes: [...gate, { id: 'pay', type: 'tool', tool: 'pay.do', params: { amount: '{{event.payload.amount}}' } }],
    },
  });
  const routes = [{ when: "approvals.gate == 'approve'", to: 'pay' }];
  const gate = { id: 'gate', type: 'approval', message: 'Pay {{event.payload.amount}}?', routes };

  test.each([
    ['an approval node', payment({}, [gate])],
    ['the approval of a call', payment({ approval: 'always' }, [])],
  ])('%s: a person approved another value', async (_, document) => {
    const calls: string[] = [];
    await using engine = engineOn(openMemory(), calls);
    const run = await engine.run(compiled(document), { amount: 10 });
    const [question] = await run.waiting();
    await engine.answer(question?.id ?? '', { choice: 'approve', by: 'ann' });
    await run.result();
    const events = await eventsOf(engine, run.id);
    const asked = events.find(({ type }) => type === 'effect.requested')?.seq ?? 0;
    for (const { seq } of events.slice(asked - 1, -1))
      await expect(engine.fork(run.id, { at: seq, set: { input: { amount: 900 } } })).rejects.toMatchObject({
        code: 'bad-fork',
        message: expect.stringContaining('that the fork would change'),
        help: `Fork before event ${asked}, which asks for it.`,
      });
    const fork = await engine.fork(run.id, { at: asked - 1, set: { input: { amount: 900 } } });
    expect(await fork.waiting()).toHaveLength(1);
    expect(calls).toHaveLength(1);
  });

  test('a value that was replaced since the question can be edited', async () => {
    const document = {
      tools: { draft: { effect: 'write' } },
      flow: {
        id: 'f',
        entry: 'write',
        max_iterations: 20,
        nodes: [
          { id: 'write', type: 'tool', tool: 'draft', routes: [{ to: 'gate' }] },
          {
            id: 'gate',
            type: 'approval',
            message: 'Send {{write.result}}?',
            routes: [{ when: "approvals.gate == 'reject'", to: 'write' }],
          },
        ],
      },
    };
    const drafts = ['one', 'two'];
    await using engine = createEngine({ journal: ':memory:', tools: { draft: () => drafts.shift() ?? 'three' } });
    const run = await engine.run(compiled(document), {});
    const [first] = await run.waiting();
    await engine.answer(first?.id ?? '', { choice: 'reject', by: 'ann' });
    await run.waiting();
    const events = await eventsOf(engine, run.id);
    const again = events.findLast(({ type }) => type === 'effect.requested')?.seq ?? 0;
    const fork = await engine.fork(run.id, { at: again - 1, set: { 'write.result': 'four' } });
    expect(await fork.waiting()).toMatchObject([{ message: 'Send four?' }]);
    await expect(engine.fork(run.id, { at: again, set: { 'write.result': 'four' } })).rejects.toMatchObject({
      message: 'the question of `gate` shows a value that the fork would change',
    });
  });

  test('a call that is open keeps its input', async () => {
    await using engine = engineOn(openMemory(), []);
    const run = await engine.run(compiled(payment({}, [])), { amount: 10 });
    await run.result();
    const asked = (await eventsOf(engine, run.id)).find(({ type }) => type === 'effect.requested')?.seq ?? 0;
    await expect(engine.fork(run.id, { at: asked, set: { input: { amount: 900 } } })).rejects.toMatchObject({
      code: 'bad-fork',
      message: 'the open call of `pay` has a value that the fork would change',
    });
  });
});

describe('the replay of a fork', () => {
  test('decides the part of its parent again, also of the parent of its parent', async () => {
    const store = openMemory();
    await using engine = engineOn(store, []);
    const parent = await engine.run(SAGA, {}, { id: 'one' });
    await parent.waiting();
    const at = (await eventsOf(engine, 'one')).at(-1)?.seq ?? 0;
    const fork = await engine.fork('one', { at, run: 'two', by: 'ann' });
    const again = await engine.fork(fork.id, { at: at + 1, run: 'three', by: 'ann' });
    expect(await replay(store.journal, again.id)).toMatchObject({
      agrees: true,
      parent: { run: 'two', checked: true },
    });
    expect(await replay(store.journal, 'two')).toMatchObject({ agrees: true, parent: { run: 'one', checked: true } });
  });

  /** A store with a run and its fork, and an earlier run under the id of the parent in a store of its own. */
  async function forkedOver(input: Json): Promise<{ readonly store: Store; readonly elsewhere: Store }> {
    const [store, elsewhere] = [openMemory(), openMemory()];
    const [engine, second] = [engineOn(store, []), engineOn(elsewhere, [])];
    onTestFinished(async () => {
      await engine.close();
      await second.close();
    });
    await (await engine.run(SAGA, {}, { id: 'one' })).waiting();
    const at = (await eventsOf(engine, 'one')).at(-1)?.seq ?? 0;
    await engine.fork('one', { at, run: 'two', by: 'ann' });
    await (await engine.run(SAGA, {}, { id: 'other' })).waiting();
    await (await second.run(SAGA, input, { id: 'one' })).waiting();
    return { store, elsewhere };
  }

  test('names an event that is not the one of its parent', async () => {
    const { store, elsewhere } = await forkedOver({ other: true });
    // A run with the same id and a valid chain stands in the place of the parent.
    const load: Store['journal']['load'] = (run, options) =>
      (run === 'one' ? elsewhere : store).journal.load(run, options);
    const { agrees, difference } = await replay({ ...store.journal, load }, 'two');
    expect([agrees, difference?.seq]).toEqual([false, 1]);
    expect(JSON.stringify(difference)).toContain('other');
  });

  test('refuses another run in the place of its parent', async () => {
    const { store } = await forkedOver({});
    const load: Store['journal']['load'] = (run, options) => store.journal.load(run === 'one' ? 'other' : run, options);
    await expect(replay({ ...store.journal, load }, 'two')).rejects.toMatchObject({
      code: 'chain-broken',
      message: expect.stringContaining('run `one` cannot be replayed: event 1 (run.started)') as string,
    });
  });

  test('says that a removed parent was not checked', async () => {
    const store = openMemory();
    await using engine = engineOn(store, []);
    const parent = await engine.run(SAGA, {}, { id: 'one' });
    await parent.waiting();
    const at = (await eventsOf(engine, 'one')).at(-1)?.seq ?? 0;
    await engine.fork('one', { at, run: 'two', by: 'ann' });
    await parent.cancel({ by: 'ann' });
    await engine.settled('one');
    await store.index.remove(['one']);
    expect(await replay(store.journal, 'two')).toMatchObject({ agrees: true, parent: { run: 'one', checked: false } });
  });
});
