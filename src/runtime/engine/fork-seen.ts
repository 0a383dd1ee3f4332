/**
 * Refuses an edit of a fork that would change a request of the past: what a person saw before the answer, or the input of a call
 * that is still open. The answer would cover a value that no person saw, and the journal would show another input than the call had.
 */
import { isDeepStrictEqual } from 'node:util';
import { evolve } from '../../core/evolve.ts';
import { evaluateInput, nodeAt, type Program } from '../../core/program.ts';
import { editSlots } from '../../core/run-fork.ts';
import { hasPath } from '../../core/slots.ts';
import type { Event, RunState, SlotEdit } from '../../ir/events.ts';
import type { DoNode } from '../../ir/nodes.ts';
import { SluiceError } from '../errors.ts';
import { threadIn } from '../journal/codec-events.ts';

type Requested = Extract<Event, { type: 'effect.requested' }>;

export function refuseSeen(
  program: Program,
  events: readonly Event[],
  { pending }: RunState,
  edits: readonly SlotEdit[],
): void {
  if (edits.length === 0) return;
  let state: RunState | null = null;
  for (const event of events) {
    state = evolve(state, event);
    if (event.type !== 'effect.requested' || (event.kind !== 'ask' && !pending.has(event.key))) continue;
    if (changes(program, state, event, edits)) throw changed(program, event, pending.has(event.key));
  }
}

function changes(program: Program, state: RunState, { key, node }: Requested, edits: readonly SlotEdit[]): boolean {
  const { effect } = nodeAt(program, node) as DoNode;
  const thread = state.threads.get(threadIn(key));
  if (thread === undefined || (effect.kind === 'ask' && effect.purpose === 'missing_information')) return false;
  const present = edits.filter(({ slot, path }) => hasPath(thread.slots, [slot, ...path]));
  const { slots } = thread;
  const edited = { ...state, threads: new Map([[thread.id, { ...thread }]]) };
  editSlots(edited, present);
  const after = edited.threads.get(thread.id)?.slots ?? slots;
  try {
    return !isDeepStrictEqual(evaluateInput(program, effect.input, slots), evaluateInput(program, effect.input, after));
  } catch {
    // The request could not be made with the new value.
    return true;
  }
}

function changed(program: Program, { seq, kind, node }: Requested, isOpen: boolean): SluiceError {
  const { name, authored = name } = nodeAt(program, node).label;
  const what =
    kind === 'ask'
      ? `the question of \`${authored}\` ${isOpen ? 'shows a value' : 'was answered for a value'}`
      : `the open call of \`${authored}\` has a value`;
  return new SluiceError(
    'bad-fork',
    `${what} that the fork would change`,
    `Fork before event ${seq}, which asks for it.`,
  );
}
