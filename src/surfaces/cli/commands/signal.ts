/** `sluice signal`: sends a signal to a run that waits for it, then follows the run until it waits or ends. */
import type { RunId } from '../../../ir/events.ts';
import type { Store } from '../../../runtime/ports.ts';
import { currentUser } from '../ask-person.ts';
import type { Cli } from '../context.ts';
import { statusOfRun, type ExitStatus } from '../exit-status.ts';
import { follow, printOutcome } from '../follow.ts';
import { readJson } from '../option-values.ts';
import { checkCode } from '../pinned.ts';
import { withRunSession, type ContinueOptions } from '../recorded-script.ts';
import { demandDatabase, findRun, foresee, headOf } from '../store.ts';
import { requireNext } from '../world.ts';

export interface SignalOptions extends ContinueOptions {
  readonly data?: string;
  readonly as?: string;
}

export async function signalCommand(
  cli: Cli,
  given: string,
  name: string,
  options: SignalOptions,
): Promise<ExitStatus> {
  const data = readJson('--data', options.data) ?? null;
  const by = options.as ?? currentUser();
  demandDatabase(cli, 'run-not-found', `there is no run \`${given}\``);
  const find = (store: Store): Promise<RunId> => findRun(store, given, cli.db);
  return withRunSession(cli, options, find, async (session) => {
    const run = await find(session.store);
    await checkCode(session, run, options);
    const { seq } = await headOf(session.store, run);
    requireNext(session.world, await foresee(session.store, run, { type: 'signal', name, data, by }));
    await session.engine.signal(run, name, { data, by });
    const report = await follow(cli, session, run, seq);
    if (cli.json) cli.printJson(report);
    else printOutcome(cli, session.world.flags, report);
    return statusOfRun(report);
  });
}
