/**
 * `sluice watch` and `sluice logs`: the events of a run, one readable line each, read from the journal. The run may belong
 * to any process. `watch` ends when the run ends or waits; it never changes the run.
 */
import { statusOf } from '@sluice-internal/kernel/core';
import type { Program } from '@sluice-internal/kernel/core';
import type { RunId } from '@sluice-internal/kernel/ir';
import { SluiceError } from '@sluice-internal/engine/ports';
import type { ChainedEvent, Store } from '@sluice-internal/engine/ports';
import { openRun, streamRun } from '@sluice-internal/engine/journal';
import type { OpenRun } from '@sluice-internal/engine/journal';
import { createPublicEvents, reportOf } from '@sluice-internal/engine/report';
import { Hints } from '@sluice-internal/engine/worker';
import type { RunEvent } from '@sluice-internal/wire';
import { OK, readWhole, statusOfRun } from '@sluice-internal/library/documents';
import type { Cli, ExitStatus } from '@sluice-internal/library/documents';
import { flagsOf, scriptOf, withCommandName } from '../table/command-name.ts';
import type { Options } from '../table/command-table.ts';
import { printOutcome } from '../session/follow.ts';
import { onInterrupt } from '../session/session.ts';
import { findRun, withRun, withStore } from '../session/store.ts';
import { lineOf, noticeOf } from '../view/notices.ts';

export async function watchCommand(cli: Cli, given: string, options: Options<'watch'>): Promise<ExitStatus> {
  const after = readWhole('--after', options.after) ?? 0;
  return withRun(cli, given, (store, run) => watchRun(cli, store, run, after));
}

/** Without a run, the newest one. */
export async function logsCommand(cli: Cli, given: string | undefined, options: Options<'logs'>): Promise<ExitStatus> {
  const after = readWhole('--after', options.after) ?? 0;
  return withStore(cli, async (store): Promise<ExitStatus> => {
    const run = await findRun(cli, store, given ?? (await newestRun(store)));
    if (given === undefined) cli.hint(`run ${run}`);
    if (options.follow === true) return watchRun(cli, store, run, after);
    const { program, events } = await streamRun(store.journal, run);
    const log = createLog(program, after);
    if (cli.json) cli.printJson([...events].flatMap(log));
    else for (const event of events) for (const line of linesOf(log(event))) cli.screen.print(line);
    return OK;
  });
}

async function newestRun({ index }: Store): Promise<RunId> {
  const [newest] = (await index.list({ limit: 1 })).items;
  if (newest === undefined)
    throw new SluiceError('run-not-found', 'there are no runs yet', 'Start one with `sluice run`.');
  return newest.run;
}

const POLL_MS = 250;
/** A run without an event for this long may have no process that works on it. */
const SILENCE_MS = 30_000;

async function watchRun(cli: Cli, store: Store, run: RunId, after: number): Promise<ExitStatus> {
  const interrupt = onInterrupt();
  let isStopped = false;
  const stopped = interrupt.requested.then(() => void (isStopped = true));
  const opened = await openRun(store.journal, run);
  const reader = createReader(cli, opened, after);
  const hints = new Hints(store, () => undefined);
  try {
    for (let still = 0; still < 2 && !cli.screen.isClosed();) {
      const hasMoved = await reader.readNew();
      // A script answers in a moment, so a run that waits is looked at twice.
      still = !hasMoved && reader.status() === 'suspended' ? still + 1 : 0;
      if (reader.status() !== 'running' && reader.status() !== 'suspended') break;
      if (still < 2) await Promise.race([hints.next(run, POLL_MS), stopped]);
      if (isStopped) throw stoppedWatching(run);
    }
  } finally {
    hints.close();
    interrupt.dispose();
  }
  await opened.refresh();
  const report = reportOf(opened);
  if (!cli.json) printOutcome(cli, flagsOf(cli, scriptOf(opened.state)), report);
  return statusOfRun(report);
}

function createReader(cli: Cli, opened: OpenRun, after: number) {
  const { run, program, state } = opened;
  const log = createLog(program, after);
  let seen = 0;
  let movedAt = Date.now();
  let isHinted = false;
  const hintAtSilence = (): void => {
    if (isHinted || Date.now() - movedAt < SILENCE_MS || statusOf(state) !== 'running') return;
    isHinted = true;
    const resume = withCommandName(`sluice resume ${run}${flagsOf(cli, scriptOf(state))}`);
    cli.hint(`no event for ${SILENCE_MS / 1000} s. If no process works on the run:\n  ${resume}`);
  };
  return {
    status: () => statusOf(state),
    /** Prints new events. False if there were none. */
    readNew: async (): Promise<boolean> => {
      await opened.refresh();
      if (opened.seq === seen) {
        hintAtSilence();
        return false;
      }
      for (const event of opened.chained(seen)) {
        if (event.seq <= seen) continue;
        seen = event.seq;
        if (cli.json) for (const each of log(event)) cli.screen.printData(JSON.stringify(each));
        else for (const line of linesOf(log(event))) cli.screen.print(line);
      }
      movedAt = Date.now();
      isHinted = false;
      return true;
    },
  };
}

/** The public events of a journal event. It takes every event, in order; events up to `after` are left out of the result. */
type Log = (event: ChainedEvent) => readonly RunEvent[];

function createLog(program: Program, after: number): Log {
  const translate = createPublicEvents(program);
  return (event) => translate(event).filter(({ seq }) => seq > after);
}

/** Public events as lines for people. Many events have no line. */
function linesOf(events: readonly RunEvent[]): readonly string[] {
  return events.flatMap((each) => {
    const notice = noticeOf(each);
    return notice === null ? [] : [`${timeOf(each.at)}  ${lineOf(notice)}`];
  });
}

function timeOf(at: number): string {
  return new Date(at).toISOString().slice(11, 19);
}

function stoppedWatching(run: RunId): SluiceError {
  return new SluiceError('interrupted', `stopped watching run ${run}; the run itself continues`);
}
