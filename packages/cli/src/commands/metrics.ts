/** `sluice metrics`: the 18 metrics over the runs of the database, computed from their journals. */
import { allOf } from '@sluice-internal/engine/ports';
import type { Store } from '@sluice-internal/engine/ports';
import { compareFigures, figuresOf, measureRun, sampleOf, valuesOf } from '@sluice-internal/evals/metrics';
import type { Comparison, Figure, RunSample } from '@sluice-internal/evals/metrics';
import { comparisonLine, metricRows, metricsHtml, metricsJUnit, metricsMarkdown } from '@sluice-internal/evals/render';
import type { MetricsReport } from '@sluice-internal/evals/render';
import { FAILED, OK, plural, readSince, table } from '@sluice-internal/library/documents';
import type { Cli, ExitStatus } from '@sluice-internal/library/documents';
import { readBaseline } from '../session/baseline.ts';
import type { Options } from '../table/command-table.ts';
import { reportFiles, writeReports } from '../view/report-file.ts';
import { demandFlow, withStore } from '../session/store.ts';

export async function metricsCommand(cli: Cli, options: Options<'metrics'>): Promise<ExitStatus> {
  const since = readSince(options.since, Date.now());
  const files = reportFiles(options, ['.json', '.md', '.html', '.xml', '.txt']);
  const before = options.baseline === undefined ? null : readBaseline(options.baseline);
  const samples = await withStore(cli, (store) => samplesIn(store, since, options.flow));
  const figures = figuresOf(samples);
  const comparisons = before === null ? [] : compareFigures(before, figures);
  const report = reportOf(samples, figures, comparisons, options);
  writeReports(cli, files, {
    '.json': () => `${JSON.stringify({ ...report, metrics: valuesOf(figures) }, null, 2)}\n`,
    '.md': () => metricsMarkdown(report),
    '.html': () => metricsHtml(report),
    '.xml': () => metricsJUnit(report),
    '.txt': () => `${textOf(report)}\n`,
  });
  cli.show(valuesOf(figures), () => textOf(report));
  if (options.gate === true && samples.length === 0) {
    cli.hint('no run was measured, so no target is met');
    return FAILED;
  }
  const missed = options.gate === true && figures.some(({ met }) => met === false);
  return missed || comparisons.some(({ worse }) => worse) ? FAILED : OK;
}

async function samplesIn(
  store: Store,
  since: number | undefined,
  flow: string | undefined,
): Promise<readonly RunSample[]> {
  const samples: RunSample[] = [];
  const entries = await allOf((page) => store.index.list(page));
  if (entries.length > 0) demandFlow(flow, entries);
  for (const entry of entries) {
    if ((since !== undefined && entry.startedAt < since) || (flow !== undefined && entry.flow !== flow)) continue;
    samples.push(sampleOf(await measureRun(store.journal, entry.run)));
  }
  return samples;
}

function reportOf(
  samples: readonly RunSample[],
  figures: readonly Figure[],
  comparisons: readonly Comparison[],
  { since, flow }: Options<'metrics'>,
): MetricsReport {
  const which = [flow === undefined ? '' : ` of \`${flow}\``, since === undefined ? '' : ` since ${since}`].join('');
  return { title: 'Metrics', summary: `${plural(samples.length, 'run')}${which}`, figures, samples, comparisons };
}

function textOf({ summary, figures, comparisons }: MetricsReport): string {
  const rows = table([['METRIC', 'VALUE', 'TARGET', '', 'RUNS'], ...metricRows(figures)]);
  return [summary, rows, ...comparisons.map(comparisonLine)].join('\n');
}
