/** L8 with real processes and real kills. `npm run crash -- CYCLES SEED` runs longer ones. */
import { expect, test } from 'vitest';
import { campaign } from './campaign.ts';

const CYCLES = 15;

test(`L8: ${CYCLES} times kill -9 changes nothing but time`, { timeout: 240_000 }, async () => {
  const seed = Number(process.env['SEED'] ?? Date.now() % 1_000_000_000);
  process.stdout.write(`kill -9: seed ${seed}\n`);
  const verdict = await campaign({ cycles: CYCLES, seed, say: (line) => process.stdout.write(`${line}\n`) });
  expect(verdict.violations).toEqual([]);
  expect(verdict.kills).toBe(CYCLES);
  expect(verdict.effects).toBeGreaterThan(0);
});
