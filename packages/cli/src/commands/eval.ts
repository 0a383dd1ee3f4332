/** `sluice eval`: runs a suite; `eval record` and `eval from-runs` turn stored runs into cases. */
import { compileExpr, present } from '@sluice-internal/kernel/expr';
import type { Json } from '@sluice-internal/kernel/expr';
import { checkExpression } from '@sluice-internal/compile/expressions';
import { allOf } from '@sluice-internal/engine/ports';
import { withoutPassword } from '@sluice-internal/library/host';
import type { Store } from '@sluice-internal/engine/ports';
import { readRun } from '@sluice-internal/engine/journal';
import { recordOf } from '@sluice-internal/evals/journal';
import type { RunRecord } from '@sluice-internal/evals/journal';
import {
  failedCases,
  metricRows,
  suiteHtml,
  suiteJUnit,
  suiteMarkdown,
  suiteSummary,
} from '@sluice-internal/evals/render';
import {
  caseOf,
  judgeOutput,
  prepareSuite,
  readSuite,
  runSuite,
  suiteText,
  unrepeatable,
} from '@sluice-internal/evals/suite';
import type { CaseRun, PreparedCase, Suite, SuiteResult } from '@sluice-internal/evals/suite';
import { createChance } from '@sluice-internal/testing/chance';
import {
  FAILED,
  OK,
  compileFile,
  harmless,
  mistakesIn,
  oneLine,
  plural,
  readSince,
  readText,
  readWhole,
  requireFlow,
  table,
  usage,
} from '@sluice-internal/library/documents';
import type { Cli, ExitStatus } from '@sluice-internal/library/documents';
import { existsSync } from 'node:fs';
import { basename, dirname, join, relative, resolve } from 'node:path';
import { readBaseline } from '../session/baseline.ts';
import type { Options } from '../table/command-table.ts';
import { createProgressBar } from '../view/progress-bar.ts';
import { reportFiles, writeReports, writeText } from '../view/report-file.ts';
import { findRun, withStore } from '../session/store.ts';

export async function evalCommand(cli: Cli, file: string, options: Options<'eval'>): Promise<ExitStatus> {
  const files = reportFiles(options);
  const baseline = options.baseline === undefined ? null : readBaseline(options.baseline);
  const { suite, cases, before } = await load(file, options);
  const bar = createProgressBar(cli, cases.length, 'cases');
  const replays = suite.modes?.includes('replay') === true;
  const run = async (store: Store | null): Promise<SuiteResult> =>
    runSuite({
      name: basename(file),
      suite,
      cases,
      before,
      store,
      baseline,
      judge: cases.some(({ given }) => given.expect?.judge !== undefined) ? judgeOutput : null,
      onProgress: (done, of, failed) =>
        bar.update(Math.round((done / Math.max(1, of)) * cases.length), failed === 0 ? '' : `${failed} failed`),
    });
  // Only the mode `replay` reads stored runs.
  const result = replays ? await withStore(cli, run) : await run(null);
  bar.clear();
  writeReports(cli, files, {
    '.json': () => `${JSON.stringify(result, null, 2)}\n`,
    '.md': () => suiteMarkdown(result),
    '.html': () => suiteHtml(result),
    '.xml': () => suiteJUnit(result),
  });
  print(cli, result);
  if (replays && !result.cases.some(({ mode }) => mode === 'replay'))
    cli.warn(`no stored run was replayed: \`${withoutPassword(cli.db)}\` has none`);
  return result.failed > 0 || result.missed.length > 0 || result.comparisons.some(({ worse }) => worse) ? FAILED : OK;
}

async function load(
  file: string,
  options: Options<'eval'>,
): Promise<{
  readonly suite: Suite;
  readonly cases: readonly PreparedCase[];
  readonly before: ((prepared: PreparedCase) => CaseRun) | null;
}> {
  const text = readText(file);
  const read = readSuite(text, file);
  if (read.suite === null) throw mistakesIn(file, text, read.diagnostics);
  const dir = dirname(file);
  const given = { dir, tags: options.tag ?? [], ...present({ model: options.model }) };
  const { flow, cases } = await prepareSuite({ suite: read.suite, ...given });
  const found = read.checkNames(flow);
  if (found.some(({ severity }) => severity === 'error')) throw mistakesIn(file, text, found);
  if (cases.length === 0 && (options.tag ?? []).length > 0)
    throw usage(
      `no case has the tag ${(options.tag ?? []).map((tag) => `\`${tag}\``).join(' or ')}`,
      `Give cases of \`${file}\` this tag, or leave \`--tag\` out.`,
    );
  return { suite: read.suite, cases, before: await earlier(read.suite, given) };
}

/** The same cases under the document before the change. Without an earlier document, the present one is compared with itself. */
async function earlier(
  suite: Suite,
  given: { readonly dir: string; readonly tags: readonly string[] },
): Promise<((prepared: PreparedCase) => CaseRun) | null> {
  if (suite.modes?.includes('policy') !== true) return null;
  if (suite.policy === undefined) return ({ run }) => run;
  const { cases } = await prepareSuite({ suite: { ...suite, flow: suite.policy.before, modes: ['policy'] }, ...given });
  return ({ name }) => (cases.find((each) => each.name === name) as PreparedCase).run;
}

function print(cli: Cli, result: SuiteResult): void {
  const { samples: _samples, figures: _figures, ...short } = result;
  if (cli.json) return cli.printJson(short);
  const failures = failedCases(result).map(
    ({ name, mode, problems }) =>
      `✗ ${oneLine(name)} (${mode})\n${problems.map((each) => `    ${oneLine(each, 400)}`).join('\n')}`,
  );
  const repeats = Object.entries(result.repeated).map(([name, { passed, runs, interval }]) => {
    const range = interval.map((share) => (share * 100).toFixed(0)).join(' to ');
    return `${oneLine(name)}: ${passed} of ${runs} passed (95 %: ${range} %)`;
  });
  const rows = metricRows(result.figures).filter(([, value]) => value !== '-');
  const policy = result.policy.map(
    ({ case: name, call, before, after }) => `${oneLine(name)}: ${oneLine(call, 120)}: ${before} → ${after}`,
  );
  const soak =
    result.soak === null
      ? []
      : [
          `soak: ${result.soak.runs} runs in ${result.soak.seconds.toFixed(1)} s, heap +${result.soak.heapGrowthMb.toFixed(1)} MB, ${result.soak.journalBytesPerRun} bytes and ${result.soak.eventsPerRun} events per run`,
        ];
  cli.screen.print(
    [
      ...failures,
      ...repeats,
      ...policy,
      ...soak,
      ...result.notInjected.map((name) => `${oneLine(name)}: no call met the fault`),
      ...scriptedModels(result),
      table([['METRIC', 'VALUE', 'TARGET', '', 'RUNS'], ...rows]),
      ...result.missed.map((each) => `✗ ${each}`),
      suiteSummary(result),
    ].join('\n'),
  );
}

function scriptedModels({ scriptedModels: runs }: SuiteResult): readonly string[] {
  if (runs.length === 0) return [];
  const [first = ''] = runs;
  const which = runs.length === 1 ? oneLine(first) : `${runs.length} runs, such as ${oneLine(first)}`;
  return [`matrix.models: a script answers in ${which}, so the models change only prices there`];
}

type CaseOptions = Pick<Options<'eval record'>, 'flow' | 'out'>;

export async function recordCommand(cli: Cli, given: string, options: Options<'eval record'>): Promise<ExitStatus> {
  return withStore(cli, async (store): Promise<ExitStatus> => {
    const run = await findRun(cli, store, given);
    const record = recordOf(await readRun(store.journal, run));
    const wanted = await flowId(options);
    if (wanted !== null && wanted !== record.report.flow)
      throw usage(
        `run \`${run}\` is of flow \`${record.report.flow}\`, but \`--flow\` names \`${wanted}\``,
        'Name the document of the run.',
      );
    const reason = unrepeatable(record);
    if (reason !== null) throw usage(`run \`${run}\` ${reason}`, 'Record another run.');
    const text = suiteText(flowPath(options), [caseOf(record, options.name)]);
    const { out } = options;
    const changes = out === undefined || !existsSync(out) ? [] : lineDiff(readText(out), text);
    deliver(cli, text, options);
    if (changes.length > 0) cli.hint(harmless(changes.join('\n')));
    return OK;
  });
}

/** The same seed chooses the same runs. */
export async function fromRunsCommand(cli: Cli, options: Options<'eval from-runs'>): Promise<ExitStatus> {
  const where = options.where === undefined ? null : condition(options.where);
  const most = readWhole('--sample', options.sample, 1) ?? Infinity;
  const since = readSince(options.since, Date.now()) ?? 0;
  const chance = createChance(readWhole('--seed', options.seed) ?? 1);
  const only = await flowId(options);
  return withStore(cli, async (store): Promise<ExitStatus> => {
    const records: RunRecord[] = [];
    let others = 0;
    let unrepeated = 0;
    for (const { run, startedAt, flow } of await allOf((page) => store.index.list(page))) {
      if (startedAt < since) continue;
      if (only !== null && flow !== only) {
        others += 1;
        continue;
      }
      const record = recordOf(await readRun(store.journal, run));
      if (where !== null && !where(record.report as unknown as { [name: string]: Json })) continue;
      if (unrepeatable(record) === null) records.push(record);
      else unrepeated += 1;
    }
    if (others > 0) cli.hint(`${plural(others, 'run')} of other flows left out`);
    if (unrepeated > 0)
      cli.hint(
        `${plural(unrepeated, 'run')} left out that a script cannot repeat: cancelled runs and forks with edited values`,
      );
    if (records.length === 0) {
      cli.hint(`no case was written: no stored run ${where === null ? 'of this time' : 'for which `--where` holds'}`);
      return FAILED;
    }
    requireOneFlow(records);
    const ordered = records.toSorted((a, b) => a.report.run.localeCompare(b.report.run));
    while (ordered.length > most) ordered.splice(chance.below(ordered.length), 1);
    const cases = ordered.map((record) => caseOf(record));
    deliver(cli, suiteText(flowPath(options), cases), options);
    cli.hint(`${plural(ordered.length, 'case')} from ${plural(records.length, 'run')}`);
    return OK;
  });
}

/** The id of the flow of `--flow`; null without it. */
async function flowId({ flow }: CaseOptions): Promise<string | null> {
  if (flow === undefined) return null;
  return requireFlow(await compileFile(flow)).id;
}

/** A suite has one flow. */
function requireOneFlow(records: readonly RunRecord[]): void {
  const flows = [...new Set(records.map(({ report: { flow } }) => flow))];
  if (flows.length > 1)
    throw usage(
      `the runs are of several flows: ${flows.join(', ')}`,
      'Name the document of one of them with `--flow`.',
    );
}

/** The fields of a report that `--where` can read. */
const WHERE_NAMES = [
  'run',
  'flow',
  'hash',
  'state',
  'code',
  'output',
  'path',
  'approvals',
  'results',
  'usage',
  'decisions',
  'waiting',
  'error',
  'receipts',
  'rejected',
  'violations',
  'reason',
];

/** A condition that cannot be evaluated for a run does not hold for it. */
function condition(where: string): (report: { readonly [name: string]: Json }) => boolean {
  const checked = checkExpression(where, { names: WHERE_NAMES });
  if (!checked.ok)
    throw usage(
      `\`--where\` is not an expression: ${checked.problems.map(({ message }) => message).join('; ')}`,
      `Write for example --where 'code == "SUCCESS"'.`,
    );
  const holds = compileExpr(where);
  return (report) => {
    try {
      return holds(JSON.parse(JSON.stringify(report)) as { [name: string]: Json }) === true;
    } catch {
      return false;
    }
  };
}

/** The path of the flow, as seen from the suite. */
function flowPath({ flow = './FLOW.yaml', out }: CaseOptions): string {
  if (out === undefined) return flow;
  const path = relative(resolve(dirname(out)), resolve(flow));
  return path.startsWith('.') ? path : `.${join('/', path)}`;
}

function deliver(cli: Cli, text: string, { out }: CaseOptions): void {
  if (out === undefined) cli.screen.printData(text.trimEnd());
  else {
    writeText(out, text);
    cli.hint(`wrote ${out}`);
  }
}

/**
 * The lines that differ, in order: `- ` of the first text, `+ ` of the second. Lines that both texts have are left out. This is
 * the algorithm of Myers: its cost grows with the number of differences, not with the product of the lengths. Texts with more
 * than `MOST_EDITS` differences are listed in full, one after the other.
 */
function lineDiff(before: string, after: string): readonly string[] {
  const [a, b] = [before.split('\n'), after.split('\n')];
  const rounds = furthest(a, b);
  if (rounds === null) return [...a.map((line) => `- ${line}`), ...b.map((line) => `+ ${line}`)];
  const lines: string[] = [];
  let [x, y] = [a.length, b.length];
  for (let edits = rounds.length; edits > 0; edits--) {
    const reached = rounds[edits - 1] as Reached;
    const from = takesAdded(reached, x - y, edits) ? x - y + 1 : x - y - 1;
    const isAdded = from > x - y;
    x = reached.get(from) ?? 0;
    y = x - from;
    lines.push(isAdded ? `+ ${b[y] ?? ''}` : `- ${a[x] ?? ''}`);
  }
  return lines.reverse();
}

const MOST_EDITS = 2000;

/** The furthest line of the first text on each diagonal (line of the first text less line of the second). */
type Reached = ReadonlyMap<number, number>;

/** Entry `n` has the lines that `n` edits reach. One more edit than the last entry has reaches both ends. Null: too many edits. */
function furthest(a: readonly string[], b: readonly string[]): readonly Reached[] | null {
  const rounds: Reached[] = [];
  let reached: Reached = new Map();
  for (let edits = 0; edits <= MOST_EDITS; edits++) {
    const next = new Map<number, number>();
    for (let diagonal = -edits; diagonal <= edits; diagonal += 2) {
      const isAdded = takesAdded(reached, diagonal, edits);
      let x = edits === 0 ? 0 : isAdded ? (reached.get(diagonal + 1) ?? 0) : (reached.get(diagonal - 1) ?? 0) + 1;
      while (x < a.length && x - diagonal < b.length && a[x] === b[x - diagonal]) x++;
      next.set(diagonal, x);
      if (x >= a.length && x - diagonal >= b.length) return rounds;
    }
    reached = next;
    rounds.push(reached);
  }
  return null;
}

/** True where the way to this diagonal goes over an added line, not over a removed one. */
function takesAdded(reached: Reached, diagonal: number, edits: number): boolean {
  if (diagonal === -edits) return true;
  return diagonal !== edits && (reached.get(diagonal - 1) ?? 0) < (reached.get(diagonal + 1) ?? 0);
}
