/** `sluice cancel`: stops a run and waits until it has undone its effects. */
import { currentUser } from '../session/ask-person.ts';
import type { Options } from '../table/command-table.ts';
import { FAILED, OK } from '@sluice-internal/library/documents';
import type { Cli, ExitStatus } from '@sluice-internal/library/documents';
import { requireNext, withRunSession } from '../session/continue-run.ts';
import { follow } from '../session/follow.ts';
import { evidenceLines, failureLine, verdictLine } from '../view/report-text.ts';
import { findWholeRun } from '../session/store.ts';

/** Exit 0 if the run ended cancelled. A run that could not undo everything ends with another code. */
export async function cancelCommand(cli: Cli, given: string, options: Options<'cancel'>): Promise<ExitStatus> {
  const { as: by = currentUser(), why = '' } = options;
  return withRunSession(cli, findWholeRun, given, options, async (session, opened) => {
    const { run, seq } = opened;
    await requireNext(session, opened, options, { type: 'cancel', by, why });
    await session.engine.cancel(run, by, options.why);
    const report = await follow(cli, session, run, seq);
    if (cli.json) cli.printJson(report);
    else {
      cli.hint(verdictLine(report, cli.screen));
      const failure = failureLine(report);
      if (failure !== null) cli.screen.note(`  ${failure}`);
      for (const line of evidenceLines(report)) cli.hint(`  ${line}`);
    }
    return report.state === 'cancelled' ? OK : FAILED;
  });
}
