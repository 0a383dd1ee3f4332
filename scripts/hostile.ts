/** `npm run hostile -- [RUNS] [SEED]`: runs all notations under a hostile world, and counts how the runs end. Default: 10,000. */
import { HOSTILE_NOTATIONS, hostileRun } from '../packages/engine/test/protections/hostile-world.ts';

const runs = Number(process.argv[2] ?? 10_000);
const first = Number(process.argv[3] ?? 1);
if (!Number.isInteger(runs) || !Number.isInteger(first) || runs < 1) {
  process.stderr.write('usage: npm run hostile -- [RUNS] [SEED]\n');
  process.exit(2);
}
const codes = new Map<string, number>();
const decisions = new Map<string, number>();
let broken = 0;
for (let seed = first; seed < first + runs; seed++) {
  const name = HOSTILE_NOTATIONS[seed % HOSTILE_NOTATIONS.length] as string;
  const { report, problems } = await hostileRun(name, seed);
  count(codes, `${name} ${report.state} ${report.code ?? ''}`);
  for (const { failure, action } of report.decisions) count(decisions, `${failure} ${action}`);
  if (problems.length === 0) continue;
  broken += 1;
  process.stderr.write(`seed ${seed}, ${name}: ${problems.join('; ')}\n`);
}
process.stdout.write(`${runs} runs, ${broken} with problems\n`);
for (const table of [codes, decisions])
  for (const [key, times] of [...table].sort(([a], [b]) => (a < b ? -1 : 1)))
    process.stdout.write(`${String(times).padStart(7)} ${key}\n`);
process.exitCode = broken === 0 ? 0 : 1;

function count(table: Map<string, number>, key: string): void {
  table.set(key, (table.get(key) ?? 0) + 1);
}
