/** Reads a run from its journal: its state, and its events. */
import { evolve } from '../../core/evolve.ts';
import type { CompiledFlow } from '../../ir/nodes.ts';
import { createProgram } from '../../core/program.ts';
import type { Program } from '../../core/program.ts';
import type { RunId, RunState } from '../../ir/events.ts';
import { chained, genesis, printOf } from './chain.ts';
import type { ChainedEvent } from '../engine/types.ts';
import type { Journal, StoredRun } from '../ports.ts';
import { pure } from '../engine/pure.ts';
import { SluiceError } from '../errors.ts';
import { createShelf } from './values.ts';

export interface ReadRun {
  readonly program: Program;
  readonly state: RunState;
  readonly events: readonly ChainedEvent[];
}

export async function readRun(journal: Journal, run: RunId): Promise<ReadRun> {
  const { program, events: stream } = await streamRun(journal, run);
  const events: ChainedEvent[] = [];
  let state: RunState | null = null;
  for (const event of stream) {
    events.push(event);
    state = evolve(state, event);
  }
  if (state === null) throw new SluiceError('run-not-found', `run \`${run}\` has no events`);
  return { program, state, events };
}

/** Decodes the events one append at a time, so that a long run needs little memory. */
export async function streamRun(
  journal: Journal,
  run: RunId,
): Promise<{ readonly program: Program; readonly events: Generator<ChainedEvent> }> {
  const stored = await journal.load(run, { snapshot: false });
  if (stored === null)
    throw new SluiceError('run-not-found', `there is no run \`${run}\``, 'list the runs with `sluice runs`');
  const program = readable(run, 'its graph', () => createProgram(JSON.parse(stored.flow) as CompiledFlow, pure));
  return { program, events: eventsOf(run, program, stored) };
}

function* eventsOf(run: RunId, program: Program, stored: StoredRun): Generator<ChainedEvent> {
  const { unpack } = createShelf(stored.blobs);
  let head = genesis(run, printOf(stored.flow));
  for (const append of stored.appends) {
    yield* readable(run, `event ${append.after + 1}`, () => chained(program, head, append, unpack));
    head = append.hash;
  }
}

/** A damaged row is an error of the journal, not of the program. */
function readable<T>(run: RunId, what: string, read: () => T): T {
  try {
    return read();
  } catch (error) {
    const message = `${what} of run \`${run}\` is unreadable: ${(error as Error).message}`;
    throw new SluiceError('journal-damaged', message, 'run `sluice audit verify`', error);
  }
}
