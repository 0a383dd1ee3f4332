/** Moves a suspended run to a new version of its flow, after the proof that it fits. */
import { copyFiles } from '@sluice-internal/platform';
import type { CompiledFlow, Pins, RunId, RunState } from '@sluice-internal/kernel/ir';
import { SluiceError, pure } from '@sluice-internal/engine/ports';
import type { AttachmentStore, Engine, Store } from '@sluice-internal/engine/ports';
import { movedTo, readRun } from '@sluice-internal/engine/journal';
import { createProgram } from '@sluice-internal/kernel/core';
import { valueMisfits, type Misfit } from './values.ts';
import { positionMisfits } from './position.ts';

/**
 * Options of `engine.migrate`.
 * @example
 * const options: Migration = { by: 'olga', run: 'refund-1042-v2' };
 */
export interface Migration {
  /** The person who moves the run; recorded in the journal. */
  readonly by?: string;
  /** The id of the new run. */
  readonly run?: RunId;
}

interface MigrationContext {
  readonly pins: Pins;
  readonly attachments?: AttachmentStore | undefined;
}

/** The parts of the run that do not fit the flow. */
export async function examine({ journal }: Store, run: RunId, flow: CompiledFlow): Promise<readonly Misfit[]> {
  const { program, state, events } = await readRun(journal, run);
  // A move that was interrupted was proved before it began.
  return movedTo(events) === null && state.outcome === null ? misfitsOf(program.flow, flow, state) : [];
}

export async function migrate(
  engine: Pick<Engine, 'migrate'>,
  store: Store,
  run: RunId,
  flow: CompiledFlow,
  { by = 'migrate', run: id, pins, attachments }: Migration & MigrationContext,
): Promise<RunId> {
  const misfits = await examine(store, run, flow);
  if (misfits.length > 0) throw doesNotFit(run, misfits);
  const { state } = await readRun(store.journal, run);
  return (await engine.migrate(run, flow, {
    by,
    origin: { pins },
    ...(id === undefined ? {} : { run: id }),
    beforeStart: (next) => copyFiles(state.origin.pins, attachments, run, next),
  })) as RunId;
}

function doesNotFit(run: RunId, misfits: readonly Misfit[]): SluiceError {
  const list = misfits.map(({ part, problem }) => `\n  ${part}: ${problem}`).join('');
  return new SluiceError(
    'bad-migration',
    `run \`${run}\` does not fit the new version:${list}`,
    'Change the document, or let the run end with its own version. Nothing was changed.',
  );
}

/** The parts of a suspended run that do not fit the other version of its flow. */
function misfitsOf(before: CompiledFlow, after: CompiledFlow, state: RunState): readonly Misfit[] {
  const other = otherFlow(before, after);
  if (other.length > 0) return other;
  const [old, next] = [createProgram(before, pure), createProgram(after, pure)];
  return [...positionMisfits(old, next, state), ...valueMisfits(before, next, state)];
}

function otherFlow(before: CompiledFlow, after: CompiledFlow): readonly Misfit[] {
  const misfits: Misfit[] = [];
  if (before.notation !== after.notation)
    misfits.push({
      part: 'notation',
      problem: `the run is a \`${before.notation}\`, and the document is a \`${after.notation}\``,
    });
  if (before.id !== after.id)
    misfits.push({ part: 'flow', problem: `the run is of \`${before.id}\`, and the document is \`${after.id}\`` });
  return misfits;
}
