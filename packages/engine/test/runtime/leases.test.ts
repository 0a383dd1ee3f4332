/** Several engines on one store: who may go on with a run, and with what knowledge of it. */
import { hash } from 'node:crypto';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, expect, test } from 'vitest';
import { functionPerformer } from '../../../library/src/host/functions.ts';
import { openSqlite } from '@sluice-internal/store-sqlite';
import { seal } from '@sluice-internal/compile/prove';
import type { CompiledFlow, Node } from '@sluice-internal/kernel/ir';
import { createRuntime } from '@sluice-internal/engine/worker';
import { PerformError } from '@sluice-internal/engine/ports';
import type { Engine, Leases, Mail, Performer } from '@sluice-internal/engine/ports';
import { draw } from '../../../kernel/src/core/random.ts';

const dir = mkdtempSync(join(tmpdir(), 'sluice-leases-'));
afterAll(() => rmSync(dir, { recursive: true, force: true }));

const LEASE_MS = 100;
const nobody = functionPerformer({});

test('a lease that expired unnoticed is taken again, and the run continues', async () => {
  const nap = (): null => {
    // Nothing else happens in this process meanwhile, as when a machine is overloaded.
    Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, LEASE_MS * 2);
    return null;
  };
  const engine = engineOn('nap', functionPerformer({ tools: { nap } }));
  const run = await engine.start(chain('call', 'call', 'call'));
  expect(await engine.settled(run)).toMatchObject({ state: 'completed', path: ['n0', 'n1', 'n2'] });
  await engine.close();
});

test('an answer finds the question that is asked now, although another process gave the one before', async () => {
  const [first, second] = [engineOn('ask', nobody), engineOn('ask', nobody)];
  const run = await first.start(chain('ask', 'ask'));
  await first.settled(run);
  await answerAll(second, run);
  await second.settled(run);
  await answerAll(first, run);
  expect(await first.settled(run)).toMatchObject({ state: 'completed', approvals: { n0: 'yes', n1: 'yes' } });
  await first.close();
  await second.close();
});

test('a run that waited, was taken further elsewhere and left there is picked up where it is', async () => {
  const first = engineOn('left', functionPerformer({ tools: { nap: () => null } }));
  const run = await first.start(chain('ask', 'call'));
  await first.settled(run);
  // The tool never comes back, and then the process is gone.
  const second = engineOn('left', functionPerformer({ tools: { nap: () => new Promise(() => undefined) } }));
  await answerAll(second, run);
  expect(await second.get(run)).toMatchObject({ state: 'running' });
  await second.close();
  expect(await ended(first, run)).toMatchObject({ state: 'completed', path: ['n0', 'n1'] });
  await first.close();
});

test('a process that could not renew its lease does not try again what another one tries by now', async () => {
  const tries: string[] = [];
  const failing = (name: string): Performer =>
    functionPerformer({
      tools: {
        nap: () => {
          tries.push(name);
          if (tries.length === 1) throw new PerformError({ class: 'transient', type: 'BusyError', message: 'later' });
          return null;
        },
      },
    });
  const store = openSqlite(join(dir, 'silent.db'));
  let renewals = 0;
  const renew: Leases['renew'] = (...args) =>
    renewals++ === 0 ? store.leases.renew(...args) : new Promise(() => undefined);
  const silent = createRuntime({
    store: { ...store, leases: { ...store.leases, renew } },
    performer: failing('silent'),
    // Long enough for the first attempt on a busy machine.
    leaseMs: LEASE_MS * 4,
  });
  // With this seed the second attempt is due long after the lease has run out.
  const seed = seedWithWaitAbove(0.6);
  const run = await silent.start(chain('call'), { seed });
  const other = engineOn('silent', failing('other'));
  expect(await other.settled(run)).toMatchObject({ state: 'completed', usage: { toolCalls: 2 } });
  expect(tries).toEqual(['silent', 'other']);
  await other.close();
  await silent.close();
});

test('a cancellation that its run has read by the time its sender looks again is not refused', async () => {
  const [store, elsewhere] = [openSqlite(join(dir, 'mailed.db')), openSqlite(join(dir, 'mailed.db'))];
  let delivered = false;
  const take: Mail['take'] = async (...given) => (delivered ? store.mail.take(...given) : []);
  const performer = functionPerformer({ tools: { nap: () => new Promise(() => undefined) } });
  const owner = createRuntime({ store: { ...store, mail: { ...store.mail, take } }, performer });
  const run = await owner.start(chain('call'));
  let claims = 0;
  const claim: Leases['claim'] = async (worker, what) => {
    claims += 1;
    if (claims === 2) {
      delivered = true;
      await owner.wait(run);
    }
    return elsewhere.leases.claim(worker, what);
  };
  const leases = { ...elsewhere.leases, claim };
  const sender = createRuntime({ store: { ...elsewhere, leases }, performer: nobody, pickUp: false });
  await sender.cancel(run, 'ann');
  expect(claims).toBe(2);
  expect(await sender.get(run)).toMatchObject({ state: 'cancelled' });
  await sender.close();
  await owner.close();
});

test('a second start under the same id returns the first run, with any owner', async () => {
  const [first, second] = [engineOn('twice', nobody), engineOn('twice', nobody)];
  const flow = chain('ask');
  expect(await first.start(flow, { run: 'mine', input: 1 })).toBe('mine');
  expect(await second.start(flow, { run: 'mine', input: 1 })).toBe('mine');
  await expect(second.start(flow, { run: 'mine', input: 2 })).rejects.toMatchObject({ code: 'run-exists' });
  await answerAll(second, 'mine');
  expect(await ended(first, 'mine')).toMatchObject({ state: 'completed' });
  await first.close();
  await second.close();
});

test('a worker whose runs another one took goes on under a new name: it starts runs, and stores nothing of the old ones', async () => {
  const [here, there] = [openSqlite(join(dir, 'fenced.db')), openSqlite(join(dir, 'fenced.db'))];
  const calls: string[] = [];
  const nap = Promise.withResolvers<null>();
  const performer = functionPerformer({ tools: { nap: (_, { run }) => (calls.push(run), nap.promise) } });
  const faults: Error[] = [];
  const engine = createRuntime({ store: here, performer, pickUp: false, onFault: (error) => void faults.push(error) });
  const run = await engine.start(chain('call'));
  const { owner } = (await there.index.find(run)) ?? {};
  // The lease of the first worker ends without its knowledge, as after a long sleep.
  await there.leases.renew(owner ?? '', 0);
  await there.leases.renew('other', 3_600_000);
  expect(await there.leases.claim('other', { run })).toEqual([run]);
  expect(await engine.start(chain('ask'), { run: 'new' })).toBe('new');
  expect(await engine.settled('new')).toMatchObject({ state: 'suspended' });
  nap.resolve(null);
  expect(await there.index.find(run)).toMatchObject({ status: 'running', owner: 'other' });
  expect(await here.index.find('new')).toMatchObject({ status: 'suspended' });
  // When the other one is gone, the run is continued here.
  await there.leases.resign('other');
  await engine.resume(run);
  expect(await engine.settled(run)).toMatchObject({ state: 'completed' });
  expect(calls).toEqual([run, run]);
  expect(faults).toEqual([]);
  await engine.close();
  await there.close();
});

function seedWithWaitAbove(share: number): number {
  let seed = 0;
  while (draw(seed, '0#0 1') < share) seed += 1;
  return seed;
}

function engineOn(name: string, performer: Performer): Engine {
  return createRuntime({ store: openSqlite(join(dir, `${name}.db`)), performer, leaseMs: LEASE_MS });
}

async function answerAll(engine: Engine, run: string): Promise<void> {
  for (const { id } of await engine.approvals(run)) await engine.answer(id, { choice: 'yes', by: 'somebody' });
}

/** `settled` also resolves at a wait that is over by now. */
async function ended(engine: Engine, run: string): ReturnType<Engine['get']> {
  for (;;) {
    const report = await engine.settled(run);
    if (report.state !== 'suspended') return report;
  }
}

function chain(...kinds: readonly ('call' | 'ask')[]): CompiledFlow {
  const nodes: { [id: string]: Node } = {
    done: { op: 'end', label: { name: 'done' }, state: 'completed', code: 'SUCCESS', output: 'null' },
    fail: { op: 'end', label: { name: 'fail' }, state: 'failed', code: 'error', output: 'null' },
  };
  const ask = {
    kind: 'ask',
    about: 'go',
    input: { message: "'go?'" },
    reserve: {},
    choices: [{ name: 'yes' }, { name: 'no' }],
    onExpiry: 'no',
    code: 'CONFIRM_REQUIRED',
    askedBy: 'flow',
  } as const;
  const call = { kind: 'tool', tool: 'nap', input: {}, reserve: { toolCalls: 1 } } as const;
  for (const [index, kind] of kinds.entries())
    nodes[`n${index}`] = {
      op: 'do',
      label: { name: `n${index}`, enters: `n${index}` },
      effect: kind === 'ask' ? ask : call,
      writes: [],
      timeoutMs: 600_000,
      retry: { max: 1, baseMs: 1000, capMs: 1000, on: ['transient'] },
      next: index + 1 < kinds.length ? `n${index + 1}` : 'done',
      failed: [],
      fail: 'fail',
    };
  const parts = { entry: 'n0', fail: 'fail', nodes, meters: {}, agents: {}, tools: {}, models: {}, least: {} };
  return seal({ ir: 1, id: 'chain', notation: 'test', ...parts }, (text) => hash('sha256', text, 'hex'));
}
