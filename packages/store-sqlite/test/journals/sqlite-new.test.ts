/** A new file that several processes open at the same moment: one completes it, and the others wait for that. */
import { cpSync, mkdirSync } from 'node:fs';
import { dirname } from 'node:path';
import type { DatabaseSync } from 'node:sqlite';
import { expect, onTestFinished, test } from 'vitest';
import { openDatabase } from '../../src/database.ts';
import { keepId } from '../../src/keep-id.ts';
import { freshPaths } from './place.ts';

const freshPath = freshPaths();

/** A new file whose id is in its log only. While another process has the checkpoint, SQLite says at once that it is busy. */
function newFile(timesBusy: number): { readonly db: DatabaseSync; readonly path: string } {
  const path = freshPath();
  mkdirSync(dirname(path));
  const real = openDatabase(path, {});
  onTestFinished(() => real.close());
  real.exec(`PRAGMA journal_mode = WAL; CREATE TABLE store (id TEXT); INSERT INTO store VALUES ('one')`);
  let left = timesBusy;
  const prepare = (sql: string): unknown => (left-- > 0 ? { get: () => ({ busy: 1 }) } : real.prepare(sql));
  return { db: { prepare } as DatabaseSync, path };
}

test('the id is in the file when another process had the checkpoint for a while', () => {
  const { db, path } = newFile(3);
  keepId(db, path, 60_000);
  cpSync(path, `${path}.copy`);
  const copy = openDatabase(`${path}.copy`, { readOnly: true });
  onTestFinished(() => copy.close());
  expect(copy.prepare('SELECT id FROM store').get()).toMatchObject({ id: 'one' });
});

test('a process that is kept from it for longer than it waits says so', () => {
  const { db, path } = newFile(Infinity);
  expect(() => keepId(db, path, 0)).toThrow(expect.objectContaining({ code: 'journal-busy' }) as Error);
});
