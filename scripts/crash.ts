/** `npm run crash -- [CYCLES] [SEED]`: kills a worker with SIGKILL that many times, and lists every broken promise. */
import { campaign } from '../test/crash/campaign.ts';

const cycles = Number(process.argv[2] ?? 500);
const seed = Number(process.argv[3] ?? Date.now() % 1_000_000_000);
if (!Number.isInteger(cycles) || !Number.isInteger(seed)) {
  process.stderr.write('usage: npm run crash -- [CYCLES] [SEED]\n');
  process.exitCode = 2;
} else {
  process.stdout.write(`${cycles} cycles, seed ${seed}\n`);
  const verdict = await campaign({ cycles, seed, say: (line) => process.stdout.write(`${line}\n`) });
  for (const violation of verdict.violations) process.stdout.write(`VIOLATION ${violation}\n`);
  const { kills, runs, events, effects, repeats, lost, violations } = verdict;
  process.stdout.write(
    `seed ${seed}: ${kills} kills, ${runs} runs, ${events} events, ${effects} effects, ${repeats} asked for again, ${lost} leases lost, ${violations.length} violations\n`,
  );
  process.exitCode = violations.length === 0 ? 0 : 1;
}
