/** A full disk: the append that does not fit is refused as a whole, everything else stays, and room makes it fit. */
import { execFileSync } from 'node:child_process';
import { mkdirSync, rmSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { expect, onTestFinished, test } from 'vitest';
import { connect } from '../../src/open.ts';
import { NO_CODEC } from '@sluice-internal/engine/ports';
import { Connection } from '../../src/connection.ts';
import { Heads } from '../../src/heads.ts';
import { createJournal } from '../../src/journal.ts';
import { openSqlite } from '../../src/open.ts';
import type { Append, Journal } from '@sluice-internal/engine/ports';
import { Chain, started } from '../../../testing/src/suite/sample.ts';
import { freshPaths } from './place.ts';

const freshPath = freshPaths();

test('a disk without room', async ({ skip }) => {
  const dir = smallDisk(skip);
  const filler = join(dir, 'filler');
  writeFileSync(filler, 'x'.repeat(400_000));
  const store = openSqlite(join(dir, 'sluice.db'));
  const chain = new Chain('r1');
  await started(store, 'w1', chain);
  const refused = await fill(store.journal, chain);
  const before = await store.journal.load('r1');
  expect(before?.appends.at(-1)?.hash).not.toBe(refused.hash);

  await expect(store.journal.commit('w1', [refused])).rejects.toMatchObject({ code: 'disk-full' });
  rmSync(filler);
  expect(await store.journal.commit('w1', [refused])).toEqual(['committed']);
  const after = await store.journal.load('r1');
  expect(after?.appends).toEqual([...(before?.appends ?? []), expect.objectContaining({ hash: refused.hash })]);
  await store.close();
});

test('a disk that is full before the file is opened', async ({ skip }) => {
  const dir = smallDisk(skip);
  const path = join(dir, 'sluice.db');
  await openSqlite(path).close();
  const filler = join(dir, 'filler');
  expect(() => writeFileSync(filler, 'x'.repeat(2_000_000))).toThrow(/ENOSPC/);
  expect(() => openSqlite(path)).toThrow(expect.objectContaining({ code: 'disk-full' }));
  rmSync(filler);
  await openSqlite(path).close();
});

test('a database that has reached its size', async () => {
  const path = freshPath();
  const setup = openSqlite(path);
  const chain = new Chain('r1');
  await started(setup, 'w1', chain);
  await setup.close();

  const db = connect(path, 20);
  db.exec('PRAGMA max_page_count = 60');
  const connection = new Connection(db, path, NO_CODEC);
  const journal = createJournal(connection, new Heads(connection, setup.id));
  const refused = await fill(journal, chain);
  const before = await journal.load('r1');
  db.exec('PRAGMA max_page_count = 6000');
  expect(await journal.commit('w1', [refused])).toEqual(['committed']);
  expect((await journal.load('r1'))?.appends).toHaveLength((before?.appends.length ?? 0) + 1);
  connection.close();
});

/** Appends until there is no room for it, and returns the append that did not fit. */
async function fill(journal: Journal, chain: Chain): Promise<Append> {
  for (let index = 0; index < 1000; index += 1) {
    const append = chain.next({ body: 'x'.repeat(3000), blobs: [{ hash: `b${index}`, body: 'y'.repeat(3000) }] });
    const code = await journal.commit('w1', [append]).then(
      ([result]) => result,
      (error: { code?: string }) => error.code,
    );
    if (code === 'disk-full' && index > 3) return append;
    if (code !== 'committed') throw new Error(`append ${index} gave ${code}`);
  }
  throw new Error('there was always room');
}

function smallDisk(skip: (why: string) => void): string {
  const dir = dirname(freshPath());
  mkdirSync(dir);
  try {
    execFileSync('mount', ['-t', 'tmpfs', '-o', 'size=1m', 'tmpfs', dir], { stdio: 'pipe' });
  } catch {
    skip('mounting a small disk is not permitted here; the limit on pages below stands in for it');
  }
  onTestFinished(() => void execFileSync('umount', ['--lazy', dir]));
  return dir;
}
