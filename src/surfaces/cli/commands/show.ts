/** `sluice show`: the state of one run, read from its journal. */
import { readRun } from '../../../runtime/journal/read.ts';
import { reportOf } from '../../../runtime/report/report.ts';
import type { Options } from '../command-table.ts';
import type { Cli } from '../context.ts';
import { reportPage } from '../report-text.ts';
import { readOptions, withRun } from '../store.ts';

export async function showCommand(cli: Cli, given: string, options: Options<'show'>): Promise<void> {
  return withRun(cli, given, async ({ journal }, run) => {
    const report = reportOf(await readRun(journal, run, readOptions(cli, options)));
    cli.show(report, () => reportPage(report, cli.screen.width()));
  });
}
