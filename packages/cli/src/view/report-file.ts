/** Writes reports to files. The ending of a name chooses the format. */
import { existsSync, writeFileSync } from 'node:fs';
import { dirname, extname } from 'node:path';
import { SluiceError } from '@sluice-internal/engine/ports';
import { usage } from '@sluice-internal/library/documents';
import type { Cli } from '@sluice-internal/library/documents';
import type { ReportOptions } from '../table/command-table.ts';

/** The renderers of reports, by the ending of the file name. */
type Renderers = { readonly [ending: string]: () => string };

/** Files with their endings. */
type ReportFiles = readonly (readonly [file: string, ending: string])[];

/** Refuses an unknown ending and a missing folder before any work is done: its result would be lost. */
export function reportFiles(
  { report = [], junit, html }: ReportOptions,
  endings: readonly string[] = ['.json', '.md', '.html', '.xml'],
): ReportFiles {
  const wrong = report.find((file) => !endings.includes(extname(file)));
  if (wrong !== undefined)
    throw usage(`\`--report\` cannot write \`${wrong}\``, `End the name with one of ${endings.join(', ')}.`);
  const named = [['.xml', junit], ['.html', html], ...report.map((file) => [extname(file), file] as const)] as const;
  const files = named.flatMap(([ending, file]) => (file === undefined ? [] : [[file, ending] as const]));
  for (const [file] of files) if (!existsSync(dirname(file))) throw unwritable(file, 'ENOENT');
  return files;
}

export function writeReports(cli: Cli, files: ReportFiles, renderers: Renderers): void {
  for (const [file, ending] of files) {
    writeText(file, renderers[ending]?.() ?? '');
    cli.hint(`wrote ${file}`);
  }
}

export function writeText(file: string, text: string, mode?: number): void {
  try {
    writeFileSync(file, text, mode === undefined ? {} : { mode });
  } catch (error) {
    const { code, message } = error as NodeJS.ErrnoException;
    throw code === 'ENOSPC' ? error : unwritable(file, code, message, error);
  }
}

function unwritable(file: string, code: string | undefined, message = '', cause?: unknown): SluiceError {
  const why = whyUnwritable(file, code, message);
  const help = 'Name a file in a folder that exists.';
  return new SluiceError('file-unreadable', `\`${file}\` cannot be written: ${why}`, help, cause);
}

/** The reason in plain words, from the code and the message of the system. */
export function whyUnwritable(file: string, code: string | undefined, message: string): string {
  if (code === 'ENOENT') return `there is no folder \`${dirname(file)}\``;
  return code === 'EISDIR' ? 'it is a folder' : message;
}
