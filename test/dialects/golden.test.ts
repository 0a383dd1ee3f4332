/** Every case of every notation, one test each. */
import { readdirSync } from 'node:fs';
import { describe, test } from 'vitest';
import { runCase } from './run-case.ts';

for (const notation of ['flow', 'steps', 'loop']) {
  const root = new URL(`./${notation}/`, import.meta.url);
  describe(`golden trajectories of ${notation}`, () => {
    for (const name of readdirSync(root)) test(name, () => runCase(new URL(`${name}/`, root)));
  });
}
