/** `sluice signal`: sends a signal to a run that waits for it, then follows the run until it waits or ends. */
import { currentUser } from '../session/ask-person.ts';
import type { Options } from '../table/command-table.ts';
import { readJson } from '@sluice-internal/library/documents';
import type { Cli, ExitStatus } from '@sluice-internal/library/documents';
import { requireNext, withRunSession } from '../session/continue-run.ts';
import { followToResult } from '../session/follow.ts';
import { findRun } from '../session/store.ts';

export async function signalCommand(
  cli: Cli,
  given: string,
  name: string,
  options: Options<'signal'>,
): Promise<ExitStatus> {
  const data = readJson('--data', options.data) ?? null;
  const by = options.as ?? currentUser();
  return withRunSession(cli, findRun, given, options, async (session, opened) => {
    const { run, seq } = opened;
    await requireNext(session, opened, options, { type: 'signal', name, data, by });
    await session.engine.signal(run, name, { data, by });
    return followToResult(cli, session, run, seq);
  });
}
