/** Plays the airline runs and writes the page about them: `node scripts/airline.ts`. They have to be at hand. */
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { isThere, trajectories } from '../packages/notations/test/loop/airline.ts';
import { outcomeOf } from '../packages/notations/test/loop/airline-outcomes.ts';
import { AIRLINE_PAGE, airlinePage } from '../packages/notations/test/loop/airline-page.ts';
import type { Outcome } from '../packages/notations/test/loop/airline-page.ts';
import { root } from './tool.ts';

if (isThere()) {
  const outcomes: Outcome[] = [];
  for (const trajectory of trajectories()) outcomes.push(await outcomeOf(trajectory));
  writeFileSync(join(root, AIRLINE_PAGE), airlinePage(outcomes));
  process.stdout.write(`${AIRLINE_PAGE}: ${outcomes.length} runs\n`);
} else {
  process.stdout.write('the airline runs are not here\n');
  process.exitCode = 1;
}
