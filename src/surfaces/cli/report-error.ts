/**
 * Every way to fail, told the same way: a code with a page, one sentence, and a way out. Stack traces only with `--debug`.
 */
import { isErrorCode } from '../../runtime/error-codes.ts';
import { SluiceError } from '../../runtime/errors.ts';
import { DiagnosticsError } from './diagnostics.ts';
import { FAILED, USAGE, type ExitStatus } from './exit-status.ts';
import type { Screen } from './screen.ts';

export interface ToldError {
  readonly code: string;
  readonly message: string;
  readonly help?: string;
  readonly docs: string;
}

export function reportError(
  error: unknown,
  screen: Screen,
  options: { readonly json: boolean; readonly debug: boolean },
): ExitStatus {
  if (error instanceof DiagnosticsError) {
    if (options.json) screen.print(JSON.stringify(error.report, null, 2));
    else screen.note(error.rendered(screen));
    return error.status;
  }
  const told = tell(error);
  if (options.json) screen.print(JSON.stringify({ error: told }, null, 2));
  screen.note(renderError(told, screen));
  if (options.debug && error instanceof Error) screen.note(traceOf(error));
  return USAGE_CODES.has(told.code) ? USAGE : FAILED;
}

/** The command did its work, and its result did not reach whoever asked for it. */
export function reportLost(
  error: NodeJS.ErrnoException,
  screen: Screen,
  options: { readonly json: boolean; readonly debug: boolean },
): ExitStatus {
  const code = error.code === 'ENOSPC' ? 'disk-full' : 'file-unreadable';
  const message = `standard output cannot be written: ${messageOf(error)}`;
  reportError(new SluiceError(code, message, 'Send it somewhere else.', error), screen, options);
  return FAILED;
}

/** A wrong call, as opposed to a call that was understood and refused. */
const USAGE_CODES: ReadonlySet<string> = new Set([
  'usage',
  'old-node',
  'file-not-found',
  'file-unreadable',
  'bad-module',
  'bad-run-id',
  'no-model',
  'no-implementation',
  'no-credentials',
]);

export function renderError(told: ToldError, { colors }: Screen): string {
  const lines = [`${colors.red(colors.bold(`error[${told.code}]`))}${colors.bold(`: ${told.message}`)}`];
  if (told.help !== undefined) lines.push(`  ${colors.blue('=')} ${colors.green('help')}: ${told.help}`);
  lines.push(`  ${colors.blue('=')} see ${told.docs}`);
  return lines.join('\n');
}

function tell(error: unknown): ToldError {
  if (error instanceof SluiceError) return told(error.code, error.message, error.help);
  const system = error as Partial<NodeJS.ErrnoException>;
  switch (system?.code) {
    case 'ENOENT':
      return told('file-not-found', `there is no file \`${system.path ?? '?'}\``);
    case 'EACCES':
    case 'EPERM':
    case 'EROFS':
      return told(
        'file-unreadable',
        `\`${system.path ?? '?'}\` cannot be used: ${messageOf(error)}`,
        'Check who owns it and what its permissions are.',
      );
    case 'EEXIST':
    case 'EISDIR':
    case 'ELOOP':
    case 'ENAMETOOLONG':
    case 'ENOTDIR':
      return told(
        'file-unreadable',
        `\`${system.path ?? '?'}\` cannot be used: ${messageOf(error)}`,
        'Name another one.',
      );
    case 'ENOSPC':
      return told(
        'disk-full',
        'there is no room left on the disk',
        'Make room, then repeat the command; nothing that was confirmed is lost.',
      );
  }
  return told(
    'internal-error',
    messageOf(error),
    'This should not happen. Repeat the command with `--debug` and report what it prints.',
  );
}

function told(code: string, message: string, help?: string): ToldError {
  if (!isErrorCode(code)) throw new Error(`invariant: no error has the code ${code}`);
  return { code, message, ...(help === undefined ? {} : { help }), docs: `docs/errors/${code}.md` };
}

function messageOf(error: unknown): string {
  return (error instanceof Error ? error.message : String(error)).split('\n')[0] ?? '';
}

function traceOf(error: Error): string {
  const own = error.stack ?? error.message;
  return error.cause instanceof Error ? `${own}\ncaused by ${traceOf(error.cause)}` : own;
}
