/**
 * Runs on a disk of its own of a few megabytes: fills it while runs are under way, then makes room and goes on;
 * at last opens the database on the same disk made read-only. Prints what it saw as JSON. The test starts it in a mount
 * namespace, with the path of the disk.
 */
import { execFileSync } from 'node:child_process';
import { hash } from 'node:crypto';
import { rmSync, statfsSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { functionPerformer } from '../../packages/library/src/host/functions.ts';
import type { ToolFunction } from '@sluice-internal/tools/calls';
import { openSqlite } from '@sluice-internal/store-sqlite';
import { createRuntime } from '@sluice-internal/engine/worker';
import { SluiceError } from '@sluice-internal/engine/ports';
import type { Engine, Performer } from '@sluice-internal/engine/ports';
import { judge } from './outcome.ts';
import { steadyFlow } from './steady-flow.ts';

export interface DiskStory {
  /** The code of the error that stopped the engine when the disk was full. */
  readonly fault: string;
  /** Runs that had ended by then. */
  readonly endedBefore: number;
  readonly states: readonly string[];
  /** How often each effect was asked for, by its key: at most once before the disk was full, and once after. */
  readonly asked: readonly number[];
  readonly effects: number;
  readonly violations: readonly string[];
  readonly opened: string;
}

const disk = process.argv[2] ?? '';
const db = join(disk, 'sluice.db');
const ballast = join(disk, 'ballast');
const RUNS = 20;
const STEPS = 30;
const ROOM_BYTES = 700_000;

const asked = new Map<string, number>();
const apply: ToolFunction = async (args, { idempotencyKey }) => {
  asked.set(idempotencyKey, (asked.get(idempotencyKey) ?? 0) + 1);
  await new Promise((resolve) => setTimeout(resolve, 1));
  return { acc: hash('sha256', JSON.stringify(args), 'hex').repeat(20) };
};
const performer = functionPerformer({ tools: { apply } });

await openSqlite(db).close();
const { bavail, bsize } = statfsSync(disk);
writeFileSync(ballast, Buffer.alloc(Math.max(0, bavail * bsize - ROOM_BYTES)));
const fault = await run(performer);
const before = await judge(db);
rmSync(ballast);
const again = await run(performer);
const after = await judge(db);
execFileSync('mount', ['-o', 'remount,ro', disk]);

const story: DiskStory = {
  fault,
  endedBefore: [...before.outcomes.values()].filter(({ state }) => state === 'completed').length,
  states: [...after.outcomes.values()].map(({ state }) => state),
  asked: [...new Set(asked.values())],
  effects: asked.size,
  violations: [again, ...before.violations, ...after.violations].filter((each) => each !== ''),
  opened: codeOf(() => void openSqlite(db)),
};
process.stdout.write(`${JSON.stringify(story)}\n`);

/** Starts all runs and waits for them; the code of what stopped it, or nothing. */
async function run(world: Performer): Promise<string> {
  let fault_ = '';
  const engine: Engine = createRuntime({
    store: openSqlite(db),
    performer: world,
    leaseMs: 300,
    onFault: (error) => (fault_ ||= textOf(error)),
  });
  try {
    const flow = steadyFlow(STEPS);
    const runs = await Promise.all(
      Array.from({ length: RUNS }, (_, index) =>
        engine.start(flow, { run: `d_${index}`, input: { acc: `s${index}` }, seed: index }),
      ),
    );
    for (const each of runs) await engine.settled(each);
  } catch (error) {
    fault_ ||= textOf(error);
  }
  await engine.close().catch((error: unknown) => (fault_ ||= textOf(error)));
  return fault_;
}

function codeOf(work: () => void): string {
  try {
    work();
    return 'opened';
  } catch (error) {
    return textOf(error);
  }
}

function textOf(error: unknown): string {
  return error instanceof SluiceError ? error.code : String(error);
}
