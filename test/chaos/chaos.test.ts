/** A short round of each part of the chaos campaign; `npm run chaos` runs long ones. */
import { expect, test } from 'vitest';
import { PARTS } from './parts.ts';

/** These have a test of their own with more rounds: test/crash. */
const ELSEWHERE = new Set(['kills', 'stops', 'disk', 'faults']);

const seed = Number(process.env['SEED'] ?? Date.now() % 1_000_000_000);

test.for(PARTS.filter(({ name }) => !ELSEWHERE.has(name)))(
  '$name: $promise',
  { timeout: 120_000 },
  async (part, { skip }) => {
    const { figures, violations, skipped } = await part.round(seed, 'short');
    if (skipped !== undefined) skip(skipped);
    expect(violations, `seed ${seed}`).toEqual([]);
    expect(Math.max(...Object.values(figures))).toBeGreaterThan(0);
  },
);
