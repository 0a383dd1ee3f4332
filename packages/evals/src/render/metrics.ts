/** Metrics as text, Markdown, JUnit and HTML. */
import { harmless } from '@sluice-internal/library/documents';
import type { Comparison } from '../metrics/compare.ts';
import type { Figure, RunSample } from '../metrics/measure.ts';
import { boundOf, isShare, metricOf, type Target } from '../metrics/table.ts';
import { junitXml, badge, htmlPage, htmlTable, type JUnitCase, type Section } from './page.ts';
import { barPlot, escapeXml, histogram, intervalPlot, shortNumber } from './plots.ts';

export interface MetricsReport {
  readonly title: string;
  readonly summary: string;
  readonly figures: readonly Figure[];
  readonly samples: readonly RunSample[];
  readonly comparisons: readonly Comparison[];
}

function shownValue({ id, value }: Pick<Figure, 'id' | 'value'>): string {
  if (value === null) return '-';
  if (isShare(id)) return `${shortNumber(Number((value * 100).toFixed(2)))} %`;
  return id === 'costPerSuccess' ? `$${Number(value.toPrecision(4))}` : `${shortNumber(value)} ${metricOf(id).unit}`;
}

export function shownTarget(id: Figure['id'], target: Target | null): string {
  if (target === null) return '-';
  const sign = 'atLeast' in target ? '≥' : '≤';
  const bound = boundOf(target);
  return isShare(id) ? `${sign} ${Number((bound * 100).toFixed(2))} %` : `${sign} ${bound}`;
}

/** Rows of a table: the metric, its value, its target, met or missed, and the number of runs. */
export function metricRows(figures: readonly Figure[]): string[][] {
  return figures.map((figure) => [
    metricOf(figure.id).title,
    shownValue(figure),
    shownTarget(figure.id, figure.target),
    verdictOf(figure),
    `${figure.runs}`,
  ]);
}

export function metricsMarkdown({ title, summary, figures, comparisons }: MetricsReport): string {
  const head = ['Metric', 'Value', 'Target', '', 'Runs'];
  const rows = [head, head.map(() => '---'), ...metricRows(figures)];
  const table = rows.map((row) => `| ${row.map(cell).join(' | ')} |`).join('\n');
  const changes = comparisons.map((each) => `- ${comparisonLine(each)}`);
  const compared = changes.length === 0 ? '' : `\n\n**Against the baseline**\n\n${changes.join('\n')}`;
  return `### ${codeSpan(title)}\n\n${summary}\n\n${table}${compared}\n`;
}

export function metricsJUnit({ title, figures, comparisons }: MetricsReport): string {
  const targets = figures.map((figure): JUnitCase => {
    const group = 'metrics';
    const name = figure.id;
    if (figure.value === null) return { group, name, problems: [], skipped: 'no data' };
    const missed = `${shownValue(figure)} misses the target ${shownTarget(figure.id, figure.target)}`;
    return { group, name, problems: figure.met === false ? [missed] : [] };
  });
  const changes = comparisons.map((each) => ({
    group: 'baseline',
    name: each.id,
    problems: each.worse ? [comparisonLine(each)] : [],
  }));
  return junitXml(title, [...targets, ...changes]);
}

export function metricsHtml(report: MetricsReport): string {
  return htmlPage(report.title, report.summary, metricSections(report));
}

export function metricSections({ figures, samples, comparisons }: MetricsReport): readonly Section[] {
  const codes: { [code: string]: number } = {};
  for (const { code, state } of samples) codes[code ?? state] = (codes[code ?? state] ?? 0) + 1;
  const compared =
    comparisons.length === 0
      ? []
      : [
          {
            title: 'Against the baseline',
            body: htmlTable(['Metric', 'Before', 'Now', 'p', ''], comparisons.map(comparisonCells)),
          },
        ];
  const plot = (title: string, unit: string, valueOf: (run: RunSample) => number): Section => ({
    title,
    body: histogram(samples.map(valueOf), unit),
  });
  return [
    { title: 'Metrics', body: htmlTable(['Metric', 'Value', '', 'Target', '', 'Formula'], figures.map(figureCells)) },
    ...compared,
    { title: 'How runs ended', body: barPlot(codes) },
    plot('Steps', 'steps', ({ steps }) => steps),
    plot('Cost', 'USD', ({ costUsd }) => costUsd),
    plot('Duration', 's', ({ durationMs }) => durationMs / 1000),
  ];
}

export function comparisonLine({ id, before, now, probability, worse }: Comparison): string {
  const { title } = metricOf(id);
  const sure = probability === null ? '' : `, p = ${shortNumber(probability)}`;
  const change = `${shownValue({ id, value: before })} → ${now === null ? 'no value' : shownValue({ id, value: now })}`;
  return `${title}: ${change}${sure}${worse ? ' (worse)' : ''}`;
}

function comparisonCells(each: Comparison): string[] {
  const { id, before, now, probability, worse, better } = each;
  const verdict = worse
    ? badge('bad', now === null ? 'no value' : 'worse')
    : better
      ? badge('good', 'better')
      : badge('neutral', 'same');
  const shown = probability === null ? '-' : shortNumber(probability);
  return [metricOf(id).title, shownValue({ id, value: before }), shownValue({ id, value: now }), shown, verdict];
}

function figureCells(figure: Figure): string[] {
  const { title, formula } = metricOf(figure.id);
  const target = figure.target === null ? null : boundOf(figure.target);
  const plot = figure.value === null || !isShare(figure.id) ? '' : intervalPlot(figure.value, figure.interval, target);
  const is = figure.met === null ? 'neutral' : figure.met ? 'good' : 'bad';
  return [
    escapeXml(title),
    escapeXml(shownValue(figure)),
    plot,
    escapeXml(shownTarget(figure.id, figure.target)),
    badge(is, verdictOf(figure)),
    `<small>${escapeXml(formula)}</small>`,
  ];
}

function verdictOf({ met, value }: Figure): string {
  if (value === null) return 'no data';
  return met === null ? '' : met ? 'met' : 'missed';
}

/**
 * Text of models and documents in Markdown. Inside a code span, links, tags and mentions have no effect. The fence is longer
 * than any backticks of the text.
 */
export function codeSpan(text: string): string {
  const line = harmless(text).replaceAll(/\s+/g, ' ').trim();
  const longest = Math.max(0, ...[...line.matchAll(/`+/g)].map(([run]) => run.length));
  const fence = '`'.repeat(longest + 1);
  const pad = longest > 0 || line === '' ? ' ' : '';
  return `${fence}${pad}${line}${pad}${fence}`;
}

function cell(text: string): string {
  return text.replaceAll('|', '\\|').replaceAll(/\s+/g, ' ');
}
