/**
 * Follows a run until it waits or ends. On a terminal the person can answer questions in place. A signal stops this
 * process; the run stays and can be resumed.
 */
import type { CompiledFlow, RunId } from '@sluice-internal/kernel/ir';
import { SluiceError } from '@sluice-internal/engine/ports';
import type { OpenedRun, Report } from '@sluice-internal/engine/ports';
import { framed, harmless, shown, statusOfRun } from '@sluice-internal/library/documents';
import type { Cli, ExitStatus, Screen } from '@sluice-internal/library/documents';
import type { Json } from '@sluice-internal/kernel/expr';
import { askPerson, mayAnswerHere, personHere } from './ask-person.ts';
import { evidenceLines, failureLine, signalsText, verdictLine, waitingText } from '../view/report-text.ts';
import type { Session } from './session.ts';
import { setFollowedRun } from './sudden-end.ts';
import { createProgress, type View } from '../view/progress.ts';
import { lineOf } from '../view/notices.ts';
import { createLiveView } from '../view/live.ts';

/** The interval of attempts to take over a run whose owner died: the old lease must expire first. */
const NUDGE_MS = 500;
const SILENT: View = { take: () => undefined, hear: () => undefined, pause: () => undefined, end: () => undefined };

/** Follows a run and prints its outcome, or its report with `--json`. */
export async function followToResult(cli: Cli, session: Session, run: RunId, known = 0): Promise<ExitStatus> {
  const report = await follow(cli, session, run, known);
  if (cli.json) cli.printJson(report);
  else printOutcome(cli, session.flags, report);
  return statusOfRun(report);
}

/** Follows a run until it has ended. What it waits for comes from elsewhere, such as its page. */
export async function followToEnd(cli: Cli, session: Session, run: RunId): Promise<ExitStatus> {
  const quiet = { ...cli, screen: { ...cli.screen, interactive: false } };
  const stopped = session.interrupt.requested.then(() => null);
  for (let known = 0; ;) {
    const report = await follow(quiet, session, run, known);
    if (report.state !== 'suspended') {
      if (cli.json) cli.printJson(report);
      else printOutcome(cli, session.flags, report);
      return statusOfRun(report);
    }
    known = (await session.open(run)).seq;
    if ((await Promise.race([goesOn(session, run), stopped])) === null) throw interrupted(run, session.flags);
  }
}

/** Resolves when the run no longer waits. */
async function goesOn({ store }: Session, run: RunId): Promise<true> {
  while ((await store.index.find(run))?.status === 'suspended')
    await new Promise((resolve) => void setTimeout(resolve, NUDGE_MS).unref());
  return true;
}

/** Events up to `known` are not shown again. */
export async function follow(cli: Cli, session: Session, run: RunId, known = 0): Promise<Report> {
  // The run stays open while it is followed.
  const opened = await session.open(run);
  const { flow } = opened.program;
  const view = createView(cli, run, flow, known);
  for (const event of opened.events) view.take(event);
  const watched = watch(session, opened, view, cli.screen.live && !cli.json && !cli.quiet);
  const reported = setFollowedRun(run, session.flags);
  const nudge = setInterval(() => void session.engine.resume(run).catch(() => undefined), NUDGE_MS);
  try {
    return await untilDone(cli, session, opened, { view, watched });
  } catch (error) {
    throw kept(error, run, session.flags);
  } finally {
    clearInterval(nudge);
    view.end();
    reported();
  }
}

interface Following {
  readonly view: View;
  readonly watched: Watched;
}

/** Asks again after each answer, until the run ends or the person stops. */
async function untilDone(
  cli: Cli,
  session: Session,
  { run, program }: OpenedRun,
  { view, watched }: Following,
): Promise<Report> {
  const { engine, interrupt, missing, flags } = session;
  const { people } = program.flow;
  const stopped = Promise.race([interrupt.requested.then(() => interrupted(run, flags)), missing]);
  for (;;) {
    const report = await Promise.race([engine.settled(run), stopped]);
    await watched.caughtUp();
    if (report instanceof SluiceError) throw report;
    if (report.state !== 'suspended' || cli.json || cli.quiet || !cli.screen.interactive) return report;
    view.pause();
    const mine = report.waiting.filter((each) => mayAnswerHere(each, people));
    const answered = await askPerson(cli.screen, mine, interrupt.requested, personHere(people));
    if (answered === null) return report;
    await engine.answer(answered.id, answered.answer);
  }
}

/** For people: the output goes to standard output, everything else to standard error. */
export function printOutcome(cli: Cli, flags: string, report: Report): void {
  const ended = report.state !== 'suspended' && report.state !== 'running';
  if (ended && report.output !== null) cli.screen.printData(outputText(report.output, cli.screen.width()));
  cli.hint(verdictLine(report, cli.screen));
  const failure = failureLine(report);
  if (failure !== null) cli.screen.note(`  ${failure}`);
  for (const line of evidenceLines(report)) cli.hint(`  ${line}`);
  if (report.waiting.length > 0) cli.hint(waitingText(report.waiting, flags, cli.screen));
  for (const line of signalsText(report, flags, cli.screen)) cli.hint(line);
}

/** On a terminal the lines of ours are beside the text, so further lines are marked. In a pipe or a file it stays as it is. */
function outputText(output: Json, width: number): string {
  return typeof output === 'string' && Number.isFinite(width) ? framed(output, width) : harmless(shown(output));
}

interface Watched {
  /** Resolves when the view has shown every event so far. */
  caughtUp(): Promise<void>;
}

/** Shows the events that follow on those that were read. */
function watch({ engine }: Session, { run, seq }: OpenedRun, view: View, deltas: boolean): Watched {
  let seen = seq;
  const pump = async (): Promise<void> => {
    for await (const event of engine.events(run, { after: seq, deltas })) {
      if (event.type === 'reply.streamed') {
        if (event.part === undefined) view.hear(event.key, event.text);
      } else {
        seen = event.seq;
        view.take(event);
      }
    }
  };
  // A journal error is reported by `settled`; here the view only ends.
  pump().catch(() => undefined);
  return {
    caughtUp: async () => {
      for (let last = -1; last !== seen;) {
        last = seen;
        await new Promise((resolve) => setImmediate(resolve));
      }
    },
  };
}

function interrupted(run: RunId, flags: string): SluiceError {
  return new SluiceError(
    'interrupted',
    `stopped; run ${run} can be resumed`,
    `Continue with \`sluice resume ${run}${flags}\`.`,
  );
}

const DISK_FAULTS: ReadonlySet<string> = new Set([
  'disk-full',
  'journal-busy',
  'journal-read-only',
  'journal-unavailable',
]);

/** A fault of the disk loses nothing of the run. Another `sluice run` would repeat the effects of the run. */
function kept(error: unknown, run: RunId, flags: string): unknown {
  if (!(error instanceof SluiceError) || !DISK_FAULTS.has(error.code)) return error;
  const help = `When the cause is fixed, continue with \`sluice resume ${run}${flags}\`.`;
  return new SluiceError(error.code, `${error.message}; run ${run} can be resumed`, help, error);
}

/**
 * Live on a terminal, plain lines elsewhere, nothing with `--quiet`. Events up to `known` are history: plain lines leave them out.
 */
function createView(cli: Cli, run: string, flow: CompiledFlow, known: number): View {
  if (cli.quiet || cli.json) return SILENT;
  return cli.screen.live ? createLiveView(run, flow, cli.screen) : createPlainView(flow, known, cli.screen);
}

/** Progress as plain lines on standard error. */
function createPlainView(flow: CompiledFlow, known: number, screen: Screen): View {
  const progress = createProgress(flow);
  let ended = false;
  return {
    take: (event) => {
      if (ended) return;
      const notices = progress.take(event);
      if (event.seq > known) for (const notice of notices) screen.note(lineOf(notice));
    },
    hear: () => undefined,
    pause: () => undefined,
    end: () => void (ended = true),
  };
}
