/** From samples to the table: medians of ratios for times, medians for everything else, each against its target. */
import { BEFORE } from './contestants.ts';
import { exponent, median } from './stats.ts';
import type { Sample } from './rounds.ts';
import type { Measure, Measurement, Metric, Shape } from './shape.ts';

export interface Cell {
  shape: string;
  measure: Measure;
  contestant: string;
  value: number;
  target: number;
  ok: boolean;
  rounds: number;
  /** The time as a multiple of that of the other checkout in the same round: the median over the rounds. */
  timeToBefore?: number;
}

export function cells(shapes: readonly Shape[], samples: readonly Sample[]): Cell[] {
  return shapes.flatMap((shape) =>
    shape.metrics.flatMap((metric) => {
      const mine = samples.filter((sample) => sample.shape === shape.id);
      const names = [...new Set(mine.map((sample) => sample.contestant))];
      return names.flatMap((name) => cell(shape.id, metric, name, mine));
    }),
  );
}

function cell(shape: string, metric: Metric, contestant: string, samples: readonly Sample[]): Cell[] {
  const values = samples
    .filter((sample) => sample.contestant === contestant)
    .map((sample) => value(metric.measure, sample))
    .filter((found) => found !== undefined);
  if (values.length === 0) return [];
  const middle = median(values);
  const { measure, target } = metric;
  const pairs = measure === 'ms' && contestant === 'sluice' ? timesToBefore(samples) : [];
  const compared = pairs.length === 0 ? {} : { timeToBefore: median(pairs) };
  return [
    { shape, measure, contestant, value: middle, target, ok: middle <= target, rounds: values.length, ...compared },
  ];
}

/** Of each round that both played. The bare loop may take so little time that ratios to it vary more than the times do. */
function timesToBefore(samples: readonly Sample[]): number[] {
  const before = samples.filter(({ contestant }) => contestant === BEFORE);
  return samples
    .filter(({ contestant }) => contestant === 'sluice')
    .flatMap(({ measurement, bare }) => {
      const other = before.find((sample) => sample.bare === bare)?.measurement.ms;
      return measurement.ms === undefined || other === undefined ? [] : [measurement.ms / other];
    });
}

function value(measure: Measure, { measurement, bare }: Sample): number | undefined {
  switch (measure) {
    case 'ms':
      return measurement.ms === undefined || bare?.ms === undefined ? undefined : measurement.ms / bare.ms;
    case 'exponentMs':
      return fit(measurement, 'ms');
    case 'exponentBytes':
      return fit(measurement, 'bytes');
    default:
      return measurement[measure];
  }
}

function fit({ points = [] }: Measurement, axis: 'ms' | 'bytes'): number | undefined {
  const pairs = points.flatMap((point) => (point[axis] === undefined ? [] : [[point.n, point[axis]] as const]));
  return pairs.length < 2 ? undefined : exponent(pairs);
}

/** Rows of text: a header, then a row for each shape and measure, with a column for each contestant. */
export function grid(shapes: readonly Shape[], all: readonly Cell[], contestants: readonly string[]): string[][] {
  const isCompared = contestants.includes(BEFORE);
  const header = ['shape', 'measure', 'target', ...contestants, ...(isCompared ? [`now / ${BEFORE}`] : [])];
  const rows = shapes.flatMap((shape) =>
    shape.metrics.map(({ measure, target }) => {
      const row = all.filter((found) => found.shape === shape.id && found.measure === measure);
      const columns = contestants.map((name) => show(row.find((found) => found.contestant === name)));
      const compared = isCompared ? [ratio(measure, row)] : [];
      return [shape.title, LABELS[measure], `at most ${number(measure, target)}`, ...columns, ...compared];
    }),
  );
  return [header, ...rows];
}

/** Sluice now and before. Exponents are not compared: they say how a time grows and not how long it is. */
function ratio(measure: Measure, row: readonly Cell[]): string {
  const now = row.find(({ contestant }) => contestant === 'sluice');
  const before = row.find(({ contestant }) => contestant === BEFORE)?.value;
  if (measure === 'ms') return now?.timeToBefore?.toFixed(2) ?? '-';
  const isKnown = now !== undefined && before !== undefined && before > 0 && !measure.startsWith('exponent');
  return isKnown ? (now.value / before).toFixed(2) : '-';
}

const LABELS: { [measure in Measure]: string } = {
  ms: 'time, as a multiple of bare',
  bytesMemory: 'memory of each run',
  bytesDisk: 'disk of each run',
  bytesWritten: 'bytes written',
  exponentMs: 'exponent of time',
  exponentBytes: 'exponent of bytes',
};

function show(found: Cell | undefined): string {
  if (found === undefined) return '-';
  const text = number(found.measure, found.value);
  return found.contestant === 'bare' ? text : `${text} ${found.ok ? 'ok' : 'over'}`;
}

function number(measure: Measure, value: number): string {
  if (measure.startsWith('bytes')) return bytes(value);
  return value >= 100 ? value.toFixed(0) : value >= 10 ? value.toFixed(1) : value.toFixed(2);
}

function bytes(value: number): string {
  if (value >= 1_000_000) return `${(value / 1_000_000).toFixed(1)} MB`;
  return value >= 1_024 ? `${(value / 1_024).toFixed(1)} KB` : `${value.toFixed(0)} B`;
}
