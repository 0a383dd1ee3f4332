/** The chains of heads: what several processes record together, and what is left of it when the store is compacted. */
import { DatabaseSync } from 'node:sqlite';
import { expect, test } from 'vitest';
import { operate } from '@sluice-internal/engine/ports';
import { Chain, ENDED, started, suspended } from '../../../testing/src/suite/sample.ts';
import { openSqlite } from '../../src/index.ts';
import { freshPaths } from './place.ts';

const freshPath = freshPaths();

function rowsIn(path: string, what = '*'): number {
  const db = new DatabaseSync(path, { readOnly: true });
  const { n } = db.prepare(`SELECT count(${what}) AS n FROM heads`).get() as { n: number };
  db.close();
  return n;
}

test('each process that writes has a chain, and a commit is one row', async () => {
  const path = freshPath();
  const [here, there] = [openSqlite(path), openSqlite(path)];
  const [one, two] = await started(here, 'w1', 'r1', 'r2');
  await started(there, 'w2', 'r3');
  expect([rowsIn(path, 'DISTINCT chain'), rowsIn(path)]).toEqual([2, 2]);
  await here.journal.commit('w1', [one.next(), two.next(), one.next({ entry: suspended(null) })]);
  await there.mail.post('r1', { type: 'cancel', by: 'ann', why: 'late' });
  expect([rowsIn(path, 'DISTINCT chain'), rowsIn(path)]).toEqual([2, 4]);
  for (const store of [here, there]) expect(await store.journal.broken?.()).toBeNull();
  await here.close();
  await there.close();
});

test('a compacted store has one row for all chains, and every process goes on', async () => {
  const path = freshPath();
  const [here, there] = [openSqlite(path), openSqlite(path)];
  const [one, two] = await started(here, 'w1', 'r1', 'r2');
  const [three] = await started(there, 'w2', 'r3');
  await here.journal.commit('w1', [one.next({ entry: ENDED }), two.next()]);
  await there.mail.post('r2', { type: 'cancel', by: 'ann', why: 'late' });
  await operate(here.shared, { at: 1, by: 'ann', what: 'open', key: 'k', why: '' }, () => 1);
  await here.index.remove(['r1']);
  await here.compact?.();
  expect(rowsIn(path)).toBe(1);
  expect(await here.journal.broken?.()).toBeNull();
  expect(await here.journal.commit('w1', [two.next({ entry: suspended(null) })])).toEqual(['committed']);
  expect(await there.journal.commit('w2', [three.next()])).toEqual(['committed']);
  const [letter] = await there.mail.take('w1');
  expect(await there.journal.commit('w2', [new Chain('r1').first()])).toEqual(['stale']);
  await there.compact?.();
  await there.mail.take('w2', [letter?.id ?? 0]);
  for (const store of [here, there]) {
    expect(await store.journal.broken?.()).toBeNull();
    for (const run of ['r1', 'r2', 'r3']) expect(await store.journal.broken?.(run)).toBeNull();
  }
  await here.close();
  await there.close();
});

test('a store that was changed from outside is not compacted, so that the change stays visible', async () => {
  const path = freshPath();
  const store = openSqlite(path);
  await started(store, 'w1', 'r1', 'r2');
  const db = new DatabaseSync(path);
  db.exec("UPDATE runs SET user = 'eve' WHERE run = 'r1'");
  db.close();
  await store.compact?.();
  expect(rowsIn(path)).toBe(1);
  expect(await store.journal.broken?.()).toContain('r1');
  await store.close();
});

test('rows of the chains are neither changed nor deleted by a program that leaves the triggers in place', async () => {
  const path = freshPath();
  const store = openSqlite(path);
  const [one] = await started(store, 'w1', 'r1');
  await store.journal.commit('w1', [one.next()]);
  await store.compact?.();
  await store.journal.commit('w1', [one.next()]);
  const db = new DatabaseSync(path);
  for (const sql of [
    'DELETE FROM heads',
    'DELETE FROM heads WHERE id = (SELECT min(id) FROM heads)',
    "UPDATE heads SET hash = 'x'",
    "INSERT OR REPLACE INTO heads SELECT id, chain, body, 'x' FROM heads",
  ])
    expect(() => db.exec(sql)).toThrow(/append-only/);
  db.close();
  await store.close();
});
