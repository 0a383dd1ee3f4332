/**
 * `npm run sloppy -- [SEEDS] [SLIP…]`: teams of models that slip work on two small repositories, in three strategies. Prints how many
 * sessions ended well, and whether one said so falsely. With names of slips only these happen. Default: 10 seeds, every slip.
 */
import { CHEATS } from '../test/sloppy/cheats.ts';
import { SLIPS, everySlip, type Chances, type Slip } from '../test/sloppy/model.ts';
import { REPOS } from '../test/sloppy/repos.ts';
import { isFalse, playCheat, playSloppy } from '../test/sloppy/session.ts';
import { STRATEGIES } from '../test/sloppy/teams.ts';

const seeds = Number(process.argv[2] ?? 10);
const only = process.argv.slice(3);
const unknown = only.find((name) => !Object.hasOwn(SLIPS, name));
if (!Number.isInteger(seeds) || seeds < 1 || unknown !== undefined) {
  process.stderr.write(
    `usage: npm run sloppy -- [SEEDS] [SLIP…]\n${Object.entries(SLIPS)
      .map(([name, what]) => `  ${name}: ${what}\n`)
      .join('')}`,
  );
  process.exit(2);
}
let wrong = 0;
for (const chance of [0, 0.1, 0.2]) {
  for (const strategy of STRATEGIES) {
    const ends = new Map<string, number>();
    const slips = new Map<Slip, number>();
    let good = 0;
    for (let seed = 1; seed <= (chance === 0 ? 1 : seeds); seed++)
      for (const repo of REPOS) {
        const played = await playSloppy(strategy, repo, chancesOf(chance), seed);
        if (isFalse(played))
          problem(`${strategy} ${repo.name} seed ${seed}: ${played.code ?? ''}, but the work is not done`);
        if (played.code === 'SUCCESS') good += 1;
        else if (process.env['VERBOSE'] !== undefined)
          process.stderr.write(`${strategy} ${repo.name} ${seed}: ${played.message}\n  ${played.path.join(' ')}\n`);
        ends.set(played.code ?? played.state, (ends.get(played.code ?? played.state) ?? 0) + 1);
        for (const [slip, times] of played.slipped) slips.set(slip, (slips.get(slip) ?? 0) + times);
      }
    const all = [...ends.values()].reduce((sum, each) => sum + each, 0);
    const counts = [...ends].map(([code, times]) => `${code} ${times}`).join(', ');
    const slipped = [...slips.values()].reduce((sum, each) => sum + each, 0);
    process.stdout.write(
      `${chance * 100} %  ${strategy}: ${good} of ${all} succeeded (${counts}); ${slipped} slips of ${slips.size} kinds\n`,
    );
  }
}
let cheated = 0;
let cheats = 0;
for (let seed = 0; seed < seeds; seed++)
  for (const strategy of STRATEGIES)
    for (const cheat of CHEATS) {
      const repo = REPOS[seed % REPOS.length] as (typeof REPOS)[number];
      const played = await playCheat(strategy, repo, cheat, seed);
      cheats += 1;
      if (!isFalse(played)) continue;
      cheated += 1;
      problem(`the cheat \`${cheat}\` in ${strategy}, ${repo.name}, seed ${seed}: ${played.code ?? ''}`);
    }
process.stdout.write(`cheating agents: ${cheated} successes of ${cheats}\n`);
process.exitCode = wrong === 0 ? 0 : 1;

function chancesOf(chance: number): Chances {
  return only.length === 0 ? everySlip(chance) : Object.fromEntries(only.map((slip) => [slip, chance]));
}

function problem(what: string): void {
  wrong += 1;
  process.stderr.write(`${what}\n`);
}
