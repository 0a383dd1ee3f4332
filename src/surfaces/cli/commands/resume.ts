/** `sluice resume`: continues one run or all unfinished ones. Waits for a run that another live process owns. */
import type { RunId } from '../../../ir/events.ts';
import type { Report } from '../../../runtime/engine/types.ts';
import type { RunEntry, WorkerId } from '../../../runtime/ports.ts';
import type { Cli } from '../context.ts';
import { OK, statusOfRun, worst, type ExitStatus } from '../exit-status.ts';
import { follow, printOutcome } from '../follow.ts';
import { checkCode } from '../pinned.ts';
import { headOf } from '../store.ts';
import { withSession, type Session } from '../session.ts';
import { demandDatabase, findRun, withStore } from '../store.ts';
import type { WorldOptions } from '../world.ts';

export async function resumeCommand(cli: Cli, given: string | undefined, options: WorldOptions): Promise<ExitStatus> {
  if (given !== undefined) demandDatabase(cli, 'run-not-found', `there is no run \`${given}\``);
  const runs = await withStore(cli, async (store) => {
    if (given !== undefined) return [await findRun(store, given, cli.db)];
    const listed = (await store?.roster.list({ status: ['pending', 'running', 'suspended'] })) ?? [];
    return listed
      .filter(isDue)
      .map(({ run }) => run)
      .reverse();
  });
  if (runs.length === 0) {
    if (cli.json) cli.printJson([]);
    cli.hint('nothing to resume');
    return OK;
  }
  return withSession(cli, options, undefined, async (session) => {
    for (const run of runs) await checkCode(session, run, options);
    const reports = await resumeAll(cli, session, runs);
    if (cli.json) cli.printJson(given === undefined ? reports : reports[0]);
    return worst(reports.map(statusOfRun));
  });
}

/** Skips runs that wait for a person, unless the wait is over. */
function isDue({ status, due }: RunEntry): boolean {
  return status !== 'suspended' || (due !== null && due <= Date.now());
}

async function ownerOf({ store }: Session, run: RunId): Promise<WorkerId | null> {
  return (await store.roster.find(run))?.owner ?? null;
}

/** All runs work at once; the reports follow one after the other. */
async function resumeAll(cli: Cli, session: Session, runs: readonly RunId[]): Promise<readonly Report[]> {
  const heads = new Map<RunId, number>();
  for (const run of runs) {
    const before = await ownerOf(session, run);
    heads.set(run, (await headOf(session.store, run)).seq);
    await session.engine.resume(run);
    if (before !== null && (await ownerOf(session, run)) === before)
      cli.hint(`run ${run} is owned by another process; waiting until that process ends or its lease expires`);
  }
  const reports: Report[] = [];
  for (const run of runs) {
    cli.hint(`run ${run}`);
    const report = await follow(cli, session, run, heads.get(run));
    if (!cli.json) printOutcome(cli, session.world.flags, report);
    reports.push(report);
  }
  return reports;
}
