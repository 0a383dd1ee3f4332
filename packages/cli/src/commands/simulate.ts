/** `sluice simulate`: rehearses a flow in thousands of generated futures, without models, tools or people. */
import { present } from '@sluice-internal/kernel/expr';
import { isMemoryCheck, isPolicyCheck, memoryPerformer, policyPerformer } from '@sluice-internal/guard/policy';
import { createMemoryStore } from '@sluice-internal/store-sqlite';
import type { CompiledFlow } from '@sluice-internal/kernel/ir';
import { createVirtualClock, failureOf } from '@sluice-internal/engine/ports';
import type { Call } from '@sluice-internal/engine/ports';
import { rehearse } from '@sluice-internal/evals/rehearse';
import type { RealCheck, Rehearsal } from '@sluice-internal/evals/rehearse';
import { rehearsalHtml, rehearsalJUnit, rehearsalMarkdown } from '@sluice-internal/evals/render';
import {
  FAILED,
  OK,
  compileFile,
  dollars,
  failedCompile,
  grouped,
  oneLine,
  plural,
  readJson,
  readWhole,
  requireFlow,
  shellWord,
  table,
} from '@sluice-internal/library/documents';
import type { Cli, ExitStatus } from '@sluice-internal/library/documents';
import { dirname } from 'node:path';
import type { Options } from '../table/command-table.ts';
import { createProgressBar } from '../view/progress-bar.ts';
import { reportFiles, writeReports } from '../view/report-file.ts';
import { withCommandName } from '../table/command-name.ts';

const RUNS = 1000;
const RUNS_MAX = 1_000_000;
const COVERAGE_RUNS = 20_000;

export async function simulateCommand(cli: Cli, file: string, options: Options<'simulate'>): Promise<ExitStatus> {
  const untilCoverage = options.untilCoverage === true;
  const runs = readWhole('--runs', options.runs, 1, RUNS_MAX) ?? (untilCoverage ? COVERAGE_RUNS : RUNS);
  const seed = readWhole('--seed', options.seed) ?? 1;
  const input = readJson('--input', options.input);
  const files = reportFiles(options);
  const compiled = await compileFile(file);
  const flow = requireFlow(compiled);
  const { bounds, graph = null } = compiled.result;
  if (bounds === undefined) throw failedCompile(compiled);
  const bar = createProgressBar(cli, runs, 'runs');
  const result = await rehearse({
    flow,
    bounds,
    picture: graph,
    runs,
    seed,
    untilCoverage,
    check: realChecks(flow, dirname(file)),
    onProgress: (done) => bar.update(done),
    ...present({ input }),
  });
  bar.clear();
  writeReports(cli, files, {
    '.json': () => `${JSON.stringify(result, null, 2)}\n`,
    '.md': () => rehearsalMarkdown(result),
    '.html': () => rehearsalHtml(result),
    '.xml': () => rehearsalJUnit(result),
  });
  const { samples: _, ...report } = result;
  cli.show(report, () => textOf(result, file));
  return Object.values(result.certificate).every(({ holds }) => holds) ? OK : FAILED;
}

/** Policies are evaluated, and memory is empty. */
export function realChecks(flow: CompiledFlow, documentDir: string): RealCheck {
  const policy = policyPerformer();
  const memory = memoryPerformer(createMemoryStore());
  const clock = createVirtualClock();
  const { signal } = new AbortController();
  return (command) => {
    const performer = isPolicyCheck(command) ? policy : isMemoryCheck(command) ? memory : null;
    if (performer === null) return null;
    const call: Call = { command, flow, idempotencyKey: command.key, pins: { documentDir }, signal, clock };
    return performer.perform(call).catch((error: unknown) => ({ ok: false as const, error: failureOf(error) }));
  };
}

function textOf(result: Rehearsal, file: string): string {
  const { runs, codes, nodes, edges, costUsd, steps, worst, certificate, defects } = result;
  const share = (count: number): string => `${Number(((count / runs) * 100).toFixed(1))} %`;
  const reached = (covered: Rehearsal['nodes']): string =>
    `${covered.reached} of ${covered.reached + covered.never.length}${covered.never.length === 0 ? '' : `, never: ${covered.never.map((name) => oneLine(name)).join(', ')}`}`;
  const rows = [
    ['runs', `${grouped(runs)} from seed ${result.seed}, ${plural(result.crashes, 'crash', 'crashes')}`],
    ...Object.entries(codes).map(([code, count]) => [code, `${grouped(count)}  ${share(count)}`]),
    ['nodes', reached(nodes)],
    ['routes', reached(edges)],
    ['steps', `p50 ${steps.p50}, p95 ${steps.p95}, max ${steps.max}`],
    ['cost', `p50 ${dollars(costUsd.p50)}, p95 ${dollars(costUsd.p95)}, max ${dollars(costUsd.max)}`],
    ...Object.entries(certificate).map(([measure, { seen, most, holds }]) => [
      `most ${measure}`,
      `${seen} seen, ${most ?? 'no bound'} certified${holds ? '' : '  EXCEEDED'}`,
    ]),
    ...(worst === null
      ? []
      : [
          [
            'worst',
            `${worst.code}: replay with ${withCommandName(`sluice simulate ${shellWord(file)} --runs 1 --seed ${worst.seed}`)}`,
          ],
        ]),
    ...defects.map(({ kind, message, seed, runs: count }) => [
      'defect',
      `${kind}: ${oneLine(message, 200)}${seed === null ? '' : ` (${plural(count, 'run')}, seed ${seed})`}`,
    ]),
  ];
  return table(rows);
}
