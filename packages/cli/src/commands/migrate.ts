/** `sluice migrate`: moves a suspended run to a new version of its flow, if the run fits it, and follows it. */
import { present } from '@sluice-internal/kernel/expr';
import type { CompiledFlow, RunId } from '@sluice-internal/kernel/ir';
import { SluiceError } from '@sluice-internal/engine/ports';
import type { Store } from '@sluice-internal/engine/ports';
import { examine, migrate } from '@sluice-internal/library/host';
import type { Misfit } from '@sluice-internal/library/host';
import { readRun } from '@sluice-internal/engine/journal';
import { withDefinition } from '@sluice-internal/platform';
import { FAILED, OK, compileFile, plural, requireFlow } from '@sluice-internal/library/documents';
import type { Cli, ExitStatus } from '@sluice-internal/library/documents';
import { dirname } from 'node:path';
import { currentUser } from '../session/ask-person.ts';
import type { Options } from '../table/command-table.ts';
import { withRunSession } from '../session/continue-run.ts';
import { followToResult } from '../session/follow.ts';
import { findRun, withStore } from '../session/store.ts';
import { defaultModel } from '../session/world.ts';

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
  return withRunSession(cli, findOlder, given, world, async (session, { run: from, seq }) => {
    const names = Object.keys(functions);
    const places = await session.world.pins(flow, from);
    const pins = names.length === 0 ? places : withDefinition(places, file, names);
    const by = options.as ?? currentUser();
    const { runtime, store, attachments } = session;
    const run = await migrate(runtime, store, from, flow, { by, pins, attachments, ...present({ run: options.run }) });
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
