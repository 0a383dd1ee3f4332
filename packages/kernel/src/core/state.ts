/** Changes of a run's state that several events share. */
import type { MeterId, NodeId } from '../ir/nodes.ts';
import type { ErrorRecord, ForkState, Instant, Refusal, RunState, Thread } from '../ir/events.ts';

export function charge(state: RunState, meters: readonly MeterId[] | undefined): void {
  if (meters !== undefined) for (const id of meters) state.spent[id] = (state.spent[id] ?? 0) + 1;
}

export function failedOver(thread: Thread, error: ErrorRecord, to: NodeId): void {
  thread.slots = { ...thread.slots, error: { ...error } };
  moveTo(thread, to);
}

export function moveTo(thread: Thread, to: NodeId): void {
  thread.at = to;
  thread.doing = READY;
  delete thread.walk;
}

export const READY: Thread['doing'] = { is: 'ready' };

export function enqueue(state: RunState, id: string): void {
  if (state.threads.has(id)) state.queue.add(id);
}

/** Removes a thread that waits: it cannot move until an event concerns it. */
export function dequeue(state: RunState, thread: Thread): void {
  state.queue.delete(thread.id);
}

export function threadOf(state: RunState, id: string): Thread {
  const thread = state.threads.get(id);
  if (thread === undefined) throw new Error(`invariant: run ${state.run} has no thread ${id}`);
  return thread;
}

/** Keeps a lower bound of the next expiry. The expiry itself is checked when that instant has come. */
export function wakeBy(state: RunState, deadline: Instant | null): void {
  if (deadline !== null && (state.wake === null || deadline < state.wake)) state.wake = deadline;
}

/** True if a thread is a branch, at any depth, of the current fork of this one. */
export function isBelow(id: string, parent: Thread): boolean {
  return id.startsWith(`${parent.id}:${parent.acts - 1}.`);
}

export function branchName(fork: ForkState, index: number): string {
  return 'heads' in fork.branches ? (fork.branches.heads[index]?.name ?? String(index)) : String(index);
}

/** The run undoes its work before it ends. */
export function isStopping({ threads }: RunState): boolean {
  return threads.get('0')?.doing.is === 'unwinding';
}

export function stopping({ run }: RunState): Refusal {
  return { refused: 'run-ended', message: `run \`${run}\` is already stopping` };
}
