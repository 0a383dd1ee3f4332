/** Writes a report to a file. The ending of its name chooses the format. */
import { writeFileSync } from 'node:fs';
import { extname } from 'node:path';
import { SluiceError } from '../../runtime/errors.ts';
import type { Cli } from './context.ts';
import { usage } from './usage.ts';

/** How to render a report, by the ending of the file name. */
export type Renderers = { readonly [ending: string]: () => string };

/** Refuses an unknown ending before any work is done. */
export function checkReportFiles(files: readonly string[], endings: readonly string[]): void {
  const wrong = files.find((file) => !endings.includes(extname(file)));
  if (wrong !== undefined)
    throw usage(`\`--report\` cannot write \`${wrong}\``, `End the name with one of ${endings.join(', ')}.`);
}

export function writeReports(cli: Cli, files: readonly string[], renderers: Renderers): void {
  for (const file of files) {
    writeText(file, renderers[extname(file)]?.() ?? '');
    cli.hint(`wrote ${file}`);
  }
}

export function writeText(file: string, text: string): void {
  try {
    writeFileSync(file, text);
  } catch (error) {
    throw new SluiceError(
      'file-unreadable',
      `\`${file}\` cannot be written: ${(error as Error).message}`,
      'Name a file in a folder that exists.',
      error,
    );
  }
}

export const REPORT_ENDINGS = ['.json', '.md', '.html', '.xml', '.txt'] as const;
