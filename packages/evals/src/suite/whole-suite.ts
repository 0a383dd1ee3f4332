/** The modes that are about all runs at once: replay of stored runs, and long soak runs. */
import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';
import { SluiceError } from '@sluice-internal/engine/ports';
import type { Store } from '@sluice-internal/engine/ports';
import { replay } from '@sluice-internal/engine/audit';
import { problemsIn } from './expectations.ts';
import { resultOf, type CaseResult, type PreparedCase } from './modes.ts';
import { runCase } from './run-case.ts';

/** All stored runs, decided again under the present engine. */
export async function replayAll(store: Store | null): Promise<readonly CaseResult[]> {
  const results: CaseResult[] = [];
  for (const entry of store === null ? [] : await store.roster.list()) {
    const problems: string[] = [];
    try {
      const { difference } = await replay((store as Store).journal, entry.run, entry);
      if (difference !== null) problems.push(`the replay differs at event ${difference.seq}`);
    } catch (error) {
      if (!(error instanceof SluiceError)) throw error;
      problems.push(error.message);
    }
    results.push(resultOf('replay', `replay of ${entry.run}`, problems, entry.code));
  }
  return results;
}

export interface Soak {
  readonly runs: number;
  readonly seconds: number;
  readonly heapGrowthMb: number;
  /** The most that the heap may grow. */
  readonly growthMb: number;
  readonly journalBytesPerRun: number;
  readonly eventsPerRun: number;
  readonly waiting: number;
}

/** The default: 10 MB, and one kilobyte for each run. A run that leaks more is found in a long soak. */
function usualGrowthMb(runs: number): number {
  return 10 + runs / 1024;
}

/** The journal of a run may become this much longer from the first runs to the last. */
const JOURNAL_GROWTH = 1.1;

/** Runs the cases in turn. Memory is compared after the first tenth, when everything is warm, and at the end. */
export async function soak(
  cases: readonly PreparedCase[],
  {
    runs = 1000,
    growthMb = usualGrowthMb(runs),
  }: { readonly runs?: number | undefined; readonly growthMb?: number | undefined },
  onProgress: (done: number, of: number) => void,
): Promise<{ readonly soak: Soak; readonly result: CaseResult }> {
  const begun = performance.now();
  const bytes: number[] = [];
  const wrong: string[] = [];
  let [events, waiting, warm] = [0, 0, 0];
  for (let index = 0; index < runs && cases.length > 0; index++) {
    const { run, given, name } = cases[index % cases.length] as PreparedCase;
    const measured = await runCase({
      ...run,
      seed: run.seed + index,
      inspect: async (store, id) => {
        const stored = await store.journal.load(id, { snapshot: false });
        bytes.push((stored?.appends ?? []).reduce((sum, { body }) => sum + body.length, 0));
      },
    });
    const [problem] = problemsIn(measured, given.expect);
    if (problem !== undefined) wrong.push(`${name}: ${problem}`);
    events += measured.read.events.length;
    waiting += measured.report.waiting.length;
    if (index === Math.floor(runs / 10)) warm = heapMb();
    if (index % 20 === 0) onProgress(index, runs);
  }
  const count = Math.max(1, runs);
  const heapGrowthMb = Math.max(0, heapMb() - warm);
  const problems = [
    ...(heapGrowthMb > growthMb
      ? [`the heap grew by ${heapGrowthMb.toFixed(1)} MB over ${runs} runs, and may grow by ${growthMb.toFixed(1)} MB`]
      : []),
    ...journalProblem(bytes, cases.length),
    ...(wrong.length === 0 ? [] : [`${wrong.length} of ${runs} runs did not meet their expectations; ${wrong[0]}`]),
  ];
  return {
    soak: {
      runs,
      seconds: (performance.now() - begun) / 1000,
      heapGrowthMb,
      growthMb,
      journalBytesPerRun: Math.round(sumOf(bytes) / count),
      eventsPerRun: Math.round(events / count),
      waiting,
    },
    result: resultOf('soak', `soak of ${runs} runs`, problems),
  };
}

/** Compares the first tenth of the runs with the last. Both have every case equally often. */
export function journalProblem(bytes: readonly number[], cases: number): readonly string[] {
  const size = Math.ceil(bytes.length / 10 / Math.max(1, cases)) * cases;
  const end = cases === 0 ? 0 : bytes.length - (bytes.length % cases);
  if (size === 0 || 2 * size > end) return [];
  const [first, last] = [sumOf(bytes.slice(0, size)) / size, sumOf(bytes.slice(end - size, end)) / size];
  if (last <= first * JOURNAL_GROWTH) return [];
  return [`the journal of a run grew from ${Math.round(first)} to ${Math.round(last)} bytes`];
}

function sumOf(amounts: readonly number[]): number {
  return amounts.reduce((sum, amount) => sum + amount, 0);
}

/** Collects garbage first, because uncollected garbage does not count as growth. */
function heapMb(): number {
  collectGarbage();
  return process.memoryUsage().heapUsed / 1_048_576;
}

/** Node has `gc` only with this flag. A new context sees the flag although the process started without it. */
function collectGarbage(): void {
  setFlagsFromString('--expose-gc');
  const collect: unknown = runInNewContext('gc');
  if (typeof collect === 'function') collect();
}
