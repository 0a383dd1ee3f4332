/**
 * A worker that is asked to stop ends at once and releases its runs. The lease is one hour, so the next worker could not
 * continue otherwise.
 */
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { effectsIn, startEffectServer } from './effects.ts';
import type { EffectServer } from './effects.ts';
import { judge } from './outcome.ts';
import { startWorker } from './processes.ts';
import type { WorkerOrders } from './processes.ts';

const dir = mkdtempSync(join(tmpdir(), 'sluice-shutdown-'));
const seed = Number(process.env['SEED'] ?? Date.now() % 1_000_000_000);
let server: EffectServer;

beforeAll(async () => {
  process.stdout.write(`seed ${seed}\n`);
  server = await startEffectServer();
  const said = await startWorker(orders('alone', 'alone')).ended();
  if (said !== 'done') throw new Error(`the worker that was left alone ended with: ${said}`);
});
afterAll(async () => {
  await server.stop();
  rmSync(dir, { recursive: true, force: true });
});

test.each(['SIGINT', 'SIGTERM'] as const)(
  '%s lets go of everything, and nothing is lost or done twice',
  { timeout: 90_000 },
  async (signal) => {
    const place = `${signal}-stopped`;
    let closed = 0;
    let calls = 0;
    for (let life = 0; life < 3; life++) {
      const worker = startWorker(orders(`w${life}`, place));
      await worker.said('ready');
      calls = await Promise.race([moreCalls(place, calls), worker.ended().then(() => calls)]);
      worker.process.kill(signal);
      const said = await worker.ended();
      expect(['closed', 'done']).toContain(said);
      expect(worker.process.exitCode).toBe(0);
      if (said === 'closed') closed += 1;
    }
    expect(closed).toBeGreaterThan(0);
    expect(await startWorker(orders('last', place)).ended()).toBe('done');

    const [stopped, alone] = [await judge(join(dir, `${place}.db`)), await judge(join(dir, 'alone.db'))];
    expect(stopped.violations).toEqual([]);
    expect(byRun(stopped)).toEqual(byRun(alone));
    const [left, right] = [await effectsIn(server.space(place)), await effectsIn(server.space('alone'))];
    expect(left.violations).toEqual([]);
    expect(left.applied.map(([, { what }]) => what).toSorted()).toEqual(
      right.applied.map(([, { what }]) => what).toSorted(),
    );
  },
);

function orders(name: string, place: string): WorkerOrders {
  return {
    name,
    db: join(dir, `${place}.db`),
    space: server.space(place),
    seed,
    count: 16,
    leaseMs: 3_600_000,
    snapshotEvery: 50,
  };
}

/** Waits until a worker has called the server, so that it is stopped at work. */
async function moreCalls(place: string, before: number): Promise<number> {
  for (;;) {
    const { calls } = await effectsIn(server.space(place));
    if (calls > before) return calls;
    await new Promise((resolve) => setTimeout(resolve, 20));
  }
}

function byRun({ outcomes }: Awaited<ReturnType<typeof judge>>): unknown[] {
  return [...outcomes.values()].toSorted((a, b) => (a.run < b.run ? -1 : 1));
}
