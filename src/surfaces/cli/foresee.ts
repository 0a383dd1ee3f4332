/**
 * What a run would ask of the world if it were told something now. Decided on a copy, so that a command can refuse before
 * anything is recorded that it could not carry out.
 */
import { outstanding } from '../../core/outstanding.ts';
import type { CompiledFlow } from '../../ir/nodes.ts';
import type { Command, Fact, RunId } from '../../ir/events.ts';
import { settle } from '../../core/settle.ts';
import type { Store } from '../../runtime/ports.ts';
import { readRun } from '../../runtime/journal/read.ts';

export interface Foreseen {
  readonly flow: CompiledFlow;
  readonly commands: readonly Command[];
}

/** Nothing, where it would be refused: the engine says why. */
export async function foresee({ journal }: Store, run: RunId, fact: Fact): Promise<Foreseen> {
  const { program, state: before } = await readRun(journal, run);
  const { state, refusals } = settle(program, before, [fact], Date.now());
  const commands = state === null || refusals.size > 0 ? [] : outstanding(program, state).commands;
  return { flow: program.flow, commands };
}
