/**
 * The benchmark's command: `node bench/run.ts [--shape ID]... [--rounds N] [--budget SECONDS] [--peers]
 * [--against FOLDER] [--json]`. Prints the table and, when every shape ran, writes it to bench/RESULTS.md, before the sections that are
 * written by hand. Ends with 1 when something failed to run or Sluice missed a target.
 */
import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { parseArgs } from 'node:util';
import type { Hello } from './child.ts';
import { contestants } from './contestants.ts';
import type { Entry } from './contestants.ts';
import { asMarkdown, asText } from './report.ts';
import type { Report } from './report.ts';
import { runShape } from './rounds.ts';
import type { Limits, Sample } from './rounds.ts';
import { SHAPES } from './shape.ts';
import type { Shape } from './shape.ts';
import { cells } from './table.ts';

const WARM_UP_MS = 1_500;

async function main(): Promise<number> {
  const { values } = parseArgs({
    options: {
      shape: { type: 'string', multiple: true },
      rounds: { type: 'string', default: '7' },
      budget: { type: 'string', default: '15' },
      json: { type: 'boolean', default: false },
      peers: { type: 'boolean', default: false },
      against: { type: 'string' },
    },
  });
  const shapes = chosen(values.shape);
  const budgetMs = positive('budget', values.budget) * 1_000;
  const limits = { rounds: positive('rounds', values.rounds), budgetMs, warmUpMs: WARM_UP_MS };
  const report = await measure(shapes, contestants(values.peers, values.against), limits);
  process.stdout.write(values.json ? `${JSON.stringify(report, undefined, 2)}\n` : `${asText(report)}\n`);
  if (shapes.length === SHAPES.length) writeResults(asMarkdown(report));
  const missed = report.cells.some((cell) => cell.contestant === 'sluice' && !cell.ok);
  return missed || report.failures.length > 0 ? 1 : 0;
}

function writeResults(table: string): void {
  const file = join(import.meta.dirname, 'RESULTS.md');
  const sections = /^## [^]*/m.exec(readFileSync(file, 'utf8'))?.[0] ?? '';
  writeFileSync(file, sections === '' ? table : `${table}\n${sections}`);
}

async function measure(shapes: readonly Shape[], entries: readonly Entry[], limits: Limits): Promise<Report> {
  const samples: Sample[] = [];
  const hellos = new Map<string, Hello>();
  const failures: string[] = [];
  for (const shape of shapes) {
    process.stderr.write(`${shape.id}: ${shape.title}\n`);
    const round = await runShape(shape, entries, limits);
    samples.push(...round.samples);
    failures.push(...round.failures);
    for (const hello of round.hellos) hellos.set(hello.name, hello);
  }
  const date = new Date().toISOString().slice(0, 10);
  return { date, shapes, hellos: [...hellos.values()], cells: cells(shapes, samples), failures };
}

function chosen(ids: readonly string[] | undefined): readonly Shape[] {
  if (ids === undefined) return SHAPES;
  return ids.map((id) => {
    const shape = SHAPES.find((candidate) => candidate.id === id);
    if (shape === undefined) throw new Error(`no shape ${id}; there are ${SHAPES.map((each) => each.id).join(', ')}`);
    return shape;
  });
}

function positive(flag: string, text: string): number {
  const value = Number(text);
  if (!Number.isInteger(value) || value < 1) throw new Error(`--${flag} takes a whole number from 1`);
  return value;
}

process.exitCode = await main().catch((error: Error) => {
  process.stderr.write(`${error.message}\n`);
  return 2;
});
