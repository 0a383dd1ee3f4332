/** Puts a finished benchmark into words: the table on a terminal, and the same as Markdown for bench/RESULTS.md. */
import { cpus } from 'node:os';
import type { Hello } from './child.ts';
import type { Shape } from './shape.ts';
import { grid } from './table.ts';
import type { Cell } from './table.ts';

export interface Report {
  date: string;
  shapes: readonly Shape[];
  hellos: readonly Hello[];
  cells: readonly Cell[];
  failures: readonly string[];
}

export function asText(report: Report): string {
  const rows = grid(report.shapes, report.cells, names(report));
  const widths = rows[0]?.map((_, column) => Math.max(...rows.map((row) => (row[column] ?? '').length))) ?? [];
  const lines = rows.map((row) =>
    row
      .map((text, column) => text.padEnd(widths[column] ?? 0))
      .join('  ')
      .trimEnd(),
  );
  return [...lines, '', ...remarks(report)].join('\n');
}

export function asMarkdown(report: Report): string {
  const [header = [], ...rows] = grid(report.shapes, report.cells, names(report));
  const line = (row: readonly string[]): string => `| ${row.join(' | ')} |`;
  return [
    '# Benchmark results',
    '',
    'Written by `npm run bench` (Sluice alone) or `npm run bench:peers` (with other engines). No-op steps, results of',
    '200 bytes, every step durable before the next. `bare` is the plainest loop over `node:sqlite` that writes one',
    '300-byte row per step with the same durability and the same chances to batch. Times are medians of ratios of',
    'alternating rounds on one machine; compare columns, not files from different machines.',
    '',
    `${report.date}, ${machine()}.`,
    '',
    line(header),
    line(header.map(() => '---')),
    ...rows.map(line),
    '',
    ...remarks(report).map((remark) => `- ${remark}`),
    '',
  ].join('\n');
}

function names(report: Report): string[] {
  return report.hellos.filter((hello) => hello.unavailable === undefined).map((hello) => hello.name);
}

function remarks(report: Report): string[] {
  const said = report.hellos.map((hello) => `${hello.name}: ${hello.version}`);
  const skipped = report.hellos.flatMap(({ name, unavailable }) =>
    unavailable === undefined ? [] : [`${name} was skipped: ${unavailable}`],
  );
  const notes = report.hellos.flatMap((hello) => perShape(report, hello.notes, hello.name, 'at'));
  const lacking = report.hellos
    .filter((hello) => hello.unavailable === undefined)
    .flatMap((hello) => {
      const reasons = report.shapes
        .filter((shape) => !hello.shapes.includes(shape.id))
        .map((shape) => [shape.id, hello.missing[shape.id] ?? 'not written yet'] as const);
      return perShape(report, Object.fromEntries(reasons), hello.name, 'lacks');
    });
  return [...said, ...skipped, ...notes, ...lacking, ...report.failures.map((failure) => `FAILED: ${failure}`)];
}

function perShape(report: Report, texts: { [id: string]: string }, name: string, verb: string): string[] {
  return report.shapes.flatMap(({ id }) => (texts[id] === undefined ? [] : [`${name} ${verb} ${id}: ${texts[id]}`]));
}

function machine(): string {
  const { node, sqlite = '' } = process.versions;
  return `Node ${node}, SQLite ${sqlite}, ${process.platform} ${process.arch}, ${cpus().length} cores`;
}
