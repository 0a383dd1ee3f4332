/** `sluice resume`: continues one run or all unfinished ones. Waits for a run that another live process owns. */
import type { RunId } from '../../../ir/events.ts';
import type { Report } from '../../../runtime/engine/types.ts';
import type { RunEntry, WorkerId } from '../../../runtime/ports.ts';
import type { Cli } from '../context.ts';
import { FAILED, OK, statusOfRun, worst, type ExitStatus } from '../exit-status.ts';
import { follow, printOutcome } from '../follow.ts';
import { checkCode } from '../pinned.ts';
import { SluiceError } from '../../../runtime/errors.ts';
import { renderError, reportOf, type ErrorReport } from '../report-error.ts';
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
    const resumed = new Resumed(cli, session, given !== undefined);
    for (const run of runs) await resumed.attempt(run, () => resumed.begin(run, options));
    for (const run of resumed.begun) await resumed.attempt(run, () => resumed.follow(run));
    return resumed.finish();
  });
}

/** Skips runs that wait for a person, unless the wait is over. */
function isDue({ status, due }: RunEntry): boolean {
  return status !== 'suspended' || (due !== null && due <= Date.now());
}

/** All runs work at once; the reports follow one after the other. A run that cannot continue does not stop the others. */
class Resumed {
  readonly #cli: Cli;
  readonly #session: Session;
  /** The user named one run, so its error is the error of the command. */
  readonly #single: boolean;
  readonly #heads = new Map<RunId, number>();
  readonly #reports: Report[] = [];
  readonly #left: { readonly run: RunId; readonly error: ErrorReport }[] = [];

  constructor(cli: Cli, session: Session, single: boolean) {
    this.#cli = cli;
    this.#session = session;
    this.#single = single;
  }

  get begun(): readonly RunId[] {
    return [...this.#heads.keys()];
  }

  async attempt(run: RunId, work: () => Promise<void>): Promise<void> {
    try {
      await work();
    } catch (error) {
      if (this.#single || !(error instanceof SluiceError) || !OF_ONE_RUN.has(error.code)) throw error;
      const report = reportOf(error);
      this.#left.push({ run, error: report });
      this.#cli.screen.note(renderError(report, this.#cli.screen));
    }
  }

  async begin(run: RunId, options: WorldOptions): Promise<void> {
    const { store, engine } = this.#session;
    await checkCode(this.#session, run, options);
    const before = await this.#ownerOf(run);
    const { seq } = await headOf(store, run);
    await engine.resume(run);
    this.#heads.set(run, seq);
    if (before !== null && (await this.#ownerOf(run)) === before)
      this.#cli.hint(`run ${run} is owned by another process; waiting until that process ends or its lease expires`);
  }

  async follow(run: RunId): Promise<void> {
    this.#cli.hint(`run ${run}`);
    const report = await follow(this.#cli, this.#session, run, this.#heads.get(run));
    if (!this.#cli.json) printOutcome(this.#cli, this.#session.world.flags, report);
    this.#reports.push(report);
  }

  finish(): ExitStatus {
    if (this.#cli.json) this.#cli.printJson(this.#single ? this.#reports[0] : [...this.#reports, ...this.#left]);
    return worst([...this.#reports.map(statusOfRun), ...(this.#left.length > 0 ? ([FAILED] as const) : [])]);
  }

  async #ownerOf(run: RunId): Promise<WorkerId | null> {
    return (await this.#session.store.roster.find(run))?.owner ?? null;
  }
}

/** Errors that concern one run and not the database. */
const OF_ONE_RUN: ReadonlySet<string> = new Set([
  'chain-broken',
  'code-changed',
  'invariant-broken',
  'journal-damaged',
  'pii-key',
  'quota-exceeded',
  'run-not-found',
  'unsafe-module',
]);
