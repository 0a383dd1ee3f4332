/**
 * Several processes on one database file. One of them is put to sleep for longer than its lease: the others take its runs
 * over, and when it wakes up it does nothing with them any more.
 */
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { isDeepStrictEqual } from 'node:util';
import { effectsIn, startEffectServer } from './effects.ts';
import type { EffectServer } from './effects.ts';
import { judge } from './outcome.ts';
import { sceneOf } from './random-flow.ts';
import { startWorker } from './processes.ts';
import type { WorkerOrders, WorkerProcess } from './processes.ts';

/** Longer than a process waits for its turn on a busy machine: else the others take over from one that was not put to sleep. */
const LEASE_MS = 1500;

export interface Rivals {
  readonly seed: number;
  readonly processes: number;
  readonly runs: number;
  /** How often a process is put to sleep, if one can be caught at work. */
  readonly stops: number;
}
export interface RivalsVerdict {
  /** Processes that woke up after their lease and had lost their runs. */
  readonly slept: number;
  readonly runs: number;
  readonly effects: number;
  readonly violations: readonly string[];
}

export async function rivals(story: Rivals): Promise<RivalsVerdict> {
  const dir = mkdtempSync(join(tmpdir(), 'sluice-rivals-'));
  const server = await startEffectServer();
  const workers = new Map<string, WorkerProcess>();
  try {
    return await play(story, dir, server, workers);
  } finally {
    for (const { process } of workers.values()) process.kill('SIGKILL');
    await server.stop();
    rmSync(dir, { recursive: true, force: true });
  }
}

async function play(
  { seed, processes, runs, stops }: Rivals,
  dir: string,
  server: EffectServer,
  workers: Map<string, WorkerProcess>,
): Promise<RivalsVerdict> {
  const log = join(dir, 'acts.log');
  writeFileSync(log, '');
  const orders = (name: string): WorkerOrders => ({
    name,
    db: join(dir, 'rivals.db'),
    space: server.space('rivals'),
    seed,
    count: runs,
    leaseMs: LEASE_MS,
    snapshotEvery: 50,
    log,
  });
  let lives = 0;
  const start = (): Promise<void> => {
    const name = `w${lives++}`;
    const worker = startWorker(orders(name));
    workers.set(name, worker);
    return worker.said('ready');
  };
  await Promise.all(Array.from({ length: processes }, start));
  const slept = await stopAtWork(workers, log, stops);
  const last = await Promise.all([...workers.values()].map((worker) => worker.ended()));
  const violations: string[] = last.filter((said) => said !== 'done');
  const finished = await startWorker(orders('last')).ended();
  const alone = { ...orders('alone'), db: join(dir, 'alone.db'), space: server.space('alone'), leaseMs: 10_000 };
  const undisturbed = await startWorker(alone).ended();
  for (const said of [finished, undisturbed]) if (said !== 'done') violations.push(`a worker ended with: ${said}`);
  violations.push(...turnsBack(readFileSync(log, 'utf8')).map((run) => `a process acted again after another: ${run}`));
  const together = await judge(orders('').db);
  const expected = await judge(alone.db);
  violations.push(...together.violations);
  for (const [run, outcome] of expected.outcomes)
    if (!isDeepStrictEqual(together.outcomes.get(run), outcome))
      violations.push(
        `run ${run} ended otherwise:\n  rivals ${JSON.stringify(together.outcomes.get(run))}\n  alone  ${JSON.stringify(outcome)}`,
      );
  const [effects, expectedEffects] = [await effectsIn(orders('').space), await effectsIn(alone.space)];
  violations.push(...effects.violations);
  const whats = ({ applied }: typeof effects): string[] => applied.map(([, { what }]) => what).toSorted();
  if (!isDeepStrictEqual(whats(effects), whats(expectedEffects))) violations.push('other effects than alone');
  return { slept, runs: together.outcomes.size, effects: effects.applied.length, violations };
}

/** Stops the process that acted last, for longer than its lease. */
async function stopAtWork(workers: ReadonlyMap<string, WorkerProcess>, log: string, stops: number): Promise<number> {
  let slept = 0;
  for (let turn = 0; turn < stops * 5 && slept < stops; turn++) {
    await pause(80);
    const [name = ''] = (readFileSync(log, 'utf8').trimEnd().split(' ').at(-1) ?? '').split('+');
    const sleeper = workers.get(name);
    const before = sleeper?.timesLost();
    if (sleeper?.process.kill('SIGSTOP') !== true) continue;
    await pause(LEASE_MS * 2);
    sleeper.process.kill('SIGCONT');
    // One that was stopped in the middle of a write kept all others out, so none could take over.
    await pause(LEASE_MS);
    if (sleeper.timesLost() !== before) slept += 1;
  }
  return slept;
}

/** Runs that one process acted upon, then another, and then the first again. */
function turnsBack(lines: string): string[] {
  const processesOf = new Map<string, string[]>();
  const found: string[] = [];
  // A run that waits for a person belongs to no process, and may come back to the one before.
  const waiting = new Map<string, boolean>();
  const waits = (run: string): boolean => {
    const known = waiting.get(run) ?? JSON.stringify(sceneOf(Number(run.slice(2))).flow).includes('"ask"');
    waiting.set(run, known);
    return known;
  };
  const acts = lines
    .trimEnd()
    .split('\n')
    .map((line) => line.split(' '));
  for (const [, run = '', worker = ''] of acts.toSorted(([a], [b]) => Number(a) - Number(b))) {
    if (run === '' || waits(run)) continue;
    const before = processesOf.get(run) ?? [];
    processesOf.set(run, before);
    if (before.at(-1) === worker) continue;
    if (before.includes(worker)) found.push(`${run}: ${[...before, worker].join(', ')}`);
    before.push(worker);
  }
  return found;
}

function pause(ms: number): Promise<void> {
  return new Promise((resolve) => setTimeout(resolve, ms));
}
