/** A store that is away pauses a worker. Nothing is lost or done twice, and the worker goes on by itself. */
import { DatabaseSync } from 'node:sqlite';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, expect, onTestFinished, test } from 'vitest';
import { compile } from '@sluice-internal/library';
import type { CompiledFlow } from '@sluice-internal/library';
import { openMemory } from '@sluice-internal/engine/memory';
import { createRuntime } from '@sluice-internal/engine/worker';
import type { Engine, Store } from '@sluice-internal/engine/ports';
import { openSqlite } from '@sluice-internal/store-sqlite';
import { functionPerformer } from '../../../library/src/host/functions.ts';
import { unreliable } from '../../../../test/support/unreliable-store.ts';

const dir = mkdtempSync(join(tmpdir(), 'sluice-away-'));
afterAll(() => rmSync(dir, { recursive: true, force: true }));

interface Lab {
  readonly engine: Engine;
  readonly calls: string[];
  readonly notices: string[];
  readonly faults: Error[];
}

/** The tools `one`, `two` and `three` note their keys. */
function open(store: Store, before: (tool: string) => unknown = () => undefined, leaseMs = 10_000): Lab {
  const [calls, notices, faults]: [string[], string[], Error[]] = [[], [], []];
  const tool =
    (name: string) =>
    async (_: unknown, { idempotencyKey }: { idempotencyKey: string }) => {
      calls.push(`${name} ${idempotencyKey}`);
      await before(name);
      return name;
    };
  const performer = functionPerformer({ tools: { one: tool('one'), two: tool('two'), three: tool('three') } });
  const engine = createRuntime({
    ...{ store, performer, leaseMs },
    onNotice: (text) => notices.push(text),
    onFault: (error) => faults.push(error),
  });
  onTestFinished(() => engine.close());
  return { engine, calls, notices, faults };
}

const NAMES = ['one', 'two', 'three'];
const chain = compiled(NAMES.map((name, index) => ({ id: name, type: 'tool', tool: name, ...next(NAMES[index + 1]) })));

function next(to: string | undefined): object {
  return to === undefined ? {} : { routes: [{ to }] };
}

function compiled(nodes: readonly { readonly id: string; readonly [key: string]: unknown }[]): CompiledFlow {
  const tools = Object.fromEntries(NAMES.map((name) => [name, { effect: 'write' }]));
  const { flow, diagnostics } = compile({ tools, flow: { id: 'away', entry: nodes[0]?.id, nodes } });
  if (flow === undefined) throw new Error(diagnostics.map(({ message }) => message).join('\n'));
  return flow;
}

test('the store is away while a call is under way: its result is kept, and the run goes on when it is back', async () => {
  const cut = unreliable(openMemory());
  const { engine, calls, notices, faults } = open(cut.store, (name) => {
    if (name === 'two') cut.isAway = true;
  });
  const run = await engine.start(chain);
  const settled = engine.settled(run);
  await expect.poll(() => notices).toHaveLength(1);
  expect(notices[0]).toContain('connection refused');
  await expect(engine.get(run)).rejects.toMatchObject({ code: 'journal-unavailable' });
  cut.isAway = false;
  expect(await settled).toMatchObject({ state: 'completed', path: NAMES });
  expect(calls.map((call) => call.split(' ')[0])).toEqual(NAMES);
  expect(notices.at(-1)).toBe('the store is back, and the runs go on');
  expect(faults).toEqual([]);
});

test.each(['request', 'answer'] as const)('the %s of any commit is lost: every call is made once', async (what) => {
  for (let commit = 1; commit <= 4; commit += 1) {
    const inner = openMemory();
    const cut = unreliable(inner);
    const { engine, calls, notices, faults } = open(cut.store);
    cut.lose = { commit, what };
    const run = engine.start(chain, { run: 'r' });
    await expect.poll(() => notices.length).toBe(1);
    cut.isAway = false;
    await run;
    expect(await engine.settled('r')).toMatchObject({ state: 'completed', path: NAMES });
    expect(calls.map((call) => call.split(' ')[0])).toEqual(NAMES);
    expect(faults).toEqual([]);
    const { appends = [] } = (await inner.journal.load('r', { snapshot: false })) ?? {};
    expect(appends.map(({ after }) => after)).toEqual(appends.map((_, index) => sumOf(appends.slice(0, index))));
  }
});

function sumOf(appends: readonly { readonly count: number }[]): number {
  return appends.reduce((sum, { count }) => sum + count, 0);
}

test.each(['request', 'answer'] as const)(
  'another worker takes over while the store is away and the %s of a commit is lost: this one performs nothing of it',
  async (what) => {
    const inner = openMemory();
    const cut = unreliable(inner);
    const { engine, calls, faults } = open(cut.store);
    cut.lose = { commit: 2, what };
    await engine.start(chain, { run: 'r' });
    await expect.poll(() => cut.isAway).toBe(true);
    const { owner } = (await inner.index.find('r')) ?? {};
    await inner.leases.renew(owner ?? '', 0);
    const other = open({ ...inner, close: async () => undefined });
    expect(await other.engine.settled('r')).toMatchObject({ state: 'completed' });
    cut.isAway = false;
    expect(await engine.settled('r')).toMatchObject({ state: 'completed', path: NAMES });
    expect(await engine.start(chain, { run: 'later' })).toBe('later');
    expect(await engine.settled('later')).toMatchObject({ state: 'completed' });
    const ofFirst = calls.filter((call) => other.calls.includes(call)).map((call) => call.split(' ')[0]);
    // The first worker made this call, and its result was not stored when the other one took over.
    expect(ofFirst).toEqual(what === 'request' ? ['one'] : []);
    expect(faults).toEqual([]);
  },
);

test('an engine that opens while the store is away refuses work, and works as soon as it is there', async () => {
  const cut = unreliable(openMemory());
  cut.isAway = true;
  const { engine, faults } = open(cut.store);
  await expect(engine.start(chain)).rejects.toMatchObject({ code: 'journal-unavailable' });
  cut.isAway = false;
  const run = await engine.start(chain);
  expect(await engine.settled(run)).toMatchObject({ state: 'completed' });
  expect(faults).toEqual([]);
});

test('an engine closes while the store is away, and the next one finishes the run', async () => {
  const inner = openMemory();
  const cut = unreliable({ ...inner, close: async () => undefined });
  const { engine, notices, faults } = open(cut.store, (name) => {
    if (name === 'two') cut.isAway = true;
  });
  const run = await engine.start(chain);
  await expect.poll(() => notices).toHaveLength(1);
  await engine.close();
  expect(faults).toEqual([]);
  const { owner } = (await inner.index.find(run)) ?? {};
  await inner.leases.renew(owner ?? '', 0);
  const later = open(inner);
  expect(await later.engine.settled(run)).toMatchObject({ state: 'completed', path: NAMES });
  expect(later.calls.map((call) => call.split(' ')[0])).toEqual(['two', 'three']);
});

test('another process keeps the database file locked: the runs wait for it', async () => {
  const path = join(dir, 'locked.db');
  const { engine, calls, notices, faults } = open(openSqlite(path, { busyMs: 10 }), (name) => {
    if (name === 'one') other.exec('BEGIN EXCLUSIVE');
  });
  const other = new DatabaseSync(path);
  const run = await engine.start(chain);
  await expect.poll(() => notices.length).toBe(1);
  other.close();
  expect(await engine.settled(run)).toMatchObject({ state: 'completed', path: NAMES });
  expect(calls.map((call) => call.split(' ')[0])).toEqual(NAMES);
  expect(faults).toEqual([]);
});

test('the answer to a claim is lost: the claimed run is continued by the worker that has it', async () => {
  const inner = openMemory();
  const first = open({ ...inner, close: async () => undefined }, () => new Promise(() => undefined));
  const run = await first.engine.start(chain);
  await expect.poll(() => first.calls.length).toBe(1);
  const cut = unreliable(inner);
  const claim: typeof inner.leases.claim = async (...given) => {
    const claimed = await cut.store.leases.claim(...given);
    if (claimed.length > 0 && cut.commits === 0) {
      cut.commits = 1;
      cut.isAway = true;
      await cut.store.leases.claim(...given);
    }
    return claimed;
  };
  const { engine, calls, notices, faults } = open({
    ...cut.store,
    leases: { ...inner.leases, ...renewing(cut), claim },
  });
  await first.engine.close();
  await expect.poll(() => notices.length).toBe(1);
  cut.isAway = false;
  await expect.poll(async () => (await engine.get(run)).state).toBe('completed');
  expect(calls.map((call) => call.split(' ')[0])).toEqual(NAMES);
  expect(faults).toEqual([]);
});

function renewing({ store }: ReturnType<typeof unreliable>): Pick<Store['leases'], 'renew'> {
  return { renew: (...given) => store.leases.renew(...given) };
}

test('a reader of events waits for the store, and gets every event once', async () => {
  const inner = openMemory();
  const first = open({ ...inner, close: async () => undefined }, (name) => {
    if (name === 'two') return gate.promise;
  });
  const gate = Promise.withResolvers<void>();
  const run = await first.engine.start(chain);
  await expect.poll(() => first.calls.length).toBe(2);
  const cut = unreliable({ ...inner, close: async () => undefined });
  const reader = open(cut.store);
  const seen: number[] = [];
  const reading = (async () => {
    for await (const { seq } of reader.engine.events(run)) seen.push(seq);
  })();
  await expect.poll(() => seen.length > 0).toBe(true);
  cut.isAway = true;
  await expect.poll(() => reader.notices.length).toBe(1);
  gate.resolve();
  await first.engine.settled(run);
  cut.isAway = false;
  await reading;
  expect(seen).toEqual(seen.map((_, index) => index + 1));
  expect((await first.engine.get(run)).state).toBe('completed');
});

test.each(['request', 'answer'] as const)(
  'the %s of a commit is lost while another call of the run is open: the open call is not made again',
  async (what) => {
    const cut = unreliable(openMemory());
    const opened = Promise.withResolvers<void>();
    const { engine, calls, notices, faults } = open(cut.store, (name) => {
      if (name === 'one') return opened.promise;
      if (name === 'two') cut.lose = { commit: cut.commits + 1, what };
    });
    const both = compiled([
      { id: 'both', type: 'parallel', branches: [{ to: 'one' }, { to: 'two' }], routes: [{ to: 'three' }] },
      { id: 'one', type: 'tool', tool: 'one' },
      { id: 'two', type: 'tool', tool: 'two' },
      { id: 'three', type: 'tool', tool: 'three' },
    ]);
    const run = await engine.start(both);
    await expect.poll(() => notices.length).toBe(1);
    cut.isAway = false;
    await expect.poll(() => notices.length).toBe(2);
    opened.resolve();
    expect(await engine.settled(run)).toMatchObject({ state: 'completed' });
    expect(calls.map((call) => call.split(' ')[0] ?? '').toSorted()).toEqual([...NAMES].toSorted());
    expect(faults).toEqual([]);
  },
);
