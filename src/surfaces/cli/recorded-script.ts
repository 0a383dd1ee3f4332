/**
 * A run that started with a script goes on with it. Otherwise a forgotten `--script` would call the real tools of a rehearsal.
 * `--script` names another script, and `--no-script` asks for the real models and tools.
 */
import { existsSync } from 'node:fs';
import type { RunId, RunState } from '../../ir/events.ts';
import type { Store } from '../../runtime/ports.ts';
import { SluiceError } from '../../runtime/errors.ts';
import { readRun } from '../../runtime/journal/read.ts';
import { UNNAMED_SCRIPTS } from '../../catalog/unnamed-scripts.ts';
import { scriptOf } from './command-name.ts';
import type { Cli } from './context.ts';
import { withSession, type Session } from './session.ts';
import { withMigratedStore } from './store.ts';
import { oneLine } from './text.ts';
import type { WorldOptions } from './world.ts';

/** The options of a command that continues runs. */
export interface ContinueOptions extends Omit<WorldOptions, 'script'> {
  /** False with `--no-script`. */
  readonly script?: string | false;
}

/** Finds the run of a session. Null if it does not exist; the command itself then reports that. */
type Find = (store: Store) => Promise<RunId | null>;

export async function withRunSession<Result>(
  cli: Cli,
  options: ContinueOptions,
  find: Find,
  use: (session: Session) => Promise<Result>,
): Promise<Result> {
  const settled = await withMigratedStore(cli, async (store) => {
    const run = store === null ? null : await find(store);
    return store === null || run === null ? withoutRecorded(options) : withRecorded(cli, store, run, options);
  });
  return withSession(cli, settled, undefined, use);
}

/** The options with the script of the run. Prints which one that is. */
export async function withRecorded(
  cli: Cli,
  store: Store,
  run: RunId,
  options: ContinueOptions,
): Promise<WorldOptions> {
  if (options.script !== undefined) return withoutRecorded(options);
  const script = recordedScript(run, (await readRun(store.journal, run)).state);
  if (script === undefined) return withoutRecorded(options);
  cli.hint(
    `run ${run} started with the script ${oneLine(script)} and goes on with it (--no-script: real models and tools)`,
  );
  return { ...options, script };
}

function recordedScript(run: RunId, state: RunState): string | undefined {
  const { script } = scriptOf(state);
  if (script === undefined) return undefined;
  const unnamed = UNNAMED_SCRIPTS[script];
  if (unnamed === undefined && existsSync(script)) return script;
  const where = unnamed ?? `the script \`${oneLine(script)}\`, which is not there`;
  throw new SluiceError(
    'file-not-found',
    `run \`${run}\` started with ${where}`,
    'Name the script with `--script FILE`, or add `--no-script` to go on with the real models and tools.',
  );
}

function withoutRecorded({ script, ...rest }: ContinueOptions): WorldOptions {
  if (script === undefined) return rest;
  return script === false ? { ...rest, noScript: true } : { ...rest, script };
}
