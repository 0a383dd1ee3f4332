/** `sluice show`: the state of one run, read from its journal. */
import { readRun } from '../../../runtime/journal/read.ts';
import { reportOf } from '../../../runtime/report/report.ts';
import type { Cli } from '../context.ts';
import { OK, type ExitStatus } from '../exit-status.ts';
import { reportPage } from '../report-text.ts';
import { readOptions, withRun } from '../store.ts';

export interface ShowOptions {
  readonly unverified?: boolean;
}

export async function showCommand(cli: Cli, given: string, options: ShowOptions = {}): Promise<ExitStatus> {
  return withRun(cli, given, async ({ journal }, run) => {
    const report = reportOf(await readRun(journal, run, readOptions(cli, options)));
    if (cli.json) cli.printJson(report);
    else cli.screen.print(reportPage(report, cli.screen.width()));
    return OK;
  });
}
