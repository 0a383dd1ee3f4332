/** One file, opened again and by several: what was committed is there, and nobody trusts what another has changed. */
import { existsSync, statSync } from 'node:fs';
import { dirname } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { expect, onTestFinished, test } from 'vitest';
import { openSqlite } from '@sluice-internal/store-sqlite';
import { compile, createEngine } from '@sluice-internal/library';
import { Chain, ENDED, started, suiteClock } from '../../../testing/src/suite/sample.ts';
import { freshPaths } from './place.ts';

const freshPath = freshPaths();

test('what was committed is there after the file is opened again', async () => {
  const path = freshPath();
  const before = openSqlite(path);
  const chain = new Chain('r1');
  await started(before, 'w1', chain);
  await before.mail.post('r1', { type: 'cancel', by: 'ann', why: '' });
  const entry = await before.index.find('r1');
  await before.close();
  const after = openSqlite(path);
  expect(await after.index.find('r1')).toEqual(entry);
  expect(await after.journal.commit('w1', [chain.next()])).toEqual(['committed']);
  expect(await after.mail.take('w1')).toHaveLength(1);
  await after.close();
});

test('only the owner of the files may read them', async () => {
  const path = freshPath();
  const store = openSqlite(path);
  await started(store, 'w1', new Chain('r1'));
  for (const file of [path, `${path}-wal`, `${path}-shm`]) expect(statSync(file).mode & 0o777).toBe(0o600);
  expect(statSync(dirname(path)).mode & 0o777).toBe(0o700);
  await store.close();
});

test('closing leaves one file, with everything in it', async () => {
  const path = freshPath();
  const store = openSqlite(path);
  const chain = new Chain('r1');
  await started(store, 'w1', chain);
  const last = store.journal.commit('w1', [chain.next()]);
  await store.close();
  expect(await last).toEqual(['committed']);
  expect(existsSync(`${path}-wal`)).toBe(false);
  const db = new DatabaseSync(path, { readOnly: true });
  expect(db.prepare('SELECT count(*) AS n FROM log').get()).toMatchObject({ n: 2 });
  db.close();
});

test('a store notices at once what another one on the same file has done', async () => {
  const path = freshPath();
  const clock = suiteClock();
  const [one, two] = [openSqlite(path, { clock }), openSqlite(path, { clock })];
  const chain = new Chain('r1');
  await started(one, 'w1', chain);
  await one.journal.commit('w1', [chain.next()]);
  clock.pass(10_000);
  // The first store knows by heart who owns the run and where it stands; both become wrong here.
  await two.leases.renew('w2', 10_000);
  expect(await two.leases.claim('w2', { run: 'r1' })).toEqual(['r1']);
  const theirs = chain.next();
  expect(await one.journal.commit('w1', [theirs])).toEqual(['stale']);
  expect(await two.journal.commit('w2', [theirs])).toEqual(['committed']);
  await two.leases.release('w2', ['r1']);
  await one.leases.renew('w3', 10_000);
  expect(await one.leases.claim('w3', { run: 'r1' })).toEqual(['r1']);
  expect(await one.journal.commit('w3', [theirs, chain.next()])).toEqual(['stale', 'committed']);
  await Promise.all([one.close(), two.close()]);
});

test('what a store knows by heart is not trusted over the file, even for a worker that keeps its lease', async () => {
  const path = freshPath();
  const [one, two] = [openSqlite(path), openSqlite(path)];
  const [moved, lost] = [new Chain('moved'), new Chain('lost')];
  await started(one, 'w1', moved, lost);
  const taken = moved.next();
  expect(await two.journal.commit('w1', [taken])).toEqual(['committed']);
  await two.leases.release('w1', ['lost']);
  await two.leases.renew('w2', 10_000);
  await two.leases.claim('w2', { run: 'lost' });
  expect(await one.journal.commit('w1', [taken, lost.next(), moved.next()])).toEqual(['stale', 'stale', 'committed']);
  await Promise.all([one.close(), two.close()]);
});

test('a run whose signed checkpoint was deleted, with its number, is not extended', async () => {
  const path = freshPath();
  const store = openSqlite(path);
  const chain = new Chain('r1');
  await started(store, 'w1', chain);
  const append = chain.next();
  const checkpoint = { seq: chain.seq, head: chain.head, at: 1, key: 'k', signature: 's' };
  await store.journal.commit('w1', [{ ...append, checkpoint }]);
  const other = new DatabaseSync(path);
  other.exec('DROP TRIGGER checkpoints_delete; DELETE FROM checkpoints; UPDATE ends SET signed = 0');
  other.close();
  expect(await store.journal.commit('w1', [chain.next({ entry: ENDED })])).toEqual(['stale']);
  expect(await store.journal.broken?.('r1')).not.toBeNull();
  await store.close();
});

test('snapshots may be deleted at any time, and one that does not fit the log is not used', async () => {
  const path = freshPath();
  const store = openSqlite(path);
  const chain = new Chain('r1');
  await started(store, 'w1', chain);
  const append = chain.next();
  await store.journal.commit('w1', [{ ...append, snapshot: { seq: chain.seq, hash: chain.head, body: 's' } }]);
  expect((await store.journal.load('r1'))?.appends).toHaveLength(0);
  const other = new DatabaseSync(path);
  for (const change of ["UPDATE snapshots SET hash = 'x'", 'UPDATE snapshots SET seq = 9', 'DELETE FROM snapshots']) {
    other.exec(change);
    const stored = await store.journal.load('r1');
    expect(stored?.snapshot).toBeNull();
    expect(stored?.appends).toHaveLength(2);
  }
  other.close();
  await store.close();
});

test('looking for runs that need work reads no run that sleeps', async () => {
  const path = freshPath();
  await openSqlite(path).close();
  const { CLAIMABLE } = await import('../../src/leases.ts');
  const db = new DatabaseSync(path);
  const plan = db
    .prepare(`EXPLAIN QUERY PLAN ${CLAIMABLE}`)
    .all({ now: 0, gone: '[]', except: '[]', limit: 1, tenant: null })
    .map(({ detail }) => String(detail));
  expect(plan.filter((line) => line.startsWith('SCAN runs'))).toEqual([]);
  expect(plan.filter((line) => line.includes('runs_by_owner (owner=? AND status=?'))).toHaveLength(2);
  db.close();
});

test('the write-ahead log starts over long before it is long', async () => {
  const path = freshPath();
  const store = openSqlite(path);
  onTestFinished(() => store.close());
  for (let term = 1; term <= 1_000; term++) await store.leases.renew('w', term);
  // A commit adds a page and its header at least: grown without end it would be more than twice this.
  expect(statSync(`${path}-wal`).size).toBeLessThan(1_000_000);
});

test('a graph that was removed with its last run is stored again with the next', async () => {
  const store = openSqlite(freshPath());
  const engine = createEngine({ journal: store });
  onTestFinished(() => engine.close());
  const nodes = [{ id: 'a', type: 'terminal', output: 'x' }];
  const { flow } = compile({ flow: { id: 'demo', entry: 'a', nodes } });
  if (flow === undefined) throw new Error('the flow does not compile');
  const first = await engine.start(flow);
  await engine.wait(first);
  expect(await store.index.remove(await store.index.expired({ notation: flow.notation }, { runs: 0 }))).toEqual([
    first,
  ]);
  const second = await engine.start(flow);
  expect((await engine.settled(second)).output).toBe('x');
});
