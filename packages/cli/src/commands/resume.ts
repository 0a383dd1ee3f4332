/** `sluice resume`: continues one run or all unfinished ones. Waits for a run that another live process owns. */
import type { RunId } from '@sluice-internal/kernel/ir';
import { SluiceError, allOf } from '@sluice-internal/engine/ports';
import type { BudgetGrant, OpenedRun, Report, Store, WorkerId } from '@sluice-internal/engine/ports';
import { openToContinue } from '@sluice-internal/engine/journal';
import { checkedGrant } from '@sluice-internal/library/host';
import { FAILED, OK, statusOfRun, usage, worst } from '@sluice-internal/library/documents';
import type { Cli, ExitStatus } from '@sluice-internal/library/documents';
import type { Options } from '../table/command-table.ts';
import { currentUser } from '../session/ask-person.ts';
import { checkCode, requireNext, withRecorded } from '../session/continue-run.ts';
import { follow, printOutcome } from '../session/follow.ts';
import { renderError, reportOf, type ErrorReport } from '../view/report-error.ts';
import { withSession, type Session } from '../session/session.ts';
import { findRun, openIfThere } from '../session/store.ts';
import type { WorldOptions } from '../session/world.ts';

export async function resumeCommand(
  cli: Cli,
  given: string | undefined,
  options: Options<'resume'>,
): Promise<ExitStatus> {
  const grant = grantOf(given, options);
  const store = openIfThere(cli);
  const resumed = new Resumed(cli, given !== undefined, grant);
  let groups: readonly Group[];
  try {
    groups = await resumed.grouped(store, await runsToResume(cli, store, given), options);
  } catch (error) {
    await store.close();
    throw error;
  }
  if (groups.length === 0) await store.close();
  for (const [index, group] of groups.entries())
    await withSession(
      cli,
      group.options,
      undefined,
      (session) => resumed.resume(session, group.runs, options),
      index === 0 ? store : undefined,
    );
  if (groups.length > 0 || resumed.hasLeft()) return resumed.finish();
  if (cli.json) cli.printJson([]);
  cli.hint('nothing to resume');
  return OK;
}

/** The amounts of `--budget`. They need one run. */
function grantOf(run: string | undefined, { budget, as }: Options<'resume'>): BudgetGrant | null {
  if (budget === undefined) return null;
  if (run === undefined)
    throw usage('`--budget` needs the run that it adds to', 'Write it as sluice resume RUN --budget tool_calls=20');
  const amounts = budget.map((text): readonly [string, number] => {
    const at = text.indexOf('=');
    if (at <= 0 || text.slice(at + 1).trim() === '')
      throw usage(`\`--budget\` takes NAME=AMOUNT, not \`${text}\``, 'Write it as --budget tool_calls=20');
    return [text.slice(0, at).trim(), Number(text.slice(at + 1))];
  });
  return checkedGrant({ budget: Object.fromEntries(amounts), by: as ?? currentUser() });
}

async function runsToResume(cli: Cli, store: Store, given: string | undefined): Promise<readonly RunId[]> {
  if (given !== undefined) return [await findRun(cli, store, given)];
  const working = await allOf((page) => store.index.list({ ...page, status: ['pending', 'running'] }));
  // A run that waits for a person is left alone, unless the wait is over.
  const over = { status: ['suspended'], due: Date.now() } as const;
  const due = await allOf((page) => store.index.list({ ...page, ...over }));
  return [...working, ...due].toSorted((a, b) => a.startedAt - b.startedAt).map(({ run }) => run);
}

/** Runs that go on with the same script, or with none. */
interface Group {
  readonly options: WorldOptions;
  /** Open until the group is done, so that each is read once. */
  readonly runs: OpenedRun[];
}

/** The runs of a group work at once; the reports follow one after the other. A run that cannot continue does not stop the others. */
class Resumed {
  readonly #cli: Cli;
  /** The user named one run, so its error is the error of the command. */
  readonly #single: boolean;
  readonly #reports: Report[] = [];
  readonly #left: { readonly run: RunId; readonly error: ErrorReport }[] = [];

  readonly #grant: BudgetGrant | null;

  constructor(cli: Cli, single: boolean, grant: BudgetGrant | null) {
    this.#cli = cli;
    this.#single = single;
    this.#grant = grant;
  }

  async grouped(store: Store, runs: readonly RunId[], options: WorldOptions): Promise<readonly Group[]> {
    const groups = new Map<WorldOptions['script'], Group>();
    for (const run of runs)
      await this.#attempt(run, async () => {
        const opened = await openToContinue(store.journal, run);
        const own = withRecorded(this.#cli, opened, options);
        const group = groups.get(own.script) ?? { options: own, runs: [] };
        group.runs.push(opened);
        groups.set(own.script, group);
      });
    return [...groups.values()];
  }

  hasLeft(): boolean {
    return this.#left.length > 0;
  }

  async resume(session: Session, runs: readonly OpenedRun[], options: WorldOptions): Promise<void> {
    const heads = new Map<RunId, number>();
    for (const opened of runs)
      await this.#attempt(opened.run, async () => {
        // The session of a later group has a store of its own.
        heads.set(opened.run, await this.#begin(session, await session.open(opened.run), options));
      });
    for (const [run, head] of heads) await this.#attempt(run, () => this.#follow(session, run, head));
  }

  async #attempt(run: RunId, work: () => Promise<void>): Promise<void> {
    try {
      await work();
    } catch (error) {
      if (this.#single || !(error instanceof SluiceError) || !OF_ONE_RUN.has(error.code)) throw error;
      const report = reportOf(error);
      this.#left.push({ run, error: report });
      this.#cli.screen.note(renderError(report, this.#cli.screen));
    }
  }

  /** The event at which the run goes on. */
  async #begin(session: Session, opened: OpenedRun, options: WorldOptions): Promise<number> {
    const { run } = opened;
    if (this.#grant !== null) return this.#grantTo(session, opened, options, this.#grant);
    await checkCode(session, opened, options);
    const before = await ownerOf(session, run);
    await opened.refresh();
    const { seq } = opened;
    await session.engine.resume(run);
    if (before !== null && (await ownerOf(session, run)) === before)
      this.#cli.hint(`run ${run} is owned by another process; waiting until that process ends or its lease expires`);
    return seq;
  }

  /** Code that has changed is refused before anything is recorded. */
  async #grantTo(session: Session, opened: OpenedRun, options: WorldOptions, grant: BudgetGrant): Promise<number> {
    const { run } = opened;
    const grants = Object.entries(grant.budget).map(([dimension, amount]) => ({ dimension, amount }));
    await requireNext(session, opened, options, { type: 'grant', by: grant.by, grants });
    const { seq } = opened;
    await session.engine.resume(run, grant);
    return seq;
  }

  async #follow(session: Session, run: RunId, head: number): Promise<void> {
    this.#cli.hint(`run ${run}`);
    const report = await follow(this.#cli, session, run, head);
    if (!this.#cli.json) printOutcome(this.#cli, session.flags, report);
    this.#reports.push(report);
  }

  finish(): ExitStatus {
    if (this.#cli.json) this.#cli.printJson(this.#single ? this.#reports[0] : [...this.#reports, ...this.#left]);
    return worst([...this.#reports.map(statusOfRun), ...(this.#left.length > 0 ? ([FAILED] as const) : [])]);
  }
}

async function ownerOf({ store }: Session, run: RunId): Promise<WorkerId | null> {
  return (await store.index.find(run))?.owner ?? null;
}

/** Errors that concern one run and not the database. */
const OF_ONE_RUN: ReadonlySet<string> = new Set([
  'chain-broken',
  'code-changed',
  'file-not-found',
  'invariant-broken',
  'journal-damaged',
  'journal-key',
  'pii-key',
  'quota-exceeded',
  'run-not-found',
  'unsafe-module',
]);
