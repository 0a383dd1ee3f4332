/**
 * Records the script of a program with its runs, as the command line records the file of `--script`: the script is written to a
 * file beside the database, and runs are pinned to it. `sluice answer` and `sluice resume` then continue them with the script.
 */
import { createHash } from 'node:crypto';
import { existsSync, renameSync, writeFileSync } from 'node:fs';
import { dirname, join, resolve } from 'node:path';
import { createFolder } from '@sluice-internal/platform';
import { OF_PROGRAM } from '@sluice-internal/kernel/catalog';
import type { Script } from './scripted/script.ts';

/** The pin of runs that start with the script. A store without a file records only that there was one. */
export function scriptPin(script: Script | undefined, journal: string | undefined): () => { readonly script?: string } {
  if (script === undefined) return () => ({});
  if (journal === undefined) return () => ({ script: OF_PROGRAM });
  const text = `${JSON.stringify(script, null, 2)}\n`;
  const name = createHash('sha256').update(text).digest('hex').slice(0, 16);
  const file = join(resolve(dirname(journal)), 'scripts', `${name}.script.json`);
  return () => {
    if (!existsSync(file)) write(file, text);
    return { script: file };
  };
}

/** Another process sees the whole file or none. */
function write(file: string, text: string): void {
  createFolder(dirname(file), 0o700);
  const draft = `${file}.${process.pid}`;
  writeFileSync(draft, text, { mode: 0o600 });
  renameSync(draft, file);
}
