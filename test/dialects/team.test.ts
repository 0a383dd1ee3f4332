/** Every case of the team notation, one test each. */
import { readdirSync } from 'node:fs';
import { describe, expect, test } from 'vitest';
import { runTeamCase } from './team-case.ts';

const root = new URL('./team/', import.meta.url);
const cases = readdirSync(root);

describe('golden trajectories of teams', () => {
  test('there are at least 120', () => {
    expect(cases.length).toBeGreaterThanOrEqual(120);
  });
  for (const name of cases) test(name, () => runTeamCase(new URL(`${name}/`, root)));
});
