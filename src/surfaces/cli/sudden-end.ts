/**
 * Modules of the user's own run in this process, and can end it: by `process.exit`, or by an error that no call waits for.
 * Such an end is told like every other failure, never passes for success, and names the run that was under way.
 */
import { fileURLToPath } from 'node:url';
import type { RunId } from '../../ir/events.ts';
import { SluiceError } from '../../runtime/errors.ts';
import { FAILED } from './exit-status.ts';
import { reportError } from './report-error.ts';
import type { Screen } from './screen.ts';

interface UnderWay {
  readonly run: RunId;
  /** The options to repeat when it is resumed. */
  readonly flags: string;
}

/** What ends all of the process ends the one run that it follows. */
let followed: UnderWay | 'none yet' | 'told' = 'none yet';

/** Returns what to call once the command has done its work. */
export function watchForSuddenEnd(screen: Screen, options: { json: boolean; debug: boolean }): () => void {
  let finished = false;
  const tell = (error: unknown): void => {
    finished = true;
    // One document on standard output: what became of the run may be there already.
    process.exitCode = Math.max(
      FAILED,
      reportError(error, screen, { ...options, json: options.json && followed !== 'told' }),
    );
  };
  process.on('exit', (status) => {
    // A second signal ends the process at once, as it was asked to.
    if (!finished && status < SIGNALLED) tell(ended('something ended the process before the command was done'));
  });
  process.on('uncaughtException', (error: unknown) => {
    tell(isOurs(error) ? error : ended(`stopped by an error that no call waited for: ${messageOf(error)}`, error));
    process.exit();
  });
  return () => void (finished = true);
}

/** Returns what to call once it is known what became of the run. */
export function nowUnderWay(run: RunId, flags: string): () => void {
  followed = { run, flags };
  return () => void (followed = 'told');
}

const SIGNALLED = 128;

function ended(what: string, cause?: unknown): SluiceError {
  if (typeof followed === 'string') return new SluiceError('interrupted', what, undefined, cause);
  const { run, flags } = followed;
  const help = `Continue with \`sluice resume ${run}${flags}\`.`;
  return new SluiceError('interrupted', `${what}; run ${run} is kept as it is`, help, cause);
}

const OWN = fileURLToPath(new URL('../../', import.meta.url));

/** Whether the error was made in our code, as far as its first line of a file says. */
function isOurs(error: unknown): boolean {
  const frame = /^\s+at .*$/m.exec(error instanceof Error ? (error.stack ?? '') : '')?.[0] ?? '';
  return frame.includes(OWN);
}

function messageOf(error: unknown): string {
  return (error instanceof Error ? error.message : String(error)).split('\n')[0] ?? '';
}
