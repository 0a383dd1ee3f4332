/** `sluice signal`: sends a signal to a run that waits for it, then follows the run until it waits or ends. */
import { currentUser } from '../ask-person.ts';
import type { Cli } from '../context.ts';
import { statusOfRun, type ExitStatus } from '../exit-status.ts';
import { follow, printOutcome } from '../follow.ts';
import { readJson } from '../option-values.ts';
import { checkCode } from '../pinned.ts';
import { withSession } from '../session.ts';
import { demandDatabase, findRun, foresee, headOf } from '../store.ts';
import { requireNext, type WorldOptions } from '../world.ts';

export interface SignalOptions extends WorldOptions {
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
  return withSession(cli, options, undefined, async (session) => {
    const run = await findRun(session.store, given, cli.db);
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
