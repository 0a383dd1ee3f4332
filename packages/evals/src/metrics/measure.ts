/** Computes the metrics of many runs. Only small samples are kept, so that a year of runs fits in memory. */
import { isGood } from '@sluice-internal/kernel/ir';
import type { RunId } from '@sluice-internal/kernel/ir';
import { replay } from '@sluice-internal/engine/audit';
import { readRun } from '@sluice-internal/engine/journal';
import { SluiceError } from '@sluice-internal/engine/ports';
import type { Journal } from '@sluice-internal/engine/ports';
import { recordOf, type Measured } from '../journal/record.ts';
import { fisher, meanInterval, momentsOf, shareInterval, welch, type Moments } from './statistics.ts';
import { METRICS, metricOf, type MetricId, type Sample, type Target } from './table.ts';

/** The figures of one run. */
export interface RunSample {
  readonly run: RunId;
  readonly flow: string;
  readonly hash: string;
  readonly at: number;
  readonly state: string;
  readonly code: string | null;
  readonly steps: number;
  readonly costUsd: number;
  readonly durationMs: number;
  readonly samples: { readonly [metric in MetricId]?: Sample };
}

/** One metric over all runs. */
export interface Figure {
  readonly id: MetricId;
  readonly value: number | null;
  /** The number of runs with data for it. */
  readonly runs: number;
  readonly part: number;
  readonly whole: number;
  readonly moments: Moments;
  /** 95 %; null where none can be given. */
  readonly interval: readonly [number, number] | null;
  readonly target: Target | null;
  /** Null without a target or without data. */
  readonly met: boolean | null;
}

export type MetricValues = { readonly [metric in MetricId]: number | null };

export async function measureRun(journal: Journal, run: RunId): Promise<Measured> {
  const read = await readRun(journal, run);
  return { ...recordOf(read), labels: {}, differsAt: await differenceIn(journal, run) };
}

export function sampleOf(run: Measured): RunSample {
  const { report, read } = run;
  const samples = METRICS.flatMap((metric) => {
    const sample = metric.sample(run);
    return sample === null ? [] : [[metric.id, sample] as const];
  });
  return {
    run: report.run,
    flow: report.flow,
    hash: report.hash,
    at: read.state.startedAt,
    state: report.state,
    code: report.code,
    steps: report.usage.steps,
    costUsd: report.usage.costUsd,
    durationMs: read.state.now - read.state.startedAt,
    samples: Object.fromEntries(samples),
  };
}

/** `targets` overrides the targets of the table. */
export function figuresOf(
  given: readonly RunSample[],
  targets: { readonly [metric in MetricId]?: Target } = {},
): readonly Figure[] {
  const samples = withReferences(given);
  return METRICS.map(({ id, target: usual }) => figureOf(id, samples, targets[id] ?? usual));
}

export function valuesOf(figures: readonly Figure[]): MetricValues {
  return Object.fromEntries(figures.map(({ id, value }) => [id, value])) as unknown as MetricValues;
}

export function meets(value: number, target: Target): boolean {
  return 'atLeast' in target ? value >= target.atLeast : value <= target.atMost;
}

/** The probability that both sets of runs have the same value; null if it cannot be computed. */
export function likelihoodOfEqual(id: MetricId, a: Figure, b: Figure): number | null {
  if (a.value === null || b.value === null) return null;
  const { kind } = metricOf(id);
  if (kind === 'most') return null;
  if (kind === 'agreement') return fisher(hits(a), a.runs, hits(b), b.runs);
  // Several calls of one run are not independent, so the shares of the runs are compared.
  const isOnePerRun = a.whole === a.runs && b.whole === b.runs;
  return kind === 'share' && isOnePerRun ? fisher(a.part, a.whole, b.part, b.whole) : welch(a.moments, b.moments);
}

/** The number of runs that agree with their case. */
function hits({ moments, runs }: Figure): number {
  return Math.round(moments.mean * runs);
}

function figureOf(id: MetricId, runs: readonly RunSample[], target: Target | null): Figure {
  const samples = runs.flatMap((run) => run.samples[id] ?? []);
  const part = samples.reduce((sum, each) => sum + each.part, 0);
  const whole = samples.reduce((sum, each) => sum + each.whole, 0);
  const moments = momentsOf(samples.map((each) => valueOfRun(id, each)));
  const value = valueOf(id, samples, part, whole);
  const interval = value === null ? null : intervalOf(id, part, whole, moments);
  const met = value === null || target === null ? null : meets(value, target);
  return { id, value, runs: samples.length, part, whole, moments, interval, target, met };
}

/** The value of the metric for one run: a share, an amount, or 1 if the run agrees with its case. */
function valueOfRun(id: MetricId, { part, whole }: Sample): number {
  const { kind } = metricOf(id);
  if (kind === 'agreement') return part === whole ? 1 : 0;
  return kind === 'share' && whole > 0 ? part / whole : part;
}

function valueOf(id: MetricId, samples: readonly Sample[], part: number, whole: number): number | null {
  if (samples.length === 0) return null;
  const { kind } = metricOf(id);
  if (kind === 'most') return samples.reduce((most, each) => Math.max(most, each.part), 0);
  if (kind === 'agreement') return agreement(samples);
  return whole === 0 ? null : part / whole;
}

function intervalOf(id: MetricId, part: number, whole: number, moments: Moments): Figure['interval'] {
  const { kind } = metricOf(id);
  if (kind === 'share') return shareInterval(part, whole);
  return kind === 'mean' && id !== 'costPerSuccess' && moments.count >= 2 ? meanInterval(moments) : null;
}

/** The smaller of precision and recall. `part` is 1 if the run escalated, `whole` is 1 if it should. */
function agreement(samples: readonly Sample[]): number | null {
  const both = samples.filter(({ part, whole }) => part === 1 && whole === 1).length;
  const escalated = samples.filter(({ part }) => part === 1).length;
  const due = samples.filter(({ whole }) => whole === 1).length;
  if (escalated === 0 && due === 0) return null;
  return Math.min(escalated === 0 ? 0 : both / escalated, due === 0 ? 0 : both / due);
}

/** Without a golden path, the shortest good run of the same graph is the reference. */
function withReferences(runs: readonly RunSample[]): readonly RunSample[] {
  const shortest = new Map<string, number>();
  for (const { hash, code, steps } of runs)
    if (isGood(code) && steps > 0) shortest.set(hash, Math.min(shortest.get(hash) ?? Infinity, steps));
  return runs.map((run) => {
    const reference = shortest.get(run.hash);
    if (run.samples.trajectoryEfficiency !== undefined || reference === undefined || !isGood(run.code)) return run;
    return { ...run, samples: { ...run.samples, trajectoryEfficiency: { part: run.steps / reference, whole: 1 } } };
  });
}

/** A changed journal is not replayed, because its events cannot be trusted. */
async function differenceIn(journal: Journal, run: RunId): Promise<number | null> {
  try {
    return (await replay(journal, run)).difference?.seq ?? null;
  } catch (error) {
    if (error instanceof SluiceError && error.code === 'chain-broken') return 0;
    throw error;
  }
}
