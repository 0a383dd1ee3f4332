/**
 * The modes of testing. Four of them turn each case of a suite into checks, with one result for each check: golden, faults,
 * budgets and escalations. Two are about all runs at once: the replay of stored runs, and long soak runs. The seventh mode,
 * the regression of policies, is in `policy.ts`.
 */
import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';
import { BUDGET_ROWS, RISKY, isGood } from '@sluice-internal/kernel/ir';
import type { BudgetKey, CompiledFlow, Measure } from '@sluice-internal/kernel/ir';
import { present } from '@sluice-internal/kernel/expr';
import type { Script } from '@sluice-internal/library/host';
import type { ToolFunction } from '@sluice-internal/tools/calls';
import type { Bounds } from '@sluice-internal/compile/prove';
import { SluiceError, allOf } from '@sluice-internal/engine/ports';
import type { Asked, Performer, Store } from '@sluice-internal/engine/ports';
import { replay } from '@sluice-internal/engine/audit';
import type { Labels, Measured } from '../journal/record.ts';
import { problemsIn, resultProblems, safetyProblems } from './expectations.ts';
import { faultName, withFaults } from './faults.ts';
import { runCase, type CaseRun } from './run-case.ts';
import { FAULT_KINDS, type FaultPlan, type Mode, type SuiteCase } from './schema.ts';

export interface Variant {
  readonly flow: CompiledFlow;
  readonly bounds: Bounds;
  /** The functions of tools, for a flow that is written in TypeScript. */
  readonly tools: { readonly [name: string]: ToolFunction };
  /** The same document with another budget. Without a flow, `codes` are the errors of the document. */
  withBudget(key: BudgetKey, amount: number): { readonly flow: CompiledFlow | null; readonly codes: readonly string[] };
}
export interface PreparedCase {
  readonly name: string;
  readonly mode: Mode;
  readonly tags: readonly string[];
  readonly given: SuiteCase;
  readonly run: CaseRun;
  readonly fault?: FaultPlan;
  readonly variant: Variant;
}
export interface CaseResult {
  readonly name: string;
  readonly mode: Mode;
  readonly tags: readonly string[];
  readonly passed: boolean;
  readonly problems: readonly string[];
  readonly code: string | null;
  /** What the run has really done; null if no run ended. */
  readonly done: string | null;
  readonly measured: Measured | null;
  /** True for a run with a fault of the matrix. */
  readonly injected: boolean;
  /** A call of the run met the fault. */
  readonly hit: boolean;
}
/** The result of a check that is not about one case. */
export function resultOf(
  mode: Mode,
  name: string,
  problems: readonly string[],
  code: string | null = null,
): CaseResult {
  const passed = problems.length === 0;
  return { name, mode, tags: [], passed, problems, code, done: null, measured: null, injected: false, hit: false };
}
/** One check of a mode. */
export interface Check {
  readonly name: string;
  perform(): Promise<Outcome>;
}
export type Outcome = Pick<CaseResult, 'problems' | 'measured'> & Partial<Pick<CaseResult, 'hit'>>;

/** The checks of a case in a mode. Replay, soak and policy are about the whole suite. */
export async function checksOf(prepared: PreparedCase): Promise<readonly Check[]> {
  switch (prepared.mode) {
    case 'faults':
      return faultChecks(prepared);
    case 'budgets':
      return budgetChecks(prepared);
    case 'escalations':
      return escalationChecks(prepared);
    default:
      return [goldenCheck(prepared)];
  }
}

function labelsOf({ expect = {} }: SuiteCase): Labels {
  const { code, path, asks } = expect;
  const escalates =
    asks === undefined && code === undefined
      ? undefined
      : (asks ?? []).length > 0 || (code !== undefined && !isGood(code));
  return present({ code, steps: path?.length, escalates });
}

function goldenCheck({ name, given, run, fault }: PreparedCase): Check {
  return {
    name,
    perform: async () => {
      let hit = false;
      const onHit = (): void => void (hit = true);
      const wrap = fault === undefined ? {} : { wrap: (inner: Performer) => withFaults(inner, fault, run.seed, onHit) };
      const measured = await runCase({ ...run, ...wrap });
      if (fault !== undefined) return { measured, problems: soundProblems(measured, given), hit };
      const labels = { ...labelsOf(given), isRight: resultProblems(measured, given.expect ?? {}).length === 0 };
      return { measured: { ...measured, labels }, problems: problemsIn(measured, given.expect) };
    },
  };
}

/** Calls of one model or tool that are hit in turn. */
const CALLS_MAX = 8;

/** Every call of every model and tool, with each kind of fault; then faults at random. */
async function faultChecks({ name, given, run }: PreparedCase): Promise<readonly Check[]> {
  const { calls } = await runCase(run);
  const targets = Object.values(run.flow.nodes).flatMap((node): Pick<FaultPlan, 'agent' | 'tool'>[] => {
    if (node.op !== 'do') return [];
    if (node.effect.kind === 'model') return [{ agent: node.effect.agent }];
    return node.effect.kind === 'tool' ? [{ tool: node.effect.tool }] : [];
  });
  const unique = [...new Map(targets.map((target) => [JSON.stringify(target), target])).values()];
  const plans: FaultPlan[] = [
    ...unique.flatMap((target) => {
      const [kind, called] = target.agent === undefined ? ['tool', target.tool] : ['model', target.agent];
      const mine = calls.filter((call) => call.kind === kind && call.name === called);
      const made = mine.reduce((sum, { attempts }) => sum + attempts.length, 0);
      const times = Math.min(CALLS_MAX, Math.max(1, made));
      return Array.from({ length: times }, (_, index) =>
        FAULT_KINDS.map((each) => ({ ...target, kind: each, at: index + 1 })),
      ).flat();
    }),
    ...FAULT_KINDS.map((kind) => ({ kind, rate: 0.3 })),
  ];
  return plans.map((plan) => ({
    name: `${name} [${faultName(plan)}]`,
    perform: async () => {
      const measured = await runCase({ ...run, wrap: (inner) => withFaults(inner, plan, run.seed) });
      return { measured, problems: soundProblems(measured, given) };
    },
  }));
}

/** Under every fault a run must end or wait, agree with its replay, keep its budgets, and do nothing forbidden. */
function soundProblems(measured: Measured, { expect = {} }: SuiteCase): readonly string[] {
  const { report, differsAt } = measured;
  const problems = [...safetyProblems(measured, expect), ...overruns(measured)];
  if (report.state === 'running' || report.state === 'pending')
    problems.push(`the run is ${report.state} and does not end`);
  if (report.state !== 'suspended' && report.code === null) problems.push('the run ended without a code');
  if (differsAt !== null) problems.push(`a replay differs at event ${differsAt}`);
  return problems;
}

/** The budgets of the document that the run exceeded. */
function overruns(measured: Measured): readonly string[] {
  const { report, read } = measured;
  // Undoing is never denied: a run that fails for lack of budget still undoes its effects.
  const undone = read.events.filter(({ type }) => type === 'undo.requested').length;
  return TOTALS.flatMap(({ key, name, measure, scale }) => {
    const max = read.program.flow.meters[key === 'steps' ? 'steps' : `budget.${name}`]?.max ?? null;
    if (max === null) return [];
    const used = report.usage[measure];
    const limit = (max + grantedIn(measured, name)) / scale;
    const counted = UNDOES.has(measure) ? used - undone : used;
    return counted > limit + 1e-9 ? [`${measure} is ${used}, above the limit of ${max / scale}`] : [];
  });
}

/** The dimensions that are summed over a run. */
const TOTALS = BUDGET_ROWS.filter(({ largest }) => largest === undefined);

/** Each dimension with each amount from 0 to the certificate's most. Large ranges are sampled. */
function budgetChecks({ name, given, run, variant }: PreparedCase): readonly Check[] {
  let unlimited: Promise<Measured> | null = null;
  const withoutLimit = (): Promise<Measured> => (unlimited ??= runCase(run));
  return TOTALS.flatMap(({ key, name: dimension, measure, scale }) => {
    const { most } = variant.bounds.flow[measure];
    return amountsUpTo(most, scale).map((amount) => ({
      name: `${name} [${key} ${amount}]`,
      perform: async () => {
        const { flow, codes } = variant.withBudget(key, amount);
        if (flow === null) return { measured: null, problems: refusalProblems(codes) };
        const measured = await runCase({ ...run, flow });
        const limit = { amount, isRaised: grantedIn(measured, dimension) > 0 };
        return { measured, problems: budgetProblems(await withoutLimit(), measured, measure, limit, given) };
      },
    }));
  });
}

/** A document whose budget is too small for any path does not start, so it keeps its budget. */
function refusalProblems(codes: readonly string[]): readonly string[] {
  const others = codes.filter((code) => code !== 'budget-too-small');
  return others.length === 0 && codes.length > 0
    ? []
    : [`the budget cannot be set in this document: ${others.join(', ')}`];
}

/** The amount that people granted beyond the limit. */
function grantedIn({ read: { events, program } }: Measured, dimension: string): number {
  const { meters } = program.flow;
  const raises = events.flatMap((event) => (event.type === 'meter.raised' ? event.raises : []));
  return raises.reduce((sum, { meter, by }) => (meters[meter]?.unit === dimension ? sum + by : sum), 0);
}

const EVERY_MAX = 24;

function amountsUpTo(most: number | null, scale: number): readonly number[] {
  const top = most ?? 50;
  if (top === 0) return [0];
  if (scale === 1 && top <= EVERY_MAX) return Array.from({ length: top + 1 }, (_, amount) => amount);
  const shares = [0, 0.01, 0.05, 0.1, 0.25, 0.5, 0.75, 1].map((share) => share * top);
  const amounts = scale === 1 ? [...shares.map(Math.round), 1, 2, 3] : shares;
  return [...new Set(amounts)].filter((amount) => amount <= top).sort((a, b) => a - b);
}

function budgetProblems(
  free: Measured,
  measured: Measured,
  measure: Measure,
  { amount, isRaised }: { readonly amount: number; readonly isRaised: boolean },
  given: SuiteCase,
): readonly string[] {
  const { report } = measured;
  const problems = [...soundProblems(measured, given)];
  const used = report.usage[measure];
  const isEnough = free.report.usage[measure] <= amount;
  const isSame = report.code === free.report.code;
  const isDenied = report.code === 'BUDGET_EXHAUSTED' || report.state === 'suspended';
  // A smaller budget may also lead to another path, but not to the same success.
  if (!isEnough && !isRaised && isGood(report.code) && used === free.report.usage[measure])
    problems.push(`the run succeeded with ${used} of ${measure}, and only ${amount} is allowed`);
  if (isEnough && !isSame && !isDenied)
    problems.push(`the code is ${report.code}, and it is ${free.report.code} without the limit, which is not reached`);
  return problems;
}

const UNDOES: ReadonlySet<Measure> = new Set<Measure>(['toolCalls', 'externalCalls', 'sideEffects']);

const ABSENT = 'absent';

/** The approver is absent, late or rejects. A high-risk call that a model proposed must then not be made. */
function escalationChecks({ name, given, run }: PreparedCase): readonly Check[] {
  return [ABSENT, 'late', 'rejecting'].map((approver) => ({
    name: `${name} [approver ${approver}]`,
    perform: async () => {
      const measured = await runCase({
        ...run,
        ...withoutApprovals(run.script),
        wrap: (inner) => ({
          ...inner,
          answer: (asked) => answerOf(approver, asked),
          expires: () => approver === 'late',
        }),
      });
      return { measured, problems: [...soundProblems(measured, given), ...bypasses(measured)] };
    },
  }));
}

const NO = /^(?:reject|den|no$|refus|declin|stop|cancel|abort|block)/i;

/**
 * An absent approver leaves the run suspended. A late one lets the deadline pass, if there is one. The answer of a rejecting
 * one counts as that of people who may answer.
 */
function answerOf(approver: string, { question }: Asked): ReturnType<NonNullable<Performer['answer']>> {
  if (approver !== 'rejecting') return null;
  return { choice: question.choices.find((each) => NO.test(each)) ?? question.choices.at(-1) ?? '' };
}

function withoutApprovals(script: Script | undefined): { readonly script?: Script } {
  if (script === undefined) return {};
  const { approvals: _, ...rest } = script;
  return { script: rest };
}

function bypasses({ report, calls }: Measured): readonly string[] {
  return report.receipts.flatMap(({ seq, tool, effect, approvedBy }) => {
    const call = calls.find(({ verdict }) => verdict?.seq === seq);
    return RISKY.has(effect) && approvedBy === null && call?.proposed === true
      ? [`${tool} (${effect}) was committed at event ${seq} without an approval`]
      : [];
  });
}

/** All stored runs, decided again under the present engine. */
export async function replayAll(store: Store | null): Promise<readonly CaseResult[]> {
  const results: CaseResult[] = [];
  for (const entry of store === null ? [] : await allOf((page) => store.index.list(page))) {
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
