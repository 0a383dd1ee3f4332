/** Every case of every notation, one test each. */
import { readdirSync } from 'node:fs';
import { describe, test } from 'vitest';
import { caseName } from './case-name.ts';
import { runCase } from './run-case.ts';

for (const notation of ['flow', 'steps', 'loop', 'staged']) {
  const root = new URL(`./${notation}/`, import.meta.url);
  describe(`golden trajectories §handoffs/agent-evaluations of ${notation}`, () => {
    for (const name of readdirSync(root)) {
      const folder = new URL(`${name}/`, root);
      test(caseName(folder), () => runCase(folder));
    }
  });
}
