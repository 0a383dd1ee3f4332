/** `sluice replay`: decides again over the journal and names both sides of any difference. */
import { replay } from '@sluice-internal/engine/audit';
import type { Difference } from '@sluice-internal/engine/audit';
import { FAILED, OK, oneLine, plural } from '@sluice-internal/library/documents';
import type { Cli, ExitStatus } from '@sluice-internal/library/documents';
import { noteError } from '../view/report-error.ts';
import { withRun } from '../session/store.ts';

export async function replayCommand(cli: Cli, given: string): Promise<ExitStatus> {
  return withRun(cli, given, async ({ journal, index }, run) => {
    const result = await replay(journal, run, await index.find(run));
    if (cli.json) cli.printJson(result);
    else if (result.difference === null)
      cli.screen.print(`${run}: the replay agrees over ${plural(result.events, 'event')}`);
    else noteError(cli.screen, 'replay-differs', differenceText(run, result.difference));
    return result.agrees ? OK : FAILED;
  });
}

function differenceText(run: string, { seq, journal, replay: again }: Difference): string {
  return `run ${run} differs at event ${seq}\n  journal: ${side(journal)}\n  replay:  ${side(again)}`;
}

function side(event: object | null): string {
  return event === null ? 'nothing' : oneLine(JSON.stringify(event), 1000);
}
