/** What the disk or another process may do to a journal: each has a clear error, and nothing is lost by it. */
import { randomBytes } from 'node:crypto';
import { chmodSync, chownSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { describe, expect, test } from 'vitest';
import { NO_CODEC } from '@sluice-internal/engine/ports';
import { Connection } from '../../src/connection.ts';
import { connect, openSqlite } from '../../src/open.ts';
import { Chain, started } from '../../../testing/src/suite/sample.ts';
import { freshPaths } from './place.ts';

const freshPath = freshPaths();

test('while another process writes for too long, a commit is refused, and succeeds afterwards', async () => {
  const path = freshPath();
  const store = openSqlite(path, { busyMs: 20 });
  const chain = new Chain('r1');
  await started(store, 'w1', chain);
  const other = new DatabaseSync(path);
  other.exec('BEGIN IMMEDIATE');
  const append = chain.next();
  await expect(store.journal.commit('w1', [append])).rejects.toMatchObject({
    name: 'SluiceError',
    code: 'journal-busy',
  });
  await expect(store.leases.renew('w1', 1)).rejects.toMatchObject({ code: 'journal-busy' });
  expect((await store.journal.load('r1'))?.appends).toHaveLength(1);
  other.exec('ROLLBACK');
  other.close();
  expect(await store.journal.commit('w1', [append])).toEqual(['committed']);
  await store.close();
});

test('a file that another process has locked cannot be opened', async () => {
  const path = freshPath();
  await openSqlite(path).close();
  const other = new DatabaseSync(path);
  other.exec('PRAGMA locking_mode = EXCLUSIVE; BEGIN EXCLUSIVE');
  expect(codeOfOpening(path)).toBe('journal-busy');
  other.close();
  await openSqlite(path).close();
});

test('a file that is no database, or a broken one, is damaged and left as it is', async () => {
  const [noise, broken] = [freshPath(), freshPath()];
  mkdirSync(dirname(noise));
  writeFileSync(noise, randomBytes(8192));
  expect(codeOfOpening(noise)).toBe('journal-damaged');

  await openSqlite(broken).close();
  const bytes = readFileSync(broken);
  bytes.fill(0xff, 100, 4096);
  writeFileSync(broken, bytes);
  expect(codeOfOpening(broken)).toBe('journal-damaged');
  expect(readFileSync(broken).equals(bytes)).toBe(true);
});

test('pages that are broken further in are damaged when they are read', async () => {
  const path = freshPath();
  const store = openSqlite(path);
  const chain = new Chain('r1');
  await started(store, 'w1', chain);
  await store.journal.commit(
    'w1',
    Array.from({ length: 100 }, () => chain.next({ body: 'x'.repeat(1000) })),
  );
  await store.close();
  const bytes = readFileSync(path);
  bytes.fill(0xff, bytes.length / 2);
  writeFileSync(path, bytes);
  const again = openSqlite(path);
  await expect(again.journal.load('r1')).rejects.toMatchObject({ code: 'journal-damaged' });
  await again.close();
});

test('a read that fails concerns no other read of the same turn', async () => {
  const path = freshPath();
  const connection = new Connection(connect(path, 100), path, NO_CODEC);
  const damage = new Error('damaged');
  const failing = (): never => {
    throw damage;
  };
  const reads = [() => 1, failing, () => 2].map((work) => connection.readTogether<number>(work));
  expect(await Promise.allSettled(reads)).toEqual([
    { status: 'fulfilled', value: 1 },
    { status: 'rejected', reason: damage },
    { status: 'fulfilled', value: 2 },
  ]);
  connection.close();
});

test('a journal that was closed before its first use says so', async () => {
  const { journal, leases, close } = openSqlite(freshPath());
  await close();
  const closed = { code: 'engine-closed' };
  await expect(leases.renew('w1', 1)).rejects.toMatchObject(closed);
  await expect(leases.claim('w1', { run: 'r1' })).rejects.toMatchObject(closed);
  await expect(journal.commit('w1', [])).rejects.toMatchObject(closed);
  await expect(journal.load('r1')).rejects.toMatchObject(closed);
});

test('a path that leads nowhere cannot be reached', () => {
  const path = freshPath();
  expect(codeOfOpening(join(dirname(path), 'no', 'such', 'sluice.db'))).toBe('journal-unavailable');
  mkdirSync(dirname(path));
  expect(codeOfOpening(dirname(path))).toBe('journal-unavailable');
  writeFileSync(path, '');
  expect(codeOfOpening(join(path, 'sluice.db'))).toBe('journal-unavailable');
});

describe('read-only', () => {
  test('a folder in which nothing can be made', () => {
    const path = freshPath();
    share(path);
    mkdirSync(dirname(path), { mode: 0o555 });
    expect(asOrdinaryUser(() => codeOfOpening(path))).toBe('journal-read-only');
  });

  test('a parent folder in which nothing can be made', () => {
    const parent = dirname(freshPath());
    share(parent);
    mkdirSync(parent, { mode: 0o555 });
    expect(asOrdinaryUser(() => codeOfOpening(join(parent, '.sluice', 'sluice.db')))).toBe('journal-read-only');
  });

  test('a file that may only be read', async () => {
    const path = freshPath();
    share(path);
    await openSqlite(path).close();
    chmodSync(path, 0o444);
    chmodSync(dirname(path), 0o777);
    expect(asOrdinaryUser(() => codeOfOpening(path))).toBe('journal-read-only');
  });

  test('a file that may be written in a folder that may not', async () => {
    const path = freshPath();
    share(path);
    await openSqlite(path).close();
    if (isRoot) chownSync(path, NOBODY, NOBODY);
    chmodSync(dirname(path), 0o555);
    expect(asOrdinaryUser(() => codeOfOpening(path))).toBe('journal-read-only');
  });
});

const NOBODY = 65_534;
const isRoot = process.getuid?.() === 0;

/** Permissions do not hold for root, so that root has to be somebody else for a while. */
function asOrdinaryUser<T>(work: () => T): T {
  if (!isRoot) return work();
  process.seteuid?.(NOBODY);
  try {
    return work();
  } finally {
    process.seteuid?.(0);
  }
}

/** Lets everybody walk to where the path's folder will be. */
function share(path: string): void {
  chmodSync(dirname(dirname(path)), 0o755);
}

function codeOfOpening(path: string): string {
  try {
    void openSqlite(path, { busyMs: 20 }).close();
    return 'none';
  } catch (error) {
    return (error as { code: string }).code;
  }
}
