/** `sluice migrate`: moves a suspended run to a new version of its flow, if the run fits it, and follows it. */
import { present } from '../../../expr/present.ts';
import { dirname } from 'node:path';
import type { RunId } from '../../../ir/events.ts';
import type { CompiledFlow } from '../../../ir/nodes.ts';
import type { Store } from '../../../runtime/ports.ts';
import type { Misfit } from '../../migrate/values.ts';
import { examine, migrate } from '../../migrate/migrate.ts';
import { SluiceError } from '../../../runtime/errors.ts';
import { readRun } from '../../../runtime/journal/read.ts';
import { withDefinition } from '../../../effects/pins.ts';
import { attachmentsBeside } from '../../../stores/sqlite/attachment-store.ts';
import { closing } from '../../closing.ts';
import { currentUser } from '../ask-person.ts';
import type { Options } from '../command-table.ts';
import { FAILED, OK, type Cli, type ExitStatus } from '../context.ts';
import { withRunSession } from '../continue-run.ts';
import { requireFlow } from '../diagnostics.ts';
import { compileFile } from '../document.ts';
import { followToResult } from '../follow.ts';
import { findRun, headOf, withStore } from '../store.ts';
import { plural } from '../text.ts';
import { defaultModel } from '../world.ts';

export async function migrateCommand(
  cli: Cli,
  given: string,
  file: string,
  options: Options<'migrate'>,
): Promise<ExitStatus> {
  const compiled = await compileFile(file, defaultModel(options));
  const flow = requireFlow(compiled);
  if (options.dryRun === true)
    return withStore(cli, async (store) => {
      const versions = await versionOf(cli, store, given, flow);
      return printFit(cli, versions, await examine(store, versions.run, flow));
    });
  const findOlder = async (_: Cli, store: Store, id: string): Promise<RunId> =>
    (await versionOf(cli, store, id, flow)).run;
  const functions = compiled.definition?.tools ?? {};
  const world = { ...options, documentDir: dirname(file), functions };
  return withRunSession(cli, findOlder, given, world, async (session, from) => {
    const { seq } = await headOf(session.store, from);
    const names = Object.keys(functions);
    const places = session.world.pins(flow, from);
    const pins = names.length === 0 ? places : withDefinition(places, file, names);
    const by = options.as ?? currentUser();
    const run = await closing(attachmentsBeside(cli.db), (attachments) =>
      migrate(session.engine, session.store, from, flow, { by, pins, attachments, ...present({ run: options.run }) }),
    );
    cli.hint(`run ${run} continues ${from} with ${file}`);
    return followToResult(cli, session, run, seq);
  });
}

async function versionOf(cli: Cli, store: Store, given: string, { hash }: CompiledFlow) {
  const run = await findRun(cli, store, given);
  const { state } = await readRun(store.journal, run);
  if (state.flow === hash)
    throw new SluiceError('bad-migration', `run \`${run}\` has this version already`, 'Name another document.');
  return { run, from: state.flow, to: hash };
}

function printFit(cli: Cli, versions: Awaited<ReturnType<typeof versionOf>>, misfits: readonly Misfit[]): ExitStatus {
  const fits = misfits.length === 0;
  const list = misfits.map(({ part, problem }) => `  ${part}: ${problem}`);
  cli.show({ ...versions, fits, misfits }, () =>
    fits
      ? `${versions.run} fits the new version`
      : [`${versions.run} does not fit: ${plural(misfits.length, 'problem')}`, ...list].join('\n'),
  );
  return fits ? OK : FAILED;
}
