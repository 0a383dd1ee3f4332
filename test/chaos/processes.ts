/** The parts that start processes: kills, stops, jumping clocks, a full disk, few open files, little memory. */
import { spawnSync } from 'node:child_process';
import type { SpawnSyncReturns } from 'node:child_process';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { campaign } from '../crash/campaign.ts';
import type { DiskStory } from '../crash/disk-scene.ts';
import { effectsIn, startEffectServer } from '../crash/effects.ts';
import { judge } from '../crash/outcome.ts';
import { startWorker } from '../crash/processes.ts';
import type { WorkerOrders } from '../crash/processes.ts';
import { rivals } from '../crash/rivals.ts';
import { program } from '../support/programs.ts';
import type { Part, Round } from './part.ts';

export const kills: Part = {
  name: 'kills',
  promise: 'kill -9 at any moment loses nothing and does nothing twice',
  round: (seed, size) => killed(seed, size === 'long' ? 30 : 4, 0),
};

/** Approvals of the flows expire after an hour, so a jump of 20 minutes must change nothing. */
export const clocks: Part = {
  name: 'clocks',
  promise: 'a clock that jumps changes no outcome and freezes no run',
  round: (seed, size) => killed(seed, size === 'long' ? 15 : 2, 20 * 60_000),
};

async function killed(seed: number, cycles: number, clockJumpMs: number): Promise<Round> {
  const { violations, ...figures } = await campaign({ cycles, seed, clockJumpMs });
  return { figures, violations };
}

export const stops: Part = {
  name: 'stops',
  promise: 'of two or three processes, one that slept through its lease acts no more',
  round: async (seed, size) => {
    const { violations, ...figures } = await rivals(
      size === 'long'
        ? { seed, processes: 2 + (seed % 2), runs: 250, stops: 3 }
        : { seed, processes: 2, runs: 40, stops: 1 },
    );
    return { figures, violations };
  },
};

export const disk: Part = {
  name: 'disk',
  promise: 'a full disk stops the engine with an error, and nothing is lost',
  round: async () => fillDisk(),
};

function fillDisk(): Round {
  const dir = mkdtempSync(join(tmpdir(), 'sluice-disk-'));
  const mount = 'mount -t tmpfs -o size=24m none "$1"';
  const inside = (script: string): SpawnSyncReturns<string> =>
    spawnSync(
      'unshare',
      [
        '--map-root-user',
        '--mount',
        'sh',
        '-c',
        script,
        'sh',
        dir,
        process.execPath,
        program('test/crash/disk-scene.ts'),
      ],
      {
        encoding: 'utf8',
      },
    );
  try {
    if (inside(mount).status !== 0)
      return { figures: {}, violations: [], skipped: 'a small disk cannot be mounted here' };
    const { stdout, stderr } = inside(`${mount} && disk="$1" && shift && exec "$@" "$disk"`);
    if (stdout === '') return { figures: {}, violations: [stderr] };
    const story = JSON.parse(stdout) as DiskStory;
    const violations = [...story.violations];
    if (story.fault !== 'disk-full') violations.push(`the full disk was reported as ${story.fault}`);
    if (story.opened !== 'journal-read-only') violations.push(`the read-only disk was reported as ${story.opened}`);
    if (story.states.some((state) => state !== 'completed')) violations.push('a run did not complete');
    if (story.asked.some((times) => times > 2)) violations.push('an effect was asked for more than twice');
    return { figures: { fills: 1, effects: story.effects, runs: story.states.length }, violations };
  } finally {
    rmSync(dir, { recursive: true, force: true });
  }
}

/** Node itself ends with a signal below 21 open files; these are the limits at which it starts. */
const FILE_LIMITS = [21, 22, 23, 24, 25, 26, 28, 32];

export const files: Part = {
  name: 'files',
  promise: 'too few open files give an error or slow the work, and nothing is lost',
  round: async (seed, size) => {
    const dir = mkdtempSync(join(tmpdir(), 'sluice-files-'));
    const server = await startEffectServer();
    try {
      const limits = size === 'long' ? FILE_LIMITS : [FILE_LIMITS[seed % FILE_LIMITS.length] ?? 24];
      const orders = (name: string): WorkerOrders => ({
        name,
        db: join(dir, `${name}.db`),
        space: server.space(name),
        seed,
        count: 24,
        leaseMs: 300,
        snapshotEvery: 20,
      });
      const figures = { starts: 0, done: 0, refused: 0 };
      const violations: string[] = [];
      for (const openFiles of limits) {
        const worker = startWorker({ ...orders('limited'), name: `limited-${openFiles}`, openFiles });
        const said = await worker.ended();
        figures.starts += 1;
        figures[said === 'done' ? 'done' : 'refused'] += 1;
        if (worker.process.signalCode !== null)
          violations.push(`with ${openFiles} open files it ended by ${worker.process.signalCode}`);
      }
      // A call without a free descriptor fails, so a run may end otherwise; what was recorded and done must still hold.
      const said = await startWorker(orders('limited')).ended();
      if (said !== 'done') violations.push(`the last worker ended with: ${said}`);
      violations.push(...(await judge(orders('limited').db)).violations);
      violations.push(...(await effectsIn(orders('limited').space)).violations);
      return { figures, violations: violations.map((violation) => `seed ${seed}: ${violation}`) };
    } finally {
      await server.stop();
      rmSync(dir, { recursive: true, force: true });
    }
  },
};
