/** Reads a run from its journal: its state, and its events. */
import { evolve } from '../../core/evolve.ts';
import type { CompiledFlow } from '../../ir/nodes.ts';
import { createProgram } from '../../core/program.ts';
import type { Program } from '../../core/program.ts';
import type { RunId, RunState } from '../../ir/events.ts';
import { chained, genesis } from './chain.ts';
import type { ChainedEvent } from '../engine/types.ts';
import type { Journal } from '../ports.ts';
import { printOf } from './chain.ts';
import { pure } from '../engine/pure.ts';
import { SluiceError } from '../errors.ts';
import { createShelf } from './values.ts';

export interface ReadRun {
  readonly program: Program;
  readonly state: RunState;
  readonly events: readonly ChainedEvent[];
}

export async function readRun(journal: Journal, run: RunId): Promise<ReadRun> {
  const stored = await journal.load(run, { snapshot: false });
  if (stored === null)
    throw new SluiceError('run-not-found', `there is no run \`${run}\``, 'list the runs with `sluice runs`');
  const program = createProgram(JSON.parse(stored.flow) as CompiledFlow, pure);
  const { unpack } = createShelf(stored.blobs);
  const events: ChainedEvent[] = [];
  let state: RunState | null = null;
  let head = genesis(run, printOf(stored.flow));
  for (const append of stored.appends) {
    for (const event of chained(program, head, append, unpack)) {
      events.push(event);
      state = evolve(state, event);
    }
    head = append.hash;
  }
  if (state === null) throw new SluiceError('run-not-found', `run \`${run}\` has no events`);
  return { program, state, events };
}
