/** `sluice retry`: tries a run again from the call that failed, and follows the new run. */
import { present } from '@sluice-internal/kernel/expr';
import type { Cli, ExitStatus } from '@sluice-internal/library/documents';
import { nameAt } from '@sluice-internal/engine/report';
import { currentUser } from '../session/ask-person.ts';
import type { Options } from '../table/command-table.ts';
import { acceptedCode, withRunSession } from '../session/continue-run.ts';
import { followToResult } from '../session/follow.ts';
import { findRun } from '../session/store.ts';

export async function retryCommand(cli: Cli, given: string, options: Options<'retry'>): Promise<ExitStatus> {
  return withRunSession(cli, findRun, given, options, async (session, { run: parent, program, state }) => {
    const modules = acceptedCode(parent, state, options);
    const { id: run } = await session.engine.retry(parent, {
      by: options.as ?? currentUser(),
      ...present({ run: options.run, modules }),
    });
    const { state: forked } = await session.open(run);
    const last = forked.origin.parent?.seq ?? 0;
    const open = [...forked.pending.values()].map(({ node }) => `\`${nameAt(program.flow, node)}\``);
    const where = open.length === 0 ? `event ${last}` : [...new Set(open)].join(' and ');
    cli.hint(`run ${run} goes on at ${where} of ${parent}`);
    return followToResult(cli, session, run, last);
  });
}
