/**
 * User modules run in this process and can end it with `process.exit` or an unhandled error. Report that as a failure
 * and name the run that was in progress.
 */
import { join, sep } from 'node:path';
import { PACKAGE_ROOT } from '@sluice-internal/platform';
import type { RunId } from '@sluice-internal/kernel/ir';
import { SluiceError } from '@sluice-internal/engine/ports';
import { FAILED } from '@sluice-internal/library/documents';
import type { Screen } from '@sluice-internal/library/documents';
import { messageOf, reportError, type OutputOptions } from '../view/report-error.ts';

interface UnderWay {
  readonly run: RunId;
  /** The options to repeat with `sluice resume`. */
  readonly flags: string;
}

/** The run that this process follows. */
let followed: UnderWay | 'none yet' | 'reported' = 'none yet';

/** Returns a function to call when the command is done. */
export function watchForSuddenEnd(screen: Screen, options: OutputOptions): () => void {
  let finished = false;
  const fail = (error: unknown): void => {
    finished = true;
    // Standard output takes one document, and the report may be there already.
    process.exitCode = Math.max(
      FAILED,
      reportError(error, screen, { ...options, json: options.json && followed !== 'reported' }),
    );
  };
  process.on('exit', (status) => {
    // A second signal ends the process at once, on request.
    if (!finished && status < SIGNALLED) fail(ended('the process ended before the command was done'));
  });
  process.on('uncaughtException', (error: unknown) => {
    fail(isOurs(error) ? error : ended(`stopped by an unhandled error: ${messageOf(error)}`, error));
    process.exit();
  });
  return () => void (finished = true);
}

/** Returns a function to call when the outcome of the run was reported. */
export function setFollowedRun(run: RunId, flags: string): () => void {
  followed = { run, flags };
  return () => void (followed = 'reported');
}

const SIGNALLED = 128;

function ended(what: string, cause?: unknown): SluiceError {
  if (typeof followed === 'string') return new SluiceError('interrupted', what, undefined, cause);
  const { run, flags } = followed;
  const help = `Continue with \`sluice resume ${run}${flags}\`.`;
  return new SluiceError('interrupted', `${what}; run ${run} can be resumed`, help, cause);
}

const OWN = ['packages', 'dist'].map((dir) => join(PACKAGE_ROOT, dir, sep));

/** True if the first frame of the stack lies in our code. */
function isOurs(error: unknown): boolean {
  const frame = /^\s+at .*$/m.exec(error instanceof Error ? (error.stack ?? '') : '')?.[0] ?? '';
  return OWN.some((dir) => frame.includes(dir));
}
