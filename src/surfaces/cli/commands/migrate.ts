/** `sluice migrate`: moves a suspended run to a new version of its flow, if the run fits it, and follows it. */
import { dirname } from 'node:path';
import type { RunId } from '../../../ir/events.ts';
import type { CompiledFlow } from '../../../ir/nodes.ts';
import type { Store } from '../../../runtime/ports.ts';
import type { Misfit } from '../../migrate/misfit.ts';
import { examine, migrate } from '../../migrate/migrate.ts';
import { SluiceError } from '../../../runtime/errors.ts';
import { readRun } from '../../../runtime/journal/read.ts';
import { withDefinition } from '../../../effects/pins.ts';
import { attachmentsBeside } from '../../../stores/sqlite/attachment-store.ts';
import { currentUser } from '../ask-person.ts';
import type { Cli } from '../context.ts';
import { failedCompile } from '../diagnostics.ts';
import { compileFile, flowIn } from '../document.ts';
import { FAILED, OK, statusOfRun, type ExitStatus } from '../exit-status.ts';
import { follow, printOutcome } from '../follow.ts';
import { withSession } from '../session.ts';
import { demandDatabase, findRun, headOf, withMigratedStore, withStore } from '../store.ts';
import { plural } from '../text.ts';
import { defaultModel, type WorldOptions } from '../world.ts';

export interface MigrateCommandOptions extends WorldOptions {
  readonly dryRun?: boolean;
  readonly run?: string;
  readonly as?: string;
}

export async function migrateCommand(
  cli: Cli,
  given: string,
  file: string,
  options: MigrateCommandOptions,
): Promise<ExitStatus> {
  demandDatabase(cli, 'run-not-found', `there is no run \`${given}\``);
  const compiled = await compileFile(file, defaultModel(options));
  const flow = flowIn(compiled);
  if (flow === null) throw failedCompile(compiled);
  const look = options.dryRun === true ? withStore : withMigratedStore;
  const { run: from, hash } = await look(cli, (store) => versionOf(cli, store, given, flow));
  if (options.dryRun === true)
    return printFit(
      cli,
      { run: from, from: hash, to: flow.hash },
      await withStore(cli, (store) => examine(store as Store, from, flow)),
    );
  const functions = compiled.definition?.tools ?? {};
  return withSession(cli, { ...options, documentDir: dirname(file), functions }, undefined, async (session) => {
    const { store, engine, world } = session;
    const { seq } = await headOf(store, from);
    const names = Object.keys(functions);
    const places = world.pins(flow, from);
    const pins = names.length === 0 ? places : withDefinition(places, file, names);
    const run = await migrate(engine, store, from, flow, {
      by: options.as ?? currentUser(),
      pins,
      attachments: attachmentsBeside(cli.db),
      ...(options.run === undefined ? {} : { run: options.run }),
    });
    cli.hint(`run ${run} continues ${from} with ${file}`);
    const report = await follow(cli, session, run, seq);
    if (cli.json) cli.printJson(report);
    else printOutcome(cli, world.flags, report);
    return statusOfRun(report);
  });
}

async function versionOf(
  { db }: Cli,
  store: Store | null,
  given: string,
  flow: CompiledFlow,
): Promise<{ readonly run: RunId; readonly hash: string }> {
  const run = await findRun(store, given, db);
  const { state } = await readRun((store as Store).journal, run);
  if (state.flow === flow.hash)
    throw new SluiceError('bad-migration', `run \`${run}\` has this version already`, 'Name another document.');
  return { run, hash: state.flow };
}

interface Versions {
  readonly run: string;
  readonly from: string;
  readonly to: string;
}

function printFit(cli: Cli, versions: Versions, misfits: readonly Misfit[]): ExitStatus {
  const fits = misfits.length === 0;
  if (cli.json) cli.printJson({ ...versions, fits, misfits });
  else if (fits) cli.screen.print(`${versions.run} fits the new version`);
  else {
    const list = misfits.map(({ part, problem }) => `  ${part}: ${problem}`);
    cli.screen.print([`${versions.run} does not fit: ${plural(misfits.length, 'problem')}`, ...list].join('\n'));
  }
  return fits ? OK : FAILED;
}
