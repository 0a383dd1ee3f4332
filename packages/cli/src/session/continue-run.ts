/**
 * Sessions of commands that continue a run. A run that started with a script continues with it: otherwise a forgotten `--script`
 * would call the real tools of a rehearsal. Code that has changed since the start is refused, unless the operator accepts it.
 */
import { existsSync } from 'node:fs';
import { UNNAMED_SCRIPTS } from '@sluice-internal/kernel/catalog';
import { outstanding, settle } from '@sluice-internal/kernel/core';
import { acceptedModules, changedModules } from '@sluice-internal/platform';
import type { Fact, RunId, RunState } from '@sluice-internal/kernel/ir';
import { SluiceError, identified } from '@sluice-internal/engine/ports';
import type { OpenedRun, Store } from '@sluice-internal/engine/ports';
import { copyState, openToContinue } from '@sluice-internal/engine/journal';
import { oneLine } from '@sluice-internal/library/documents';
import type { Cli } from '@sluice-internal/library/documents';
import { currentUser } from './ask-person.ts';
import { scriptOf } from '../table/command-name.ts';
import { withSession, type Session } from './session.ts';
import { openIfThere } from './store.ts';
import type { WorldOptions } from './world.ts';

/** `find` takes what the user typed, and throws if there is no such run. The run is read once for the whole command. */
export async function withRunSession<Result>(
  cli: Cli,
  find: (cli: Cli, store: Store, given: string) => Promise<RunId>,
  given: string,
  options: WorldOptions,
  use: (session: Session, opened: OpenedRun) => Promise<Result>,
): Promise<Result> {
  const store = openIfThere(cli);
  let opened: OpenedRun;
  let world: WorldOptions;
  try {
    opened = await openToContinue(store.journal, await find(cli, store, given));
    world = withRecorded(cli, opened, options);
  } catch (error) {
    await store.close();
    throw error;
  }
  return withSession(cli, world, undefined, (session) => use(session, opened), store);
}

/** The options with the script of the run, unless the user named one. Prints its name. */
export function withRecorded(cli: Cli, { run, state }: OpenedRun, options: WorldOptions): WorldOptions {
  if (options.script !== undefined) return options;
  const script = recordedScript(run, state);
  if (script === undefined) return options;
  cli.hint(
    `run ${run} started with the script ${oneLine(script)}, and this command uses it too (--no-script: real models and tools)`,
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
    'Name the script with `--script FILE`, or add `--no-script` to continue with the real models and tools.',
  );
}

type CodeOptions = Pick<WorldOptions, 'acceptChangedCode'>;

/** Pins the code of a run anew if it has changed and the operator accepts that. */
export async function checkCode({ engine }: Session, { run, state }: OpenedRun, options: CodeOptions): Promise<void> {
  const accepted = state.outcome === null ? acceptedCode(run, state, options) : undefined;
  if (accepted !== undefined) await engine.repin(run, currentUser(), accepted);
}

/** The hashes of changed modules that the operator accepts. Throws if modules have changed and are not accepted. */
export function acceptedCode(
  run: RunId,
  { origin: { pins = {} } }: RunState,
  { acceptChangedCode = false }: CodeOptions,
): { readonly [file: string]: string } | undefined {
  const changed = changedModules(pins);
  if (changed.length === 0) return undefined;
  if (acceptChangedCode) return acceptedModules(pins);
  const files = changed.map((file) => `\`${file}\`${existsSync(file) ? '' : ' (missing)'}`);
  throw new SluiceError(
    'code-changed',
    `the code of run \`${run}\` has changed since it started: ${files.join(', ')}`,
    'Restore the files, or accept the change with `--accept-changed-code`.',
  );
}

/** Checks the code, and throws if something is missing for the calls that follow on a fact. Used before the fact is recorded. */
export async function requireNext(
  session: Session,
  opened: OpenedRun,
  options: CodeOptions,
  fact: Fact,
): Promise<void> {
  if (fact.type === 'grant') acceptedCode(opened.run, opened.state, options);
  else await checkCode(session, opened, options);
  const { functions = [] } = opened.state.origin.pins ?? {};
  try {
    session.world.require(
      opened.program.flow,
      callsAfter(opened, fact, session.store.reach).filter(
        ({ kind, name }) => kind !== 'tool' || !functions.includes(name),
      ),
    );
  } catch (error) {
    if (!(error instanceof SluiceError)) throw error;
    throw new SluiceError(error.code, error.message, `Nothing was recorded. ${error.help ?? ''}`.trim());
  }
}

/** Empty if the fact would be refused: the engine gives the reason. */
function callsAfter(
  { program, state: before }: OpenedRun,
  fact: Fact,
  reach: Store['reach'],
): ReturnType<typeof outstanding>['commands'] {
  const { flow } = program;
  const now = Date.now();
  const answered = { flow, state: before, reach };
  const proven = fact.type === 'answer' ? { ...fact, answer: identified(answered, fact.id, fact.answer, now) } : fact;
  const { state, refusals } = settle(program, copyState(before), [proven], now);
  return state === null || refusals.size > 0 ? [] : outstanding(program, state).commands;
}
