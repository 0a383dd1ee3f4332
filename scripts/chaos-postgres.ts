/** `npm run chaos:postgres -- [--minutes N] [--seed S] [--fault NAME]…`: faults against workers that share a Postgres server. */
import { parseArgs } from 'node:util';
import { FAULTS, openCampaign, playRound } from '../test/postgres/campaign.ts';
import type { Fault } from '../test/postgres/campaign.ts';

const { values } = parseArgs({
  options: {
    minutes: { type: 'string' },
    seed: { type: 'string' },
    runs: { type: 'string' },
    fault: { type: 'string', multiple: true },
  },
});
const minutes = Number(values.minutes ?? 5);
const first = Number(values.seed ?? Date.now() % 1_000_000);
const chosen = FAULTS.filter((fault) => values.fault?.includes(fault) ?? true);
if (!(minutes > 0) || !Number.isInteger(first) || chosen.length === 0) {
  process.stderr.write(
    `usage: npm run chaos:postgres -- [--minutes N] [--seed S] [--fault NAME]…\nfaults: ${FAULTS.join(', ')}\n`,
  );
  process.exitCode = 2;
} else process.exitCode = (await attack()) === 0 ? 0 : 1;

async function attack(): Promise<number> {
  const campaign = await openCampaign();
  const totals = new Map<string, number>();
  let violations = 0;
  process.stdout.write(`${minutes} minutes, seed ${first}\n`);
  try {
    const until = Date.now() + minutes * 60_000;
    for (let seed = first; seed === first || Date.now() < until; seed += 1) {
      const round = await playRound(campaign, seed, {
        faults: faultsOf(seed),
        ...{ runs: Number(values.runs ?? 100), workers: 4, pauseMs: (seed - first) % 20 === 19 ? 60_000 : 4_000 },
      });
      for (const violation of round.violations) process.stdout.write(`VIOLATION seed ${seed}: ${violation}\n`);
      violations += round.violations.length;
      totals.set('rounds', (totals.get('rounds') ?? 0) + 1);
      for (const [name, value] of Object.entries(round.figures)) totals.set(name, (totals.get(name) ?? 0) + value);
      process.stdout.write(`seed ${seed}: ${faultsOf(seed).join(' ')}: ${JSON.stringify(round.figures)}\n`);
    }
  } finally {
    await campaign.close();
  }
  process.stdout.write(`${JSON.stringify(Object.fromEntries(totals))}, ${violations} violations\n`);
  return violations;
}

/** Each round begins with another fault. Kills are most of them. */
function faultsOf(seed: number): readonly Fault[] {
  const at = (index: number): Fault => chosen[(seed + index) % chosen.length] as Fault;
  const kills = chosen.filter((fault) => fault === 'worker' || fault === 'both' || fault === 'server');
  return [at(0), ...(kills.length === 0 ? [] : [...kills, ...kills]), at(3)];
}
