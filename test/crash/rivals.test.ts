/** Three processes on one database, two of which sleep through their lease. */
import { expect, test } from 'vitest';
import { rivals } from './rivals.ts';

test('L8: a process that slept through its lease acts no more', { timeout: 600_000 }, async () => {
  const seed = Number(process.env['SEED'] ?? Date.now() % 1_000_000_000);
  process.stdout.write(`rivals: seed ${seed}\n`);
  const { slept, violations, runs } = await rivals({ seed, processes: 3, runs: 50, stops: 2 });
  // The machine decides if a process is caught at work; `packages/engine/test/runtime/leases.test.ts` does not depend on it.
  process.stdout.write(`rivals: ${slept} slept through a lease\n`);
  expect(violations).toEqual([]);
  expect(runs).toBe(50);
});
