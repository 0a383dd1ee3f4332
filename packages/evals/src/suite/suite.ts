/** Runs a suite: all cases in all modes and variants, the metrics over all runs, the thresholds and the comparison. */
import type { Report } from '@sluice-internal/engine/ports';
import type { Store } from '@sluice-internal/engine/ports';
import { doneLine } from '@sluice-internal/engine/report';
import { hasEnded } from '../journal/record.ts';
import { compareFigures, type Comparison } from '../metrics/compare.ts';
import {
  figuresOf,
  meets,
  sampleOf,
  valuesOf,
  type Figure,
  type MetricValues,
  type RunSample,
} from '../metrics/measure.ts';
import { shareInterval } from '../metrics/statistics.ts';
import { boundOf, metricOf, type MetricId, type Target } from '../metrics/table.ts';
import {
  checksOf,
  replayAll,
  soak,
  type CaseResult,
  type Check,
  type Outcome,
  type PreparedCase,
  type Soak,
} from './modes.ts';
import { comparePolicies, type PolicyChange } from './policy.ts';
import type { CaseRun } from './run-case.ts';
import type { Suite } from './schema.ts';

export interface SuiteResult {
  readonly suite: string;
  readonly passed: number;
  readonly failed: number;
  readonly cases: readonly (Omit<CaseResult, 'measured' | 'injected' | 'hit'> & Pick<Report, 'failure'>)[];
  readonly metrics: MetricValues;
  readonly figures: readonly Figure[];
  readonly samples: readonly RunSample[];
  /** Thresholds of the suite that were missed. */
  readonly missed: readonly string[];
  readonly comparisons: readonly Comparison[];
  /** Cases that are repeated: the share that passed, with its 95 % interval. */
  readonly repeated: {
    readonly [name: string]: {
      readonly passed: number;
      readonly runs: number;
      readonly interval: readonly [number, number];
    };
  };
  readonly policy: readonly PolicyChange[];
  readonly soak: Soak | null;
  /** Runs with a fault of the matrix that no call met. */
  readonly notInjected: readonly string[];
  /** Runs with a model of the matrix in which a script answers. The model changes only prices there. */
  readonly scriptedModels: readonly string[];
}
export interface SuiteOptions {
  readonly name: string;
  readonly suite: Suite;
  readonly cases: readonly PreparedCase[];
  /** The runs of the cases under the document before the change, for the policy mode. */
  readonly before: ((prepared: PreparedCase) => CaseRun) | null;
  readonly store: Store | null;
  readonly baseline: readonly Figure[] | null;
  readonly onProgress: (done: number, of: number, failed: number) => void;
  /** Judges an output in words; null where no case has a judge. */
  readonly judge: ((prepared: PreparedCase, output: unknown) => Promise<readonly string[]>) | null;
}

const AT_ONCE = 8;

export async function runSuite(options: SuiteOptions): Promise<SuiteResult> {
  const { suite } = options;
  const modes = new Set(suite.modes ?? ['golden']);
  const results: CaseResult[] = await runChecks(options);
  const policy: PolicyChange[] = [];
  let soaked: Soak | null = null;
  if (modes.has('replay')) results.push(...(await replayAll(options.store)));
  const plain = options.cases.filter(({ mode }) => mode === 'soak');
  if (modes.has('soak')) {
    const done = await soak(plain, suite.soak ?? {}, (count, of) => options.onProgress(count, of, 0));
    soaked = done.soak;
    results.push(done.result);
  }
  if (modes.has('policy') && options.before !== null)
    for (const prepared of options.cases.filter(({ mode }) => mode === 'policy')) {
      const { changes, result } = await comparePolicies(
        prepared,
        options.before(prepared),
        suite.policy?.allowed ?? [],
      );
      policy.push(...changes);
      results.push(result);
    }
  return summary(options, results, policy, soaked);
}

/** A few cases at once: while one waits for its clock, another works. Results keep the order of the cases. */
async function runChecks({ cases, onProgress, judge }: SuiteOptions): Promise<CaseResult[]> {
  const checks: { readonly prepared: PreparedCase; readonly check: Check }[] = [];
  for (const prepared of cases.filter(({ mode }) => mode !== 'soak' && mode !== 'policy' && mode !== 'replay'))
    for (const check of await checksOf(prepared)) checks.push({ prepared, check });
  const results: CaseResult[] = [];
  let [next, done, failed] = [0, 0, 0];
  const work = async (): Promise<void> => {
    for (let index = next++; index < checks.length; index = next++) {
      const { prepared, check } = checks[index] as (typeof checks)[number];
      const result = await perform(prepared, check, judge);
      results[index] = result;
      done += 1;
      if (!result.passed) failed += 1;
      onProgress(done, checks.length, failed);
    }
  };
  await Promise.all(Array.from({ length: AT_ONCE }, work));
  return results;
}

async function perform(prepared: PreparedCase, check: Check, judge: SuiteOptions['judge']): Promise<CaseResult> {
  const { mode, tags } = prepared;
  const injected = prepared.fault !== undefined;
  const { measured, problems, hit = false } = await outcomeOf(prepared, check, judge);
  const [passed, code] = [problems.length === 0, measured?.report.code ?? null];
  const done = measured === null || !hasEnded(measured) ? null : doneLine(measured.report.receipts);
  return { name: check.name, mode, tags, passed, problems, code, done, measured, injected, hit };
}

async function outcomeOf(prepared: PreparedCase, check: Check, judge: SuiteOptions['judge']): Promise<Outcome> {
  try {
    const outcome = await check.perform();
    const { measured, problems } = outcome;
    if (prepared.mode !== 'golden' || prepared.fault !== undefined || judge === null || measured === null)
      return outcome;
    const judged = await judge(prepared, measured.report.output);
    if (judged.length === 0) return outcome;
    const labels = { ...measured.labels, isRight: false };
    return { ...outcome, measured: { ...measured, labels }, problems: [...problems, ...judged] };
  } catch (error) {
    return { measured: null, problems: [(error as Error).message] };
  }
}

function summary(
  { name, suite, cases: prepared, baseline }: SuiteOptions,
  results: readonly CaseResult[],
  policy: readonly PolicyChange[],
  soaked: Soak | null,
): SuiteResult {
  const targets = targetsOf(suite);
  // Runs with injected faults or small budgets do not measure the quality of the flow.
  const golden = results.filter(({ mode, injected }) => mode === 'golden' && !injected);
  const samples = golden.flatMap(({ measured }) => (measured === null ? [] : [sampleOf(measured)]));
  const figures = figuresOf(samples, targets);
  const failed = results.filter(({ passed }) => !passed).length;
  return {
    suite: name,
    passed: results.length - failed,
    failed,
    cases: results.map(({ measured, injected: _injected, hit: _hit, ...result }) => ({
      ...result,
      // The part that failed in the run of the case.
      failure: measured?.report.failure ?? null,
    })),
    metrics: valuesOf(figures),
    figures,
    samples,
    // A suite that checks nothing must not pass.
    missed: [
      ...(results.length === 0 ? ['nothing was checked: no stored run was replayed'] : []),
      ...missedTargets(figures, targets),
    ],
    comparisons: baseline === null ? [] : compareFigures(baseline, figures),
    repeated: repeatedCases(results),
    policy,
    soak: soaked,
    notInjected: results.filter(({ injected, hit }) => injected && !hit).map(({ name: each }) => each),
    scriptedModels: scriptedModelsOf(suite, prepared),
  };
}

function scriptedModelsOf({ matrix = {} }: Suite, cases: readonly PreparedCase[]): readonly string[] {
  if (matrix.models === undefined) return [];
  const scripted = cases.filter(({ mode, fault, run }) => mode === 'golden' && fault === undefined && hasReplies(run));
  return scripted.map(({ name }) => name);
}

function hasReplies({ script, models }: CaseRun): boolean {
  return models === undefined && Object.keys(script?.agents ?? {}).length > 0;
}

/** A number is the least or the most, as the target of the metric is; without one, the most. */
function targetsOf({ thresholds = {} }: Suite): { readonly [metric in MetricId]?: Target } {
  return Object.fromEntries(
    Object.entries(thresholds).map(([id, given]) => {
      if (typeof given !== 'number')
        return [id, given.atLeast !== undefined ? { atLeast: given.atLeast } : { atMost: given.atMost ?? Infinity }];
      const usual = metricOf(id as MetricId).target;
      return [id, usual !== null && 'atLeast' in usual ? { atLeast: given } : { atMost: given }];
    }),
  );
}

function missedTargets(
  figures: readonly Figure[],
  targets: { readonly [metric in MetricId]?: Target },
): readonly string[] {
  return figures.flatMap(({ id, value }) => {
    const target = targets[id];
    if (target === undefined) return [];
    if (value === null) return [`${id} has no data, and the suite sets a threshold`];
    const limit = `${'atLeast' in target ? 'at least' : 'at most'} ${boundOf(target)}`;
    return meets(value, target) ? [] : [`${id} is ${value}, and must be ${limit}`];
  });
}

const REPEATED = / \(\d+ of \d+\)$/;

function repeatedCases(results: readonly CaseResult[]): SuiteResult['repeated'] {
  const repeated = results.filter(({ name }) => REPEATED.test(name));
  return Object.fromEntries(
    [...Map.groupBy(repeated, ({ name }) => name.replace(REPEATED, ''))].map(([name, all]) => {
      const passed = all.filter((each) => each.passed).length;
      return [name, { passed, runs: all.length, interval: shareInterval(passed, all.length) }];
    }),
  );
}
