/** `sluice cancel`: stops a run and waits until it has undone its effects. */
import type { RunId } from '../../../ir/events.ts';
import type { Store } from '../../../runtime/ports.ts';
import { currentUser } from '../ask-person.ts';
import type { Cli } from '../context.ts';
import { FAILED, OK, type ExitStatus } from '../exit-status.ts';
import { follow } from '../follow.ts';
import { foresee } from '../store.ts';
import { headOf } from '../store.ts';
import { checkCode } from '../pinned.ts';
import { failureLine, verdictLine } from '../report-text.ts';
import { withRunSession, type ContinueOptions } from '../recorded-script.ts';
import { demandDatabase, findWholeRun } from '../store.ts';
import { requireNext } from '../world.ts';

export interface CancelOptions extends ContinueOptions {
  readonly as?: string;
  readonly why?: string;
}

/** Exit 0 if the run ended cancelled. A run that could not undo everything ends with another code. */
export async function cancelCommand(cli: Cli, given: string, options: CancelOptions): Promise<ExitStatus> {
  demandDatabase(cli, 'run-not-found', `there is no run \`${given}\``);
  const find = (store: Store): Promise<RunId> => findWholeRun(store, given, cli.db);
  return withRunSession(cli, options, find, async (session) => {
    const run = await find(session.store);
    const { seq } = await headOf(session.store, run);
    await checkCode(session, run, options);
    const by = options.as ?? currentUser();
    requireNext(session.world, await foresee(session.store, run, { type: 'cancel', by, why: options.why ?? '' }));
    await session.engine.cancel(run, by, options.why);
    const report = await follow(cli, session, run, seq);
    if (cli.json) cli.printJson(report);
    else {
      cli.hint(verdictLine(report, cli.screen));
      const failure = failureLine(report);
      if (failure !== null) cli.screen.note(`  ${failure}`);
    }
    return report.state === 'cancelled' ? OK : FAILED;
  });
}
