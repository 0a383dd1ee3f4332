/** `sluice diagnose`: the part that failed and the pathologies in one run, or in all runs of a time span. */
import { allOf } from '@sluice-internal/engine/ports';
import type { Store } from '@sluice-internal/engine/ports';
import { readRun } from '@sluice-internal/engine/journal';
import { diagnose, judgeFailure } from '@sluice-internal/evals/diagnose';
import type { Diagnosis, JudgeOptions, Judged } from '@sluice-internal/evals/diagnose';
import { recordOf } from '@sluice-internal/evals/journal';
import type { RunRecord } from '@sluice-internal/evals/journal';
import { loadScript, oneLine, plural, readSince, usage } from '@sluice-internal/library/documents';
import type { Cli } from '@sluice-internal/library/documents';
import type { Options } from '../table/command-table.ts';
import { findRun, withStore } from '../session/store.ts';
import { partLine } from '../view/report-text.ts';

export async function diagnoseCommand(
  cli: Cli,
  given: string | undefined,
  options: Options<'diagnose'>,
): Promise<void> {
  const since = readSince(options.since, Date.now());
  if (given === undefined && since === undefined)
    throw usage('`diagnose` needs a run, or `--since`', 'Write `sluice diagnose RUN` or `sluice diagnose --since 7d`.');
  const judge = judgeOf(cli, given, options);
  return withStore(cli, async (store) => {
    if (given !== undefined) {
      const record = await load(store, await findRun(cli, store, given));
      const diagnosis = diagnose(record);
      const asks = judge !== null && diagnosis.failure !== null;
      const judged = asks ? await judgeFailure(record, judge) : null;
      return cli.show(judge === null ? diagnosis : { ...diagnosis, judged }, () =>
        [pageOf(diagnosis), ...(judged === null ? [] : [judgedLine(judged)])].join('\n'),
      );
    }
    const all = await diagnoseRuns(store, ({ startedAt }) => startedAt >= (since ?? 0));
    const sick = all.filter(({ findings, failure }) => findings.length > 0 || failure !== null);
    cli.show({ runs: all.length, findings: countsIn(all), diagnoses: sick }, () =>
      [...summaryOf(all), ...sick.map((each) => `\n${pageOf(each)}`)].join('\n'),
    );
  });
}

/** Null unless the user asks for a judge. */
function judgeOf(cli: Cli, run: string | undefined, { judge, script }: Options<'diagnose'>): JudgeOptions | null {
  if (judge === undefined && script === undefined) return null;
  if (judge === undefined || run === undefined)
    throw usage(
      judge === undefined ? '`--script` has an effect only with `--judge`' : '`--judge` needs a run',
      'Write `sluice diagnose RUN --judge provider/model`.',
    );
  if (judge === true && script === undefined)
    throw usage('`--judge` needs a model', 'Write `--judge provider/model`, or give the replies with `--script`.');
  return {
    model: judge === true ? undefined : judge,
    script: script === undefined ? undefined : loadScript(script, undefined, cli),
  };
}

function judgedLine({ agent, seq, why, by }: Judged): string {
  return `  judged by ${by}: ${agent ?? 'the flow'} at event ${seq}: ${oneLine(why, 300)}`;
}

async function diagnoseRuns(
  store: Store,
  isChosen: (entry: { readonly run: string; readonly startedAt: number }) => boolean,
): Promise<readonly Diagnosis[]> {
  const diagnoses: Diagnosis[] = [];
  for (const entry of await allOf((page) => store.index.list(page)))
    if (isChosen(entry)) diagnoses.push(diagnose(await load(store, entry.run)));
  return diagnoses;
}

async function load(store: Store, run: string): Promise<RunRecord> {
  return recordOf(await readRun(store.journal, run));
}

function countsIn(all: readonly Diagnosis[]): { [id: string]: number } {
  const counts: { [id: string]: number } = {};
  for (const { findings } of all) for (const { id } of findings) counts[id] = (counts[id] ?? 0) + 1;
  return counts;
}

function summaryOf(all: readonly Diagnosis[]): readonly string[] {
  const counts = Object.entries(countsIn(all)).sort(([, a], [, b]) => b - a);
  return [plural(all.length, 'run'), ...counts.map(([id, count]) => `${String(count).padStart(5)}  ${id}`)];
}

function pageOf({ run, flow, state, code, findings, failure }: Diagnosis): string {
  const head = `${run}  ${oneLine(flow)}  ${state}${code === null ? '' : `  ${code}`}`;
  const failed = failure === null ? [] : [`  failed: ${partLine(failure)}`];
  const none = findings.length === 0 ? ['  no findings'] : [];
  const pages = findings.map((each) =>
    [
      `  ${each.title} (${each.id}${each.mast === null ? '' : `, MAST ${each.mast}`})`,
      `    seen         ${oneLine(each.seen, 300)}`,
      `    events       ${each.events.slice(0, 20).join(', ')}${each.events.length > 20 ? ' …' : ''}`,
      `    containment  ${oneLine(each.containment, 300)}`,
      `    remedy       ${oneLine(each.remedy, 400)}`,
    ].join('\n'),
  );
  return [head, ...failed, ...none, ...pages].join('\n');
}
