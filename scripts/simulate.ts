/**
 * `npm run simulate -- [SEED] [RUNS]`: random flows under random faults, each from one integer. With a single run it tells
 * what happened, event by event.
 */
import { differenceBetween, simulate } from '../packages/testing/src/simulate.ts';
import type { Simulation } from '../packages/testing/src/simulate-types.ts';
import { randomRun } from '../test/simulate/random-run.ts';

const first = Number(process.argv[2] ?? Date.now() % 1_000_000_000);
const runs = Number(process.argv[3] ?? 1);
if (!Number.isInteger(first) || !Number.isInteger(runs) || runs < 1) {
  process.stderr.write('usage: npm run simulate -- [SEED] [RUNS]\n');
  process.exitCode = 2;
} else {
  let violated = 0;
  for (let seed = first; seed < first + runs; seed++) violated += (await one(seed)) ? 0 : 1;
  process.stdout.write(`seeds ${first} to ${first + runs - 1}: ${runs - violated} passed, ${violated} failed\n`);
  process.exitCode = violated === 0 ? 0 : 1;
}

async function one(seed: number): Promise<boolean> {
  const { plan, flow, input, world, comparable } = randomRun(seed);
  if (runs === 1) say(`forks ${plan.forks}, ${Object.keys(flow.nodes).length} nodes`);
  const quiet = await simulate({ flow, input, world, seed, faults: 'none' });
  const harmless = await simulate({ flow, input, world, seed, faults: 'harmless' });
  const any = await simulate({ flow, input, world, seed, faults: 'any' });
  const difference = comparable ? differenceBetween(quiet, harmless) : null;
  const found = [tell('undisturbed', quiet), tell('harmless faults', harmless), tell('any faults', any)];
  const violations = [...found.flat(), ...(difference === null ? [] : [difference])];
  for (const violation of violations) say(`seed ${seed}: VIOLATION ${violation}`);
  return violations.length === 0;
}

function tell(title: string, { outcome, events, faults, violations }: Simulation): readonly string[] {
  if (runs > 1) return violations;
  say(`\n${title}: ${outcome?.state ?? 'unfinished'} ${outcome?.code ?? ''} ${JSON.stringify(faults)}`);
  for (const { seq, at, type, ...event } of events) {
    const { prev: _prev, hash: _hash, ...data } = event as { prev?: string; hash?: string };
    say(`${String(seq).padStart(4)} ${at} ${type} ${JSON.stringify(data)}`);
  }
  return violations;
}

function say(line: string): void {
  process.stdout.write(`${line}\n`);
}
