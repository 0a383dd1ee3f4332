/** The tables of the database, and the triggers that bind every program that opens the file. */
import { DatabaseSync } from 'node:sqlite';
import { mkdirSync } from 'node:fs';
import { dirname } from 'node:path';
import { expect, test } from 'vitest';
import { connect, openSqlite } from '../../src/open.ts';
import { connectReadOnly } from '../../src/read-only.ts';
import { Chain, ENDED, started } from '../../../testing/src/suite/sample.ts';
import { freshPaths } from './place.ts';

const freshPath = freshPaths();

test('a fresh file has every table, all strict, WAL and full synchronisation', () => {
  const db = connect(freshPath(), 100);
  expect(pragma(db, 'user_version')).toBe(15);
  expect(pragma(db, 'journal_mode')).toBe('wal');
  expect(pragma(db, 'synchronous')).toBe(2);
  expect(pragma(db, 'foreign_keys')).toBe(1);
  const tables = db
    .prepare(
      "SELECT name, strict FROM pragma_table_list WHERE type = 'table' AND name NOT LIKE 'sqlite_%' ORDER BY name",
    )
    .all();
  expect(tables.map(({ name }) => name)).toEqual([
    'acts',
    'blobs',
    'checkpoints',
    'ends',
    'flows',
    'log',
    'mail',
    'runs',
    'seals',
    'shared',
    'snapshots',
    'store',
    'tombstones',
    'workers',
  ]);
  expect(tables.every(({ strict }) => strict === 1)).toBe(true);
  db.close();
});

test.each([
  ['newer', 1, 'journal-newer'],
  ['older', -1, 'journal-older'],
])('a file with a %s schema is refused and left alone, also for reading', async (_, by, code) => {
  const path = freshPath();
  await openSqlite(path).close();
  const db = new DatabaseSync(path);
  const version = Number(pragma(db, 'user_version')) + by;
  db.exec(`PRAGMA user_version = ${version}`);
  expect(() => openSqlite(path)).toThrow(expect.objectContaining({ code }));
  expect(() => connectReadOnly(path, 100)).toThrow(expect.objectContaining({ code }));
  expect(pragma(db, 'user_version')).toBe(version);
  db.close();
});

test('a database of another program is refused and left alone', () => {
  const path = freshPath();
  mkdirSync(dirname(path));
  const db = new DatabaseSync(path);
  db.exec('CREATE TABLE notes (text TEXT)');
  expect(() => openSqlite(path)).toThrow(expect.objectContaining({ code: 'journal-damaged' }));
  expect(pragma(db, 'journal_mode')).toBe('delete');
  db.close();
});

test.each([
  ["UPDATE log SET body = 'x'"],
  ['UPDATE log SET after = after + 1'],
  ['DELETE FROM log'],
  ["INSERT OR REPLACE INTO log (run, after, count, at, body, hash) VALUES (1, 0, 1, 0, 'x', 'x')"],
  ["INSERT OR REPLACE INTO log (run, after, count, at, body, hash) VALUES (1, 1, 1, 0, 'x', 'x')"],
  [
    "REPLACE INTO log (id, run, after, count, at, body, hash) SELECT id, run, after + count, 1, 0, 'x', 'x' FROM log ORDER BY id DESC LIMIT 1",
  ],
  ["INSERT INTO log (run, after, count, at, body, hash) VALUES (1, 3, 1, 0, 'x', 'x')"],
  ["INSERT INTO log (run, after, count, at, body, hash) VALUES (7, 0, 1, 0, 'x', 'x')"],
  [
    "UPDATE ends SET events = 0; INSERT OR REPLACE INTO log (run, after, count, at, body, hash) VALUES (1, 0, 1, 0, 'x', 'x')",
  ],
  [
    "UPDATE ends SET events = 9 WHERE run = 1; INSERT INTO log (run, after, count, at, body, hash) VALUES (1, 9, 1, 0, 'x', 'x')",
  ],
  ["INSERT INTO log (id, run, after, count, at, body, hash) VALUES (-1, 1, 3, 1, 0, 'x', 'x')"],
  [
    "INSERT INTO log (run, after, count, at, body, hash) VALUES (1, 0, 1, 0, 'x', 'x') ON CONFLICT (run, after) DO UPDATE SET body = 'x'",
  ],
  ["UPDATE blobs SET body = 'x'"],
  ['DELETE FROM blobs'],
  ["INSERT OR REPLACE INTO blobs (run, hash, body) VALUES (1, 'b1', 'x')"],
  ["REPLACE INTO blobs (id, run, hash, body) VALUES (1, 1, 'b2', 'x')"],
  ["INSERT INTO tombstones (id, run, events, hash, at, link) VALUES (1, 'r1', 2, 'x', 0, 'x')"],
  ['DELETE FROM tombstones'],
  ['UPDATE tombstones SET id = 1'],
  ["INSERT OR REPLACE INTO tombstones (id, run, events, hash, at, link) VALUES (2, 'r2', 1, 'x', 0, 'x')"],
])('L11: somebody else with the file cannot %s', async (statement) => {
  const path = freshPath();
  const store = openSqlite(path);
  const [lives, gone] = [new Chain('r1'), new Chain('r2')];
  await started(store, 'w1', lives, gone);
  await store.journal.commit('w1', [lives.next({ blobs: [{ hash: 'b1', body: 'one' }] }), gone.next({ entry: ENDED })]);
  await store.index.remove(await store.index.expired({ notation: 'graph' }, { runs: 0 }));
  const before = await store.journal.load('r1');
  const intruder = new DatabaseSync(path, { enableForeignKeyConstraints: false });
  expect(() => intruder.exec(statement)).toThrow(/append-only|only a run that has ended/);
  intruder.close();
  expect(await store.journal.load('r1')).toEqual(before);
  await store.close();
});

test('of a forgotten run remains a tombstone with the end of its chain, and nothing else', async () => {
  const path = freshPath();
  const store = openSqlite(path);
  const chain = new Chain('r1');
  await started(store, 'w1', chain);
  await store.journal.commit('w1', [
    chain.next({
      count: 3,
      blobs: [{ hash: 'b1', body: 'one' }],
      snapshot: { seq: 1, hash: 'h', body: 's' },
      entry: ENDED,
    }),
  ]);
  await store.mail.post('r1', { type: 'cancel', by: 'ann', why: '' });
  await store.index.remove(await store.index.expired({ notation: 'graph' }, { runs: 0 }));
  await store.close();
  const db = new DatabaseSync(path);
  expect(db.prepare('SELECT id, run, events, hash FROM tombstones').all()).toMatchObject([
    { id: 1, run: 'r1', events: 4, hash: chain.head },
  ]);
  for (const table of ['log', 'blobs', 'snapshots', 'mail', 'runs', 'flows'])
    expect(db.prepare(`SELECT * FROM ${table}`).all()).toEqual([]);
  expect(db.prepare('PRAGMA integrity_check').get()).toMatchObject({ integrity_check: 'ok' });
  db.close();
});

function pragma(db: DatabaseSync, name: string): unknown {
  return db.prepare(`PRAGMA ${name}`).get()?.[name];
}
