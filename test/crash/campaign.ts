/**
 * The real thing: a worker process is killed with SIGKILL at random moments, again and again, until its runs have ended.
 * Then everything is compared with the same runs in a process that was left alone: how each ended, what each thread did,
 * and what was done to the world (L8).
 */
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createChance } from './chance.ts';
import { effectsIn, startEffectServer } from './effects.ts';
import type { EffectRecord } from './effects.ts';
import { judge } from './outcome.ts';
import type { Judged } from './outcome.ts';
import { startWorker } from './processes.ts';
import type { Said, WorkerOrders } from './processes.ts';

export interface Campaign {
  readonly cycles: number;
  readonly seed: number;
  readonly say?: (line: string) => void;
  /** The clocks of the killed workers jump by up to this many milliseconds. */
  readonly clockJumpMs?: number;
}
export interface Verdict {
  /** Kills that hit a process with runs under way. */
  readonly kills: number;
  readonly runs: number;
  readonly events: number;
  readonly effects: number;
  /** Calls that came again after a kill, and changed nothing. */
  readonly repeats: number;
  /** How often a worker lost its runs to another one. */
  readonly lost: number;
  readonly violations: readonly string[];
}

const RUNS = 24;
const LEASE_MS = 200;
const ROUND_SEEDS = 1_000;
/** Enough that few runs are left; then other flows have their turn. */
const KILLS_PER_ROUND = 30;

export async function campaign({ cycles, seed, say = () => undefined, clockJumpMs = 0 }: Campaign): Promise<Verdict> {
  const chance = createChance(seed);
  const dir = mkdtempSync(join(tmpdir(), 'sluice-crash-'));
  const server = await startEffectServer();
  const total = { kills: 0, runs: 0, events: 0, effects: 0, repeats: 0, lost: 0, violations: [] as string[] };
  try {
    for (let round = 0; total.kills < cycles; round++) {
      const base = seed + round * ROUND_SEEDS;
      const orders = (name: string): WorkerOrders => ({
        name,
        db: join(dir, `${round}-${name}.db`),
        space: server.space(`${round}-${name}`),
        seed: base,
        count: RUNS,
        leaseMs: LEASE_MS,
        snapshotEvery: chance.oneOf([0, 20, 100]),
      });
      const disturbed = clockJumpMs === 0 ? orders('crashed') : { ...orders('crashed'), clockJumpMs };
      const crashed = await crash(disturbed, Math.min(KILLS_PER_ROUND, cycles - total.kills), chance);
      total.kills += crashed.kills;
      total.lost += crashed.lost;
      const left = await finish(orders('crashed'), 'last');
      const alone = await finish({ ...orders('alone'), leaseMs: 10_000 }, 'alone');
      const problems = [...crashed.problems, ...left, ...alone];
      const judged = await judge(join(dir, `${round}-crashed.db`));
      const [a, b] = await Promise.all([
        effectsIn(server.space(`${round}-crashed`)),
        effectsIn(server.space(`${round}-alone`)),
      ]);
      problems.push(
        ...judged.violations,
        ...a.violations,
        ...b.violations,
        ...differences(judged, await judge(join(dir, `${round}-alone.db`))),
        ...effectDifferences(a, b),
      );
      total.violations.push(...problems.map((problem) => `seed ${base}: ${problem}`));
      total.runs += judged.outcomes.size;
      total.events += judged.events;
      total.effects += a.applied.length;
      total.repeats += a.repeats;
      say(
        `seed ${base}: ${crashed.kills} kills, ${judged.outcomes.size} runs, ${a.applied.length} effects, ${a.repeats} asked for again, ${problems.length} violations (${total.kills}/${cycles})`,
      );
    }
  } finally {
    await server.stop();
    rmSync(dir, { recursive: true, force: true });
  }
  return total;
}

/** Kills and restarts until the runs have ended or there were enough kills. */
async function crash(
  orders: WorkerOrders,
  killsMax: number,
  chance: ReturnType<typeof createChance>,
): Promise<{ kills: number; lost: number; problems: string[] }> {
  const problems: string[] = [];
  let lost = 0;
  for (let kills = 0, life = 0; ; life++) {
    if (kills >= killsMax) return { kills, lost, problems };
    const worker = startWorker({ ...orders, name: `${orders.name}-${life}` });
    // One in eight dies while it is still opening the database.
    if (chance.flip(0.125)) await pause(20 + chance.below(200));
    else {
      await worker.said('ready');
      await pause(chance.below(220));
    }
    worker.process.kill('SIGKILL');
    const said: Said = await worker.ended();
    lost += worker.timesLost();
    if (said === 'done') return { kills, lost, problems };
    if (said.startsWith('fault')) return { kills, lost, problems: [...problems, said] };
    else kills += 1;
  }
}

/** Works until everything has ended, undisturbed. */
async function finish(orders: WorkerOrders, life: string): Promise<string[]> {
  const said = await startWorker({ ...orders, name: `${orders.name}-${life}` }).ended();
  return said === 'done' ? [] : [`the ${life} worker ended with: ${said}`];
}

function differences(crashed: Judged, alone: Judged): string[] {
  const found: string[] = [];
  for (const [run, expected] of alone.outcomes) {
    const got = crashed.outcomes.get(run);
    if (JSON.stringify(got) !== JSON.stringify(expected))
      found.push(
        `run ${run} ended otherwise:\n  crashed ${JSON.stringify(got)}\n  alone   ${JSON.stringify(expected)}`,
      );
  }
  if (crashed.outcomes.size !== alone.outcomes.size)
    found.push(`${crashed.outcomes.size} runs instead of ${alone.outcomes.size}`);
  return found;
}

/** The same things were done to the world, each as often as by the run that was left alone. */
function effectDifferences(crashed: EffectRecord, alone: EffectRecord): string[] {
  const times = ({ applied }: EffectRecord): Map<string, number> => {
    const counts = new Map<string, number>();
    for (const [, { what }] of applied) counts.set(what, (counts.get(what) ?? 0) + 1);
    return counts;
  };
  const [got, expected] = [times(crashed), times(alone)];
  return [...new Set([...got.keys(), ...expected.keys()])]
    .filter((what) => got.get(what) !== expected.get(what))
    .map((what) => `applied ${got.get(what) ?? 0} times instead of ${expected.get(what) ?? 0}: ${what}`);
}

function pause(ms: number): Promise<void> {
  return new Promise((resolve) => setTimeout(resolve, ms));
}
