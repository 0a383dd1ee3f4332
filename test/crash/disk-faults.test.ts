/** Drawn faults below SQLite. `npm run chaos` makes every one of them. */
import { availableParallelism } from 'node:os';
import { expect, onTestFinished, test } from 'vitest';
import { faultAt } from '../chaos/faults.ts';
import { createChance } from './chance.ts';
import { FAULTS, FaultyDisk } from './faulty-disk.ts';

const DRAWN = 40;

test('one refund ends the same after a fault of its disk, and is paid once', { timeout: 300_000 }, async ({ skip }) => {
  const seed = Number(process.env['SEED'] ?? Date.now() % 1_000_000_000);
  const disk = new FaultyDisk();
  onTestFinished(() => disk.remove());
  const missing = disk.build();
  if (missing !== null) skip(missing);
  const most = await disk.operations();
  expect(most).toBeGreaterThan(50);
  const { below } = createChance(seed);
  const faults = Array.from({ length: DRAWN }, (_, index) =>
    faultAt(FAULTS[index % FAULTS.length] ?? 'eio', 1 + below(most), most, seed),
  );
  const broken: string[] = [];
  const next = faults.values();
  const worker = async (): Promise<void> => {
    for (const fault of next) broken.push(...(await disk.refund(fault)));
  };
  await Promise.all(Array.from({ length: Math.min(2, availableParallelism()) }, worker));
  expect(broken, `seed ${seed}`).toEqual([]);
});
