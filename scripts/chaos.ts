/** `npm run chaos -- --minutes N [--seed S] [--part NAME]`: attacks the engine with faults until the time is up. */
import { parseArgs } from 'node:util';
import { PARTS } from '../test/chaos/parts.ts';

const { values } = parseArgs({
  options: { minutes: { type: 'string' }, seed: { type: 'string' }, part: { type: 'string', multiple: true } },
});
const minutes = Number(values.minutes ?? 5);
const seed = Number(values.seed ?? Date.now() % 1_000_000_000);
const chosen = PARTS.filter(({ name }) => values.part === undefined || values.part.includes(name));
if (!(minutes > 0) || !Number.isInteger(seed) || chosen.length === 0) {
  process.stderr.write(
    `usage: npm run chaos -- [--minutes N] [--seed S] [--part NAME]…\nparts: ${PARTS.map(({ name }) => name).join(', ')}\n`,
  );
  process.exitCode = 2;
} else process.exitCode = (await attack()) === 0 ? 0 : 1;

async function attack(): Promise<number> {
  const until = Date.now() + minutes * 60_000;
  const totals = new Map<string, Total>(
    chosen.map(({ name }) => [name, { rounds: 0, violations: 0, figures: {}, skipped: '' }]),
  );
  process.stdout.write(`${minutes} minutes, seed ${seed}\n`);
  for (let turn = 0; turn < chosen.length || Date.now() < until; turn++) {
    const part = chosen[turn % chosen.length] as (typeof chosen)[number];
    const total = totals.get(part.name) as Total;
    if (total.skipped !== '') {
      if ([...totals.values()].every(({ skipped }) => skipped !== '')) break;
      continue;
    }
    const { figures, violations, skipped } = await part.round(seed + turn, 'long');
    total.rounds += 1;
    total.violations += violations.length;
    total.skipped = skipped ?? '';
    for (const [name, value] of Object.entries(figures)) total.figures[name] = (total.figures[name] ?? 0) + value;
    for (const violation of violations) process.stdout.write(`VIOLATION ${part.name}: ${violation}\n`);
    process.stdout.write(`${part.name}: ${skipped === undefined ? textOf(figures) : `skipped: ${skipped}`}\n`);
  }
  process.stdout.write('\n');
  for (const [name, { rounds, violations, figures, skipped }] of totals)
    process.stdout.write(
      `${name}: ${skipped === '' ? `${rounds} rounds, ${textOf(figures)}, ${violations} violations` : `skipped: ${skipped}`}\n`,
    );
  const broken = [...totals.values()].reduce((sum, total) => sum + total.violations, 0);
  process.stdout.write(`seed ${seed}: ${broken} violations\n`);
  return broken;
}

interface Total {
  rounds: number;
  violations: number;
  skipped: string;
  readonly figures: { [name: string]: number };
}

function textOf(figures: { readonly [name: string]: number }): string {
  return Object.entries(figures)
    .map(([name, value]) => `${value} ${name}`)
    .join(', ');
}
