/**
 * Makes printed commands work as printed: `sluice …` where that is on the PATH, `npx sluice …` in a project, with the options of
 * the command that prints them.
 */
import { existsSync } from 'node:fs';
import { delimiter, dirname, join, relative } from 'node:path';
import { OF_PROGRAM, UNNAMED_SCRIPTS } from '@sluice-internal/kernel/catalog';
import type { RunState } from '@sluice-internal/kernel/ir';
import { DEFAULT_DB, shellWord } from '@sluice-internal/library/documents';
import type { Cli } from '@sluice-internal/library/documents';
import type { ContinueOptions } from './command-table.ts';

/** The name of the program before a command, but not in a quoted argument: a file may be called `my sluice flow.yaml`. */
export const COMMAND = /(?<![\w/.-])(?<!npx )(?<!\s'[^'\n]*)sluice (?=--help\b|[a-z])/g;

/** Replaces the name of the program in commands that a text prints. */
export function withCommandName(text: string): string {
  name ??= commandName(process.env, process.cwd(), process.argv[1] ?? 'sluice');
  return text.replaceAll(COMMAND, () => `${name} `);
}
let name: string | undefined;

export function commandName(env: NodeJS.ProcessEnv, cwd: string, script: string): string {
  const isNpm = env['npm_command'] !== undefined || env['npm_lifecycle_event'] !== undefined;
  const folders = (env['PATH'] ?? '').split(delimiter).filter((folder) => folder !== '');
  if (!isNpm && folders.some((folder) => existsSync(join(folder, 'sluice')))) return 'sluice';
  if (isNpm || isInstalled(cwd)) return 'npx sluice';
  const path = relative(cwd, script);
  // A path that leads out of the folder would not work after `cd`.
  return `node ${shellWord(path === '' || path.startsWith('..') ? script : path)}`;
}

/** The options to repeat in a command that continues the run. */
export function flagsOf(
  { db, tenant }: Pick<Cli, 'db' | 'tenant'>,
  { script, model, workDir, allowHost = [], shellLimit = [] }: ContinueOptions = {},
): string {
  const given = [
    ['--script', script === OF_PROGRAM || script === false ? undefined : script],
    ['--model', model],
    ['--work-dir', workDir],
    ...allowHost.map((host) => ['--allow-host', host] as const),
    ...shellLimit.map((limit) => ['--shell-limit', limit] as const),
    ['--db', db === DEFAULT_DB ? undefined : db],
    ['--tenant', tenant],
  ] as const;
  const flags = given.flatMap(([flag, value]) => (value === undefined ? [] : [` ${flag} ${shellWord(value)}`]));
  return [...(script === false ? [' --no-script'] : []), ...flags].join('');
}

/** The script that a run started with, as a path from here. */
export function scriptOf({ origin }: Pick<RunState, 'origin'>): { readonly script?: string } {
  const script = origin.pins?.script;
  if (script === undefined || Object.hasOwn(UNNAMED_SCRIPTS, script)) return script === undefined ? {} : { script };
  const path = relative(process.cwd(), script);
  return { script: path.startsWith('..') ? script : path };
}

function isInstalled(folder: string): boolean {
  if (existsSync(join(folder, 'node_modules', '.bin', 'sluice'))) return true;
  const parent = dirname(folder);
  return parent !== folder && isInstalled(parent);
}
