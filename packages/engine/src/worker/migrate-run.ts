/**
 * Moves a suspended run to another version of its flow. A new run takes over its events, effects and reservations, and the old
 * one ends without undoing anything. The old run ends first, so that at no time both can continue. A move that was
 * interrupted in between is completed by moving the run again.
 */
import { statusOf } from '@sluice-internal/kernel/core';
import type { CompiledFlow, Fact, RunId, RunState } from '@sluice-internal/kernel/ir';
import { SluiceError } from '../ports/errors.ts';
import { movedTo } from '../journal/fork-events.ts';
import { spentIn } from '../limits/quotas.ts';
import { errorOf } from './deliver.ts';
import { copy, readPast, refuseEarly } from './fork-run.ts';
import type { PastRun } from './fork-run.ts';
import { takenId } from './start.ts';
import { present } from '@sluice-internal/kernel/expr';
import type { Host } from './host.ts';
import type { OwnedRun } from './owned-run.ts';
import type { Ownership } from './ownership.ts';
import { checkRunId, newRunId } from '../ports/run-id.ts';
import type { MigrateOptions } from '../ports/types.ts';

interface Version extends MigrateOptions {
  readonly flow: CompiledFlow;
}

export async function migrateRun(host: Host, ownership: Ownership, parent: RunId, options: Version): Promise<RunId> {
  const { worker, store, clock } = host;
  await host.ensureOpen();
  const { state, events } = await host.read(parent);
  const begun = movedTo(events);
  const run = begun ?? options.run ?? newRunId();
  checkRunId(run);
  if (begun === null) refuseUnlessSuspended(state);
  else await refuseDone(host, parent, begun);
  const past = await readPast(host, parent, begun === null ? state.seq : await lastBefore(host, parent));
  const owned = copyTo(host, past, run, options);
  const fact: Fact = { type: 'fork', by: options.by, edits: [], moved: true };
  refuseEarly(owned, [fact], clock.now());
  if (worker.runs.has(run) || (await store.index.find(run)) !== null)
    throw await takenId(host, run, state.origin.tenant);
  await reserveFor(host, parent, owned);
  await options.beforeStart?.(run);
  if (begun === null) await end(host, ownership, past, { type: 'move', by: options.by, to: run });
  worker.runs.set(run, owned);
  try {
    await host.send(owned, fact);
  } catch (error) {
    if (worker.runs.get(run) === owned) worker.runs.delete(run);
    throw error;
  }
  return run;
}

/** The last event before those of the move, which were stored together at the end. */
async function lastBefore({ store }: Host, run: RunId): Promise<number> {
  return (await store.journal.load(run, { snapshot: false }))?.appends.at(-1)?.after ?? 0;
}

function refuseUnlessSuspended(state: RunState): void {
  const status = statusOf(state);
  if (status === 'suspended') return;
  if (state.outcome !== null)
    throw errorOf({ refused: 'run-ended', message: `run \`${state.run}\` has ended with ${state.outcome.code}` });
  throw new SluiceError(
    'bad-migration',
    `run \`${state.run}\` is ${status}, and only a run that waits for a person or a signal can be moved`,
    'Try again when it waits. `sluice show` tells where it is.',
  );
}

async function refuseDone({ store }: Host, parent: RunId, begun: RunId): Promise<void> {
  if ((await store.index.find(begun)) === null) return;
  throw new SluiceError('run-ended', `run \`${parent}\` was moved to \`${begun}\``, `Use \`${begun}\`.`);
}

/** The caller's deadline and the thread of the run still count. */
function copyTo(host: Host, past: PastRun, run: RunId, { flow, origin }: Version): OwnedRun {
  const { deadline, thread } = past.state.origin;
  return copy(host, past, run, {
    at: past.link.seq,
    flow,
    origin: { ...present({ deadline, thread }), ...origin },
  });
}

async function reserveFor({ quotas }: Host, from: RunId, { run, program, state }: OwnedRun): Promise<void> {
  if (state === null) return;
  await quotas.move(from, { run, flow: program.flow, origin: state.origin, spent: spentIn(state) });
}

/** Ends the old run. Refused if it has changed since it was read: a person may have answered meanwhile. */
async function end(host: Host, ownership: Ownership, past: PastRun, fact: Fact): Promise<void> {
  const owned = await ownership.acquire(past.run);
  if (owned === null || owned.seq !== past.link.seq)
    throw new SluiceError(
      'lease-lost',
      `run \`${past.run}\` has continued in another process meanwhile`,
      'Try again when it waits.',
    );
  const refusal = await host.send(owned, fact);
  if (refusal !== null) throw errorOf(refusal);
}
