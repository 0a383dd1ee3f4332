/** Several processes on one file, stopped and killed: nobody writes what is not his, and nothing that was said is lost. */
import { expect, onTestFinished, test } from 'vitest';
import { openSqlite } from '../../src/open.ts';
import { expectChain } from './chained.ts';
import { freshPaths } from './place.ts';
import { startChild } from './processes.ts';
import type { Child } from './processes.ts';

const freshPath = freshPaths();

test(
  'L8: kill -9 in the middle of commits leaves every commit that was acknowledged, and no half of one',
  { timeout: 60_000 },
  async () => {
    const path = freshPath();
    const seed = Number(process.env['SEED'] ?? Math.floor(Math.random() * 2 ** 31));
    console.log(`seed ${seed}`);
    for (let round = 0; round < 8; round += 1) {
      const child = started('write', path, `w${round}`);
      const acks = 1 + (Math.abs(seed * (round + 7)) % 40);
      let acknowledged: [string, number][] = [];
      for (let ack = 0; ack < acks; ack += 1) acknowledged = (await child.said()) as [string, number][];
      child.process.kill('SIGKILL');
      for (let more = await child.said(); more !== null; more = await child.said())
        acknowledged = more as [string, number][];
      await child.exited();

      const store = openSqlite(path);
      const lengths = new Set<number>();
      for (const [run, seq] of acknowledged) {
        const stored = await store.journal.load(run);
        expect(expectChain(run, stored)).toBeGreaterThanOrEqual(seq);
        lengths.add(stored?.appends.length ?? 0);
      }
      // All five runs move in every commit, so that a difference between them would be half a commit.
      expect(lengths.size).toBe(1);
      await store.close();
    }
  },
);

test('a process that was asleep while its run was taken over can do nothing with it', { timeout: 30_000 }, async () => {
  const path = freshPath();
  const sleeper = started('holder', path, 'sleeper', 'r1', 1);
  expect(await sleeper.said()).toEqual(['committed', 'committed']);
  sleeper.process.kill('SIGSTOP');

  const store = openSqlite(path);
  await store.leases.renew('w2', 600_000);
  await expect.poll(() => store.leases.claim('w2', { run: 'r1' })).toEqual(['r1']);

  sleeper.process.kill('SIGCONT');
  sleeper.process.stdin?.write('go on\n');
  expect(await sleeper.said()).toEqual({ result: 'stale', renewed: false, claimed: [] });
  expect((await store.journal.load('r1'))?.appends).toHaveLength(2);
  sleeper.process.stdin?.end();
  await sleeper.exited();
  await store.close();
});

test('the run of a process that was killed is free at once, and that of a stopped one is not', async () => {
  const path = freshPath();
  const [killed, stopped] = [started('holder', path, 'killed', 'r1'), started('holder', path, 'stopped', 'r2')];
  for (const each of [killed, stopped]) expect(await each.said()).toEqual(['committed', 'committed']);
  stopped.process.kill('SIGSTOP');

  const store = openSqlite(path);
  await store.leases.renew('w2', 600_000);
  expect(await store.leases.claim('w2', { limit: 10 })).toEqual([]);
  killed.process.kill('SIGKILL');
  await killed.exited();
  expect(await store.leases.claim('w2', { limit: 10 })).toEqual(['r1']);
  expect(await store.leases.claim('w2', { run: 'r2' })).toEqual([]);

  stopped.process.kill('SIGCONT');
  stopped.process.stdin?.write('go on\n');
  expect(await stopped.said()).toEqual({ result: 'committed', renewed: true, claimed: ['r2'] });
  stopped.process.stdin?.end();
  await stopped.exited();
  await store.close();
});

test(
  'four processes that race for the same runs start each once and never append side by side',
  { timeout: 60_000 },
  async () => {
    const [path, runs, rounds] = [freshPath(), 20, 150];
    const racers = ['a', 'b', 'c', 'd'].map((name) => started('race', path, name, runs, rounds));
    const results = (await Promise.all(racers.map((racer) => racer.said()))) as { started: number; appended: number }[];
    await Promise.all(racers.map((racer) => racer.exited()));
    expect(sum(results.map(({ started: count }) => count))).toBe(runs);

    const store = openSqlite(path);
    let appended = 0;
    for (let index = 0; index < runs; index += 1) {
      const stored = await store.journal.load(`r${index}`);
      expectChain(`r${index}`, stored);
      appended += (stored?.appends.length ?? 0) - 1;
    }
    expect(appended).toBe(sum(results.map((result) => result.appended)));
    expect(appended).toBeGreaterThan(rounds / 2);
    await store.close();
  },
);

function started(...args: readonly (string | number)[]): Child {
  const child = startChild(...args);
  onTestFinished(() => void child.process.kill('SIGKILL'));
  return child;
}

function sum(numbers: readonly number[]): number {
  return numbers.reduce((total, each) => total + each, 0);
}
