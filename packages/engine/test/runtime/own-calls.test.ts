/** A process that keeps its lease, or gets it again, does not repeat its own open calls. */
import { execFile } from 'node:child_process';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { afterAll, expect, onTestFinished, test } from 'vitest';
import { compile } from '@sluice-internal/library';
import type { CompiledFlow } from '@sluice-internal/library';
import { functionPerformer } from '../../../library/src/host/functions.ts';
import { createRuntime } from '@sluice-internal/engine/worker';
import { PerformError, SluiceError } from '@sluice-internal/engine/ports';
import type { Engine, Journal, Leases, Store } from '@sluice-internal/engine/ports';
import { openSqlite } from '@sluice-internal/store-sqlite';

const dir = mkdtempSync(join(tmpdir(), 'sluice-own-calls-'));
afterAll(() => rmSync(dir, { recursive: true, force: true }));

const TOOLS = { open: { effect: 'write' }, again: { effect: 'read' }, after: { effect: 'write' } };

test.each([
  ['fails', (): Promise<number | null> => Promise.reject(new SluiceError('journal-busy', 'another process writes'))],
  [
    'takes longer than the lease',
    async (renew: () => Promise<number | null>): Promise<number | null> => {
      const renewed = await renew();
      sleep(LEASE_MS * 2);
      return renewed;
    },
  ],
])('the lease has ended and its renewal %s: an open call of another branch is not made again', async (_, renewal) => {
  const calls: string[] = [];
  const opened = Promise.withResolvers<string>();
  const store = openSqlite(join(dir, `${calls.length}-${Math.random()}.db`));
  let failures = 0;
  const renew: Leases['renew'] = (...given) => {
    const inner = (): Promise<number | null> => store.leases.renew(...given);
    if (!calls.includes('again') || failures === 3) return inner();
    failures += 1;
    return renewal(inner);
  };
  const engine = runtime({ ...store, leases: { ...store.leases, renew } }, LEASE_MS, {
    open: () => {
      calls.push('open');
      return opened.promise;
    },
    again: () => {
      calls.push('again');
      if (calls.filter((call) => call === 'again').length > 1) return 'done';
      // The whole process stands still until its lease has ended.
      sleep(LEASE_MS * 2);
      throw new PerformError({ class: 'transient', type: 'BusyError', message: 'later' });
    },
  });
  const flow = compiled([
    { id: 'both', type: 'parallel', branches: [{ to: 'open' }, { to: 'again' }] },
    { id: 'open', type: 'tool', tool: 'open' },
    { id: 'again', type: 'tool', tool: 'again', retry: { max_attempts: 2, backoff_ms: 1 } },
  ]);
  const run = await engine.start(flow);
  await expect.poll(() => calls.filter((call) => call === 'again').length, { timeout: 60_000 }).toBe(2);
  expect(failures).toBe(3);
  opened.resolve('opened');
  expect(await engine.settled(run)).toMatchObject({ state: 'completed' });
  expect(calls.toSorted()).toEqual(['again', 'again', 'open']);
});

test('a run that another process continues during a load is loaded again', async () => {
  const file = join(dir, 'lost-load.db');
  const store = openSqlite(file);
  const held = heldLoad(store);
  const engine = runtime(held.store, 600_000, {});
  const ask = { type: 'approval', message: 'Go?', choices: ['approve', 'reject'] };
  const flow = compiled([
    { id: 'first', ...ask, routes: [{ to: 'second' }] },
    { id: 'second', ...ask },
  ]);
  const run = await engine.start(flow);
  const { waiting } = await engine.settled(run);
  held.next = true;
  const resumed = engine.resume(run);
  await expect.poll(() => held.next).toBe(false);
  // As after a sleep that is longer than the lease.
  await store.leases.release((await store.index.find(run))?.owner ?? '', [run]);
  const other = runtime(openSqlite(file), 600_000, {});
  await other.answer(waiting[0]?.id ?? '', { choice: 'approve', by: 'bob' });
  const second = (await other.settled(run)).waiting[0]?.id ?? '';
  held.resolve();
  await resumed;
  await engine.answer(second, { choice: 'approve', by: 'bob' });
  expect(await engine.settled(run)).toMatchObject({ state: 'completed' });
});

test('a load of a waiting run ends after its answer: the run keeps its owner, and its call is made once', async () => {
  const calls: string[] = [];
  const done = Promise.withResolvers<string>();
  const store = openSqlite(join(dir, 'late-load.db'));
  const held = heldLoad(store);
  const engine = runtime(held.store, 600_000, {
    after: () => {
      calls.push('after');
      return done.promise;
    },
  });
  const flow = compiled([
    { id: 'ask', type: 'approval', message: 'Go?', choices: ['approve', 'reject'], routes: [{ to: 'after' }] },
    { id: 'after', type: 'tool', tool: 'after' },
  ]);
  const run = await engine.start(flow);
  const { waiting } = await engine.settled(run);
  held.next = true;
  const resumed = engine.resume(run);
  await expect.poll(() => held.next).toBe(false);
  await engine.answer(waiting[0]?.id ?? '', { choice: 'approve', by: 'bob' });
  await expect.poll(() => calls.length).toBe(1);
  const { owner } = (await store.index.find(run)) ?? {};
  expect(owner).toEqual(expect.any(String));
  held.resolve();
  await resumed;
  expect((await store.index.find(run))?.owner).toBe(owner);
  done.resolve('done');
  expect(await engine.settled(run)).toMatchObject({ state: 'completed' });
  expect(calls).toEqual(['after']);
});

test('a process that only waits for its lease does not end', async () => {
  const source = (path: string): string => JSON.stringify(new URL(`../../../${path}`, import.meta.url).href);
  const program = join(dir, 'alone.ts');
  // Between its calls, an agent waits for a check of the call, which has no deadline and so no timer.
  writeFileSync(
    program,
    `import { agent, createEngine, flow, tool } from ${source('library/src/index.ts')};
import { openSqlite } from ${source('store-sqlite/src/open.ts')};
const store = openSqlite(${JSON.stringify(join(dir, 'alone.db'))});
let replies = 0;
let failures = 0;
const renew = (...given) => {
  if (replies === 0 || failures === 3) return store.leases.renew(...given);
  failures += 1;
  return Promise.reject(new Error('another process writes'));
};
const model = () => {
  replies += 1;
  if (replies > 1) return 'It says: found.';
  Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, ${LEASE_MS * 2});
  return { text: '', toolCalls: [{ name: 'look', args: {} }] };
};
const look = tool('look', { effect: 'read', run: () => 'found' });
const worker = agent('worker', { instructions: 'Look.', tools: [look] });
const engine = createEngine({ journal: { ...store, leases: { ...store.leases, renew } }, leaseMs: ${LEASE_MS}, model });
const { id } = await engine.run(flow('alone').step(worker, () => 'look'));
console.log((await engine.settled(id)).state, failures);
await engine.close();
`,
  );
  const { stdout } = await promisify(execFile)(process.execPath, [program]);
  expect(stdout.trim()).toBe('completed 3');
});

const LEASE_MS = 100;

/** A store whose next load waits, once it has read, until it is resolved. */
function heldLoad(store: Store): { readonly store: Store; next: boolean; resolve: () => void } {
  const gate = Promise.withResolvers<void>();
  const load: Journal['load'] = async (...given) => {
    const loaded = await store.journal.load(...given);
    if (held.next) {
      held.next = false;
      await gate.promise;
    }
    return loaded;
  };
  const held = { store: { ...store, journal: { ...store.journal, load } }, next: false, resolve: gate.resolve };
  return held;
}

function runtime(store: Store, leaseMs: number, tools: { [name: string]: () => string | Promise<string> }): Engine {
  const engine = createRuntime({ store, performer: functionPerformer({ tools }), leaseMs });
  onTestFinished(() => engine.close());
  return engine;
}

/** Nothing else happens in this process meanwhile, as when a machine is overloaded. */
function sleep(ms: number): void {
  Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, ms);
}

function compiled(nodes: readonly { readonly id: string; readonly [key: string]: unknown }[]): CompiledFlow {
  const { flow, diagnostics } = compile({ tools: TOOLS, flow: { id: 'calls', entry: nodes[0]?.id, nodes } });
  if (flow === undefined) throw new Error(diagnostics.map(({ message }) => message).join('\n'));
  return flow;
}
