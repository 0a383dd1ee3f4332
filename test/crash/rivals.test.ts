/**
 * Several processes on one database file. One of them is put to sleep for longer than its lease: the others take its runs
 * over, and when it wakes up it stops before it acts.
 */
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { effectsIn, startEffectServer } from './effects.ts';
import type { EffectServer } from './effects.ts';
import { judge } from './outcome.ts';
import { sceneOf } from './random-flow.ts';
import { startWorker } from './processes.ts';
import type { WorkerOrders, WorkerProcess } from './processes.ts';

const LEASE_MS = 400;
const dir = mkdtempSync(join(tmpdir(), 'sluice-rivals-'));
const log = join(dir, 'acts.log');
const workers = new Map<string, WorkerProcess>();
let server: EffectServer;

beforeAll(async () => {
  writeFileSync(log, '');
  server = await startEffectServer();
});
afterAll(async () => {
  for (const { process } of workers.values()) process.kill('SIGKILL');
  await server.stop();
  rmSync(dir, { recursive: true, force: true });
});

test('L8: a process that slept through its lease acts no more', { timeout: 120_000 }, async () => {
  const seed = Number(process.env['SEED'] ?? Date.now() % 1_000_000_000);
  process.stdout.write(`rivals: seed ${seed}\n`);
  const orders = (name: string): WorkerOrders => ({
    name,
    db: join(dir, 'rivals.db'),
    space: server.space('rivals'),
    seed,
    count: 250,
    leaseMs: LEASE_MS,
    snapshotEvery: 50,
    log,
  });
  let lives = 0;
  const start = (): Promise<void> => {
    const name = `w${lives++}`;
    workers.set(name, startWorker(orders(name)));
    return (workers.get(name) as WorkerProcess).said('ready');
  };
  await Promise.all([start(), start(), start()]);
  let slept = 0;
  for (let turn = 0; turn < 10 && slept < 2; turn++) {
    await pause(80);
    // Whoever acted last has something to lose.
    const name = readFileSync(log, 'utf8').trimEnd().split(' ').at(-1) ?? '';
    const sleeper = workers.get(name);
    if (sleeper?.process.kill('SIGSTOP') !== true) continue;
    await pause(LEASE_MS * 2.5);
    sleeper.process.kill('SIGCONT');
    // One that was stopped in the middle of a write kept all others out; then nobody could take over.
    if ((await Promise.race([sleeper.ended(), pause(LEASE_MS)])) !== 'lost') continue;
    slept += 1;
    await start();
  }
  const last = await Promise.all([...workers.values()].map((worker) => worker.ended()));
  expect(last.filter((said) => said !== 'done' && said !== 'lost')).toEqual([]);
  expect(await startWorker(orders('last')).ended()).toBe('done');
  // Whether anybody is caught asleep with something in hand is up to the machine; `test/runtime/leases.test.ts` does not ask it.
  process.stdout.write(`rivals: ${slept} slept through a lease\n`);

  expect(turnsBack(readFileSync(log, 'utf8'))).toEqual([]);
  const { violations, applied } = await effectsIn(server.space('rivals'));
  expect(violations).toEqual([]);
  expect(
    await startWorker({
      ...orders('alone'),
      db: join(dir, 'alone.db'),
      space: server.space('alone'),
      leaseMs: 10_000,
    }).ended(),
  ).toBe('done');
  const [together, alone] = [await judge(join(dir, 'rivals.db')), await judge(join(dir, 'alone.db'))];
  expect(together.violations).toEqual([]);
  expect([...together.outcomes.values()].toSorted(byRun)).toEqual([...alone.outcomes.values()].toSorted(byRun));
  const what = (entries: typeof applied): string[] => entries.map(([, effect]) => effect.what).toSorted();
  expect(what(applied)).toEqual(what((await effectsIn(server.space('alone'))).applied));
});

/** Runs that were acted upon by a process, then by another, and then by the first again. */
function turnsBack(lines: string): string[] {
  const hands = new Map<string, string[]>();
  const found: string[] = [];
  // A run that waits for a person belongs to nobody, and may come back to whom it was with.
  const waits = (run: string): boolean => JSON.stringify(sceneOf(Number(run.slice(2))).flow).includes('"ask"');
  const acts = lines
    .trimEnd()
    .split('\n')
    .map((line) => line.split(' '));
  for (const [, run = '', worker = ''] of acts.toSorted(([a], [b]) => Number(a) - Number(b))) {
    if (waits(run)) continue;
    const before = hands.get(run) ?? [];
    hands.set(run, before);
    if (before.at(-1) === worker) continue;
    if (before.includes(worker)) found.push(`${run}: ${[...before, worker].join(', ')}`);
    before.push(worker);
  }
  return found;
}

function byRun(a: { readonly run: string }, b: { readonly run: string }): number {
  return a.run < b.run ? -1 : 1;
}

function pause(ms: number): Promise<void> {
  return new Promise((resolve) => setTimeout(resolve, ms));
}
