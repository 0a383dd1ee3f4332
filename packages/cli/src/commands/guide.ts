/** `sluice guide`: a remark of a person to the agents of a run. The run goes on in its own process. */
import { OK } from '@sluice-internal/library/documents';
import type { Cli, ExitStatus } from '@sluice-internal/library/documents';
import { currentUser } from '../session/ask-person.ts';
import { withRunSession } from '../session/continue-run.ts';
import { findRun } from '../session/store.ts';
import type { Options } from '../table/command-table.ts';

export async function guideCommand(
  cli: Cli,
  given: string,
  text: string,
  options: Options<'guide'>,
): Promise<ExitStatus> {
  const { as: by = currentUser(), agent = null } = options;
  return withRunSession(cli, findRun, given, {}, async (session, { run }) => {
    await session.engine.guide(run, { by, text, agent });
    if (cli.json) cli.printJson({ run, by, text, agent });
    else cli.hint(`${by} has said it to ${agent ?? 'the agent that asks its model next'}.`);
    return OK;
  });
}
