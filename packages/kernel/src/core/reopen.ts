/**
 * A run that ended because a budget or its time was used up goes on if an operator grants more. The state keeps each thread as
 * it was when it was stopped. A thread that goes on in another way is forgotten, so a run is reopened only where it stopped.
 */
import type { ForkState, Pending, RunState, StoppedThread, Thread, ThreadId } from '../ir/events.ts';
import type { MeterId, NodeId } from '../ir/nodes.ts';
import { isBudgetError } from './meters.ts';
import { shiftTimes } from './run-fork.ts';
import { READY } from './state.ts';

/** Keeps the thread. Its branches are kept too if they are the reason that it stopped. */
export function noteStop(
  state: RunState,
  thread: Thread,
  place: { readonly at: NodeId; readonly meter?: MeterId },
): void {
  if (thread.doing.is !== 'forked') forgetStops(state, thread.id);
  state.stopped = { ...state.stopped, [thread.id]: { ...thread, ...place } };
}

/** The time of the run is used up. */
export function noteAllStops(state: RunState): void {
  const threads = [...state.threads.values()].filter(({ doing }) => doing.is !== 'unwinding');
  state.stopped = Object.fromEntries(threads.map((thread) => [thread.id, { ...thread }]));
}

/** A thread that was stopped and then calls a model or a tool has gone on. A question, a check or a wait changes nothing. */
export function noteAct(state: RunState, { id, acts }: Thread, kind: Pending['kind']): void {
  const stop = state.stopped?.[id];
  if (stop === undefined) return;
  if (kind === 'model' || kind === 'tool') forgetStops(state, id);
  else state.stopped = { ...state.stopped, [id]: { ...stop, acts } };
}

export function noteUndo(state: RunState, key: string): void {
  for (const [id, stop] of Object.entries(state.stopped ?? {}))
    if (stop.undo.some((entry) => entry.key === key))
      state.stopped = { ...state.stopped, [id]: { ...stop, undone: true } };
}

/** The call that was cut off did not happen, so it can be made. */
export function noteUnsent(state: RunState, key: string): void {
  for (const [id, stop] of Object.entries(state.stopped ?? {}))
    if (stop.doing.is === 'waiting' && stop.doing.on === key)
      state.stopped = { ...state.stopped, [id]: { ...stop, unsent: true } };
}

/** Forgets a thread and its branches. */
export function forgetStops(state: RunState, id: ThreadId): void {
  if (state.stopped === undefined) return;
  const others = Object.entries(state.stopped).filter(([each]) => each !== id && !each.startsWith(`${id}:`));
  if (others.length === 0) delete state.stopped;
  else state.stopped = Object.fromEntries(others);
}

/** The threads that go on if the run is reopened, the root first. Empty if it cannot go on. */
export function stoppedThreads(
  { stopped = {} }: Pick<RunState, 'stopped'>,
  id: ThreadId = '0',
): readonly StoppedThread[] {
  const stop = stopped[id];
  if (stop === undefined) return [];
  if (stop.doing.is !== 'forked') return [stop];
  const { fork } = stop.doing;
  const below = fork.outcomes.flatMap((outcome, index) =>
    goesOn(outcome) ? stoppedThreads({ stopped }, `${fork.key.replace('#', ':')}.${index}`) : [],
  );
  return below.length === 0 ? [] : [stop, ...below];
}

/** A branch that failed for another reason stays failed. */
function goesOn(outcome: ForkState['outcomes'][number]): boolean {
  return outcome === null || isBudgetError(outcome.error);
}

/** The time since the end does not count. */
export function reopen(state: RunState, idleMs: number): void {
  const { stopped = {} } = state;
  state.outcome = null;
  state.threads = new Map();
  state.queue = new Set();
  delete state.stopped;
  restore(state, stopped, '0', '0');
  shiftTimes(state, idleMs);
}

function restore(state: RunState, stopped: RunState['stopped'], from: ThreadId, id: ThreadId): boolean {
  const stop = stopped?.[from];
  if (stop === undefined) return false;
  const { meter: _, undone: __, unsent: ___, cut, ...kept } = stop;
  const cutAt = id.lastIndexOf(':');
  const parent = cutAt < 0 ? null : id.slice(0, cutAt);
  const thread: Thread = { ...kept, id, parent };
  state.threads.set(id, thread);
  state.queue.add(id);
  if (stop.doing.is === 'waiting') {
    const { on } = stop.doing;
    // The call was cut off. It is made again under its key, its visit counts once, and it has one undo entry.
    thread.doing = READY;
    thread.undo = stop.undo.filter(({ key }) => key !== on);
    thread.acts -= 1;
    for (const each of cut ?? []) state.spent[each] = (state.spent[each] ?? 0) - 1;
  }
  if (stop.doing.is === 'forked')
    thread.doing = { is: 'forked', fork: restoreBranches(state, stopped, thread, stop.doing.fork) };
  return true;
}

/** Branches are numbered by the act that forked them. If the thread asked a question since, they get a new number. */
function restoreBranches(state: RunState, stopped: RunState['stopped'], thread: Thread, old: ForkState): ForkState {
  if (old.key !== `${thread.id}#${thread.acts - 1}`) thread.acts += 1;
  const key = `${thread.id}#${thread.acts - 1}`;
  const fork: ForkState = { ...old, key, outcomes: [...old.outcomes] };
  for (const [index, outcome] of old.outcomes.entries()) {
    if (index >= old.started || !goesOn(outcome)) continue;
    const branch = (of: string): ThreadId => `${of.replace('#', ':')}.${index}`;
    if (!restore(state, stopped, branch(old.key), branch(key)) || outcome === null) continue;
    fork.outcomes[index] = null;
    fork.done -= 1;
  }
  return fork;
}
