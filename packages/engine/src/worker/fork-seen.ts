/**
 * Refuses an edit of a fork that would change an earlier request: the values that a person saw before the answer, or the input of a call
 * that is still open. The answer would cover a value that no person saw, and the journal would show another input than the call had.
 */
import { isDeepStrictEqual } from 'node:util';
import { editSlots, evolve, hasPath, inputOf, nodeAt, readPath } from '@sluice-internal/kernel/core';
import type { Program } from '@sluice-internal/kernel/core';
import type { Event, RunState, SlotEdit } from '@sluice-internal/kernel/ir';
import { SluiceError } from '../ports/errors.ts';
import { threadIn } from '../journal/codec-events.ts';

type Requested = Extract<Event, { type: 'effect.requested' }>;

export function refuseSeen(
  program: Program,
  events: readonly Event[],
  past: RunState,
  edits: readonly SlotEdit[],
): void {
  const { pending } = past;
  if (edits.length === 0) return;
  let state: RunState | null = null;
  for (const event of events) {
    const then: RunState = evolve(state, event);
    state = then;
    if (event.type !== 'effect.requested' || (event.kind !== 'ask' && !pending.has(event.key))) continue;
    const kept = edits.filter((edit) => isKept(then, past, event, edit));
    if (changes(program, then, event, kept)) throw changed(program, event, pending.has(event.key));
  }
}

/** True if the value is still the one of the request. An edit of a value that was replaced since changes no request. */
function isKept({ threads }: RunState, past: RunState, { key }: Requested, { slot, path }: SlotEdit): boolean {
  const at = [slot, ...path];
  const then = threads.get(threadIn(key))?.slots;
  if (then === undefined || !hasPath(then, at)) return false;
  const value = readPath(then, at);
  return [...past.threads.values()].some(
    ({ slots }) => hasPath(slots, at) && isDeepStrictEqual(readPath(slots, at), value),
  );
}

function changes(program: Program, state: RunState, { key, question }: Requested, edits: readonly SlotEdit[]): boolean {
  const pending = state.pending.get(key);
  const thread = state.threads.get(threadIn(key));
  if (pending === undefined || thread === undefined || question?.purpose === 'missing_information') return false;
  const edited = { ...state, threads: new Map([[thread.id, { ...thread }]]) };
  editSlots(edited, edits);
  try {
    return !isDeepStrictEqual(inputOf(program, state, pending), inputOf(program, edited, pending));
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
