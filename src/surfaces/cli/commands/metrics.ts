/** `sluice metrics`: the 18 metrics over the runs of the database, computed from their journals. */
import type { Store } from '../../../runtime/ports.ts';
import { compareFigures, type Comparison } from '../../evaluate/metrics/compare.ts';
import {
  figuresOf,
  measureRun,
  sampleOf,
  valuesOf,
  type Figure,
  type RunSample,
} from '../../evaluate/metrics/measure.ts';
import {
  comparisonLine,
  metricRows,
  metricsHtml,
  metricsJUnit,
  metricsMarkdown,
  type MetricsReport,
} from '../../evaluate/render/metrics.ts';
import { readBaseline } from '../baseline.ts';
import type { Options } from '../command-table.ts';
import { FAILED, OK, type Cli, type ExitStatus } from '../context.ts';
import { reportFiles, writeReports } from '../report-file.ts';
import { readSince } from '../option-values.ts';
import { demandFlow, withStore } from '../store.ts';
import { plural, table } from '../text.ts';

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
  const entries = await store.roster.list();
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
