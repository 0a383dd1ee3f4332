/** `sluice show`: the state of one run, read from its journal. */
import { readRun } from '@sluice-internal/engine/journal';
import { reportOf } from '@sluice-internal/engine/report';
import type { Cli } from '@sluice-internal/library/documents';
import type { Options } from '../table/command-table.ts';
import { reportPage } from '../view/report-text.ts';
import { readOptions, withRun } from '../session/store.ts';

export async function showCommand(cli: Cli, given: string, options: Options<'show'>): Promise<void> {
  return withRun(cli, given, async ({ journal }, run) => {
    const report = reportOf(await readRun(journal, run, readOptions(cli, options)));
    cli.show(report, () => reportPage(report, cli.screen.width()));
  });
}
