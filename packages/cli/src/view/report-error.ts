/** Reports every error in the same form: code, sentence, help, page. Stack traces need `--debug`. */
import { reasonOf } from '@sluice-internal/kernel/expr';
import { SluiceError, isErrorCode } from '@sluice-internal/engine/ports';
import { DiagnosticsError, FAILED, USAGE, framed } from '@sluice-internal/library/documents';
import type { ExitStatus, Screen } from '@sluice-internal/library/documents';
import { withCommandName } from '../table/command-name.ts';

export interface ErrorReport {
  readonly code: string;
  readonly message: string;
  readonly help?: string;
  readonly docs: string;
}

export interface OutputOptions {
  readonly json: boolean;
  readonly debug: boolean;
}

export function reportError(error: unknown, screen: Screen, options: OutputOptions): ExitStatus {
  if (error instanceof DiagnosticsError) {
    if (options.json) screen.printData(JSON.stringify(error.report, null, 2));
    else screen.note(error.rendered(screen));
    return error.status;
  }
  const report = reportOf(error);
  if (options.json) screen.printData(JSON.stringify({ error: report }, null, 2));
  screen.note(renderError(report, screen));
  if (options.debug && error instanceof Error) screen.note(traceOf(error));
  return USAGE_CODES.has(report.code) ? USAGE : FAILED;
}

/** The command worked, but its result could not be written. */
export function reportLost(error: NodeJS.ErrnoException, screen: Screen, options: OutputOptions): ExitStatus {
  const code = error.code === 'ENOSPC' ? 'disk-full' : 'file-unreadable';
  const message = `standard output cannot be written: ${messageOf(error)}`;
  reportError(new SluiceError(code, message, 'Redirect it to another file or program.', error), screen, options);
  return FAILED;
}

/** Errors of usage, which exit with 2. */
const USAGE_CODES: ReadonlySet<string> = new Set([
  'usage',
  'old-node',
  'file-not-found',
  'file-unreadable',
  'bad-module',
  'bad-run-id',
  'missing-package',
  'no-model',
  'no-implementation',
  'bad-lock',
  'mcp-unreachable',
  'mcp-changed',
  'no-credentials',
  'bad-attachment',
  'bad-quota',
  'attachment-not-taken',
]);

/** A message can quote a damaged database, a tool or a file, so it is shown as text of others. */
export function renderError(report: ErrorReport, { colors }: Screen): string {
  const lines = [`${colors.red(colors.bold(`error[${report.code}]`))}${colors.bold(`: ${framed(report.message)}`)}`];
  if (report.help !== undefined) lines.push(`  ${colors.blue('=')} ${colors.green('help')}: ${framed(report.help)}`);
  lines.push(`  ${colors.blue('=')} see ${report.docs}`);
  return lines.join('\n');
}

/** Prints an error that does not end the command. */
export function noteError(screen: Screen, code: string, message: string): void {
  screen.note(renderError(errorReport(code, message), screen));
}

export function reportOf(error: unknown): ErrorReport {
  if (error instanceof SluiceError) return errorReport(error.code, error.message, error.help);
  const { code, path = '?' } = (error ?? {}) as Partial<NodeJS.ErrnoException>;
  if (code === 'ENOENT') return errorReport('file-not-found', `there is no file \`${path}\``);
  const help = code === undefined || !Object.hasOwn(UNUSABLE, code) ? undefined : UNUSABLE[code];
  if (help !== undefined)
    return errorReport('file-unreadable', `\`${path}\` cannot be used: ${messageOf(error)}`, help);
  if (code === 'ENOSPC')
    return errorReport(
      'disk-full',
      'there is no room left on the disk',
      'Make room, then repeat the command; nothing that was confirmed is lost.',
    );
  if (code === 'EMFILE' || code === 'ENFILE')
    return errorReport(
      'too-many-files',
      'no more files can be opened',
      'Raise the limit, for example `ulimit -n 1024`.',
    );
  return errorReport(
    'internal-error',
    messageOf(error),
    'This should not happen. Repeat the command with `--debug` and report what it prints.',
  );
}

const PERMISSIONS = 'Check its owner and its permissions.';
const OTHER = 'Name another one.';

/** Errors of the system on a path that exists, with the help text. */
const UNUSABLE: { readonly [code: string]: string } = {
  EACCES: PERMISSIONS,
  EPERM: PERMISSIONS,
  EROFS: PERMISSIONS,
  EEXIST: OTHER,
  EISDIR: OTHER,
  ELOOP: OTHER,
  ENAMETOOLONG: OTHER,
  ENOTDIR: OTHER,
};

function errorReport(code: string, message: string, help?: string): ErrorReport {
  if (!isErrorCode(code)) throw new Error(`invariant: no error has the code ${code}`);
  return {
    code,
    message,
    ...(help === undefined ? {} : { help: withCommandName(help) }),
    docs: `docs/errors/${code}.md`,
  };
}

/** The first line of the message. */
export function messageOf(error: unknown): string {
  return reasonOf(error).split('\n')[0] ?? '';
}

function traceOf(error: Error): string {
  const own = error.stack ?? error.message;
  return error.cause instanceof Error ? `${own}\ncaused by ${traceOf(error.cause)}` : own;
}
