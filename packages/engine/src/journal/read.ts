/** Loads a run from its journal and verifies its chain. A run that was changed is refused, as by a resume. */
import type { Program } from '@sluice-internal/kernel/core';
import type { RunId } from '@sluice-internal/kernel/ir';
import { chained, genesis } from './chain.ts';
import type { ChainedEvent } from '../ports/types.ts';
import type { Journal, StoredAppend, StoredRun } from '../ports/ports.ts';
import { decodeEvents } from './codec.ts';
import type { UnpackValue } from './codec-events.ts';
import { SluiceError } from '../ports/errors.ts';
import { storedPrint, storedProgram } from './stored-graph.ts';
import { changedBlob, createShelf } from './values.ts';
import { broken, Chain, demandRecorded } from './verify.ts';

export interface ReadOptions {
  /** Called when the run was changed from outside, instead of a rejection. It is then read as far as possible. */
  readonly onBroken?: (error: SluiceError) => void;
}

export interface StreamOptions extends ReadOptions {
  /** Leaves out appends that end with this event or an earlier one, except the last append. They are verified, but not decoded. */
  readonly after?: number;
}

/** Decodes the events one append at a time, so that a long run needs little memory. Each event has its hash. */
export async function streamRun(
  journal: Journal,
  run: RunId,
  options: StreamOptions = {},
): Promise<{ readonly program: Program; readonly events: Generator<ChainedEvent> }> {
  const { program, stored } = await loadRun(journal, run, options);
  return { program, events: readableEvents(run, program, stored, options) };
}

/** Loads a run and verifies its chain. */
export async function loadRun(
  journal: Journal,
  run: RunId,
  options: ReadOptions,
): Promise<{ readonly program: Program; readonly stored: StoredRun }> {
  const stored = await journal.load(run, { snapshot: false });
  if (stored === null)
    throw new SluiceError('run-not-found', `there is no run \`${run}\``, 'List the runs with `sluice runs`.');
  const program = readable(run, 'the graph', () => storedProgram(stored.flow));
  try {
    demandChain(run, program, stored);
    await demandRecorded(journal, run, 'read');
  } catch (error) {
    tolerate(run, error, options);
  }
  return { program, stored };
}

/** Ends at the first event that cannot be read, if the caller tolerates it. */
function* readableEvents(
  run: RunId,
  program: Program,
  stored: StoredRun,
  options: StreamOptions,
): Generator<ChainedEvent> {
  try {
    yield* eventsOf(run, stored, (...append) => chained(program, ...append), options.after);
  } catch (error) {
    tolerate(run, error, options);
  }
}

export function tolerate(run: RunId, error: unknown, { onBroken }: ReadOptions): void {
  const known = error instanceof SluiceError ? error : unreadable(run, 'an event', error);
  if (onBroken === undefined) throw known;
  onBroken(known);
}

function demandChain(run: RunId, program: Program, { flow, appends, blobs }: StoredRun): void {
  const blob = changedBlob(blobs);
  if (blob !== undefined) throw broken(run, `the stored value ${blob.hash} was changed`, 'read');
  const chain = new Chain(run, flow);
  for (const append of appends) {
    const wrong = chain.add(append);
    if (wrong === null) continue;
    // An event that cannot be decoded has its own error.
    const { unpack } = createShelf(blobs);
    readable(run, `event ${append.after + 1}`, () => decodeEvents(program, append, unpack));
    throw broken(run, wrong, 'read');
  }
}

type Decode<E> = (previous: string, append: StoredAppend, unpack: UnpackValue) => readonly E[];

function* eventsOf<E>(run: RunId, stored: StoredRun, decode: Decode<E>, after = 0): Generator<E> {
  const { unpack } = createShelf(stored.blobs);
  let head = genesis(run, storedPrint(stored.flow));
  const last = stored.appends.at(-1);
  for (const append of stored.appends) {
    if (append === last || append.after + append.count > after)
      yield* readable(run, `event ${append.after + 1}`, () => decode(head, append, unpack));
    head = append.hash;
  }
}

/** A damaged row is an error of the journal, not of the program. */
export function readable<T>(run: RunId, what: string, read: () => T): T {
  try {
    return read();
  } catch (error) {
    throw unreadable(run, what, error);
  }
}

function unreadable(run: RunId, what: string, error: unknown): SluiceError {
  const message = `${what} of run \`${run}\` is unreadable: ${(error as Error).message}`;
  return new SluiceError('journal-damaged', message, 'Run `sluice audit verify`.', error);
}
