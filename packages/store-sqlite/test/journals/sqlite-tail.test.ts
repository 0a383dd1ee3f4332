/**
 * A torn tail of the write-ahead log, as a power cut leaves it: whatever is cut off or changed there, what is found
 * afterwards is exactly what some number of whole commits had stored, and its hash chain holds.
 */
import { closeSync, copyFileSync, mkdirSync, openSync, readFileSync, rmSync, truncateSync, writeSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { expect, test } from 'vitest';
import { openSqlite } from '../../src/open.ts';
import { Chain, started } from '../../../testing/src/suite/sample.ts';
import { expectChain } from './chained.ts';
import { freshPaths } from './place.ts';

const freshPath = freshPaths();
const RUNS = ['r1', 'r2', 'r3'];
const FRAME = 2048 + 24;
const HEADER = 32;

test('L8: a torn tail gives a prefix of the commits, and never half of one', async () => {
  const { db, wal, states } = await written();
  const seen = new Set<number>();
  const lengths = [...offsets(wal.length)];
  for (const length of lengths) seen.add(await commitsFound(db, (path) => truncateSync(path, length), states));
  expect(await commitsFound(db, () => undefined, states)).toBe(states.length - 1);
  expect([...seen].sort((a, b) => a - b)).toEqual(states.map((_, index) => index).slice(0, -1));
});

test('L8: a byte that changed in the tail ends the prefix there', async () => {
  const { db, wal, states } = await written();
  const seen = new Set<number>();
  for (const offset of offsets(wal.length))
    seen.add(await commitsFound(db, (path) => flip(path, offset, wal[offset] ?? 0), states));
  expect(seen.size).toBeGreaterThan(states.length / 2);
});

/** A copy of a database with its log, as they lie on the disk, and where the runs stood after each commit. */
async function written(): Promise<{ db: string; wal: Buffer; states: string[] }> {
  const path = freshPath();
  const chains = RUNS.map((run) => new Chain(run));
  const setup = openSqlite(path);
  await started(setup, 'w1', ...chains);
  await setup.close();
  const store = openSqlite(path);
  const states = [stateOf(chains.map(({ seq }) => seq))];
  for (let round = 0; round < 10; round += 1) {
    const parts = chains.filter((_, index) => (round + index) % 3 !== 0);
    await store.journal.commit(
      'w1',
      parts.map((chain) => chain.next({ count: 1 + (round % 4), body: 'x'.repeat(1 + ((round * 977) % 3000)) })),
    );
    states.push(stateOf(chains.map(({ seq }) => seq)));
  }
  const db = freshPath();
  mkdirSync(dirname(db));
  copyFileSync(path, db);
  copyFileSync(`${path}-wal`, `${db}-wal`);
  await store.close();
  return { db, wal: readFileSync(`${db}-wal`), states };
}

/** Damages a copy of a copy and opens it: how many commits does it hold? */
async function commitsFound(db: string, damage: (wal: string) => void, states: readonly string[]): Promise<number> {
  const dir = join(dirname(db), 'torn');
  mkdirSync(dir, { recursive: true });
  const path = join(dir, 'sluice.db');
  copyFileSync(db, path);
  copyFileSync(`${db}-wal`, `${path}-wal`);
  damage(`${path}-wal`);
  const store = openSqlite(path);
  const heads: number[] = [];
  for (const run of RUNS) heads.push(expectChain(run, await store.journal.load(run)));
  await store.close();
  rmSync(dir, { recursive: true });
  const found = states.indexOf(stateOf(heads));
  expect(found, `heads ${heads.join(', ')} are those of no commit`).toBeGreaterThanOrEqual(0);
  return found;
}

/** Around every frame's ends, and spread within it. */
function* offsets(length: number): Generator<number> {
  for (let frame = HEADER; frame < length; frame += FRAME)
    yield* [frame, frame + 1, frame + 23, frame + 24, frame + 1777, frame + FRAME - 1];
}

function flip(path: string, offset: number, byte: number): void {
  const file = openSync(path, 'r+');
  writeSync(file, Buffer.from([byte ^ 0x5a]), 0, 1, offset);
  closeSync(file);
}

function stateOf(heads: readonly number[]): string {
  return heads.join(' ');
}
