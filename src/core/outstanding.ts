/**
 * The open calls of a run, and when to wake it. Derived from the state alone, so recovery is not a separate code path: after a
 * crash the runtime loads, folds, and performs the open calls, as always (L8).
 */
import { earliest } from './admit.ts';
import type { DoNode } from '../ir/nodes.ts';
import { evaluateInput, nodeAt } from './program.ts';
import type { Program } from './program.ts';
import type { Command, Instant, Outbox, Pending, RunState } from '../ir/events.ts';
import type { RunStatus } from '../ir/codes.ts';
import { threadOf } from './state.ts';
import { enclosingDeadline, sooner } from './timing.ts';

export function outstanding(program: Program, state: RunState): Outbox {
  const commands: Command[] = [];
  for (const pending of state.pending.values())
    if (isOpenCall(pending)) commands.push(commandOf(program, state, pending));
  return { commands, wake: state.outcome === null ? earliest(state, -Infinity) : null };
}

/** Performers owe calls. Questions, signals and the passing of time come from elsewhere. */
export function isOpenCall(pending: Pending): boolean {
  return pending.observed === null && pending.kind !== 'ask' && pending.kind !== 'wait';
}

/** Waits for a person or for a signal. */
export function isAwaited({ kind, signal }: Pending): boolean {
  return kind === 'ask' || signal !== undefined;
}

export function commandOf(program: Program, state: RunState, pending: Pending): Command {
  const { key, attempt, ordinal, kind, name, node, target, notBefore } = pending;
  const deadline = callDeadline(state, pending);
  const input = inputOf(program, state, pending);
  const command = { run: state.run, key, attempt, ordinal, kind, name, node, input, notBefore, deadline };
  const model = target ?? targetOf(program, pending);
  if (model !== undefined) return { ...command, target: model };
  return kind === 'check' ? { ...command, origin: state.origin } : command;
}

/** A call has no more time than the stage, the branch or the step that it belongs to. A compensation has its own time. */
function callDeadline(state: RunState, { thread, deadline, undoes }: Pending): Instant | null {
  return undoes === null ? sooner(deadline, enclosingDeadline(state, thread)) : deadline;
}

/** The model that the node itself names. */
function targetOf(program: Program, { kind, node }: Pending): string | undefined {
  if (kind !== 'model') return undefined;
  const found = program.flow.nodes[node];
  return found?.op === 'do' && found.effect.kind === 'model' ? found.effect.target : undefined;
}

/** The thread has not moved since it asked, so its slots still give the input that the journal holds the fingerprint of. */
export function inputOf(program: Program, state: RunState, pending: Pending): Command['input'] {
  const thread = threadOf(state, pending.thread);
  if (pending.undoes !== null) {
    const entry = thread.undo.find((each) => each.key === pending.undoes);
    return { args: entry?.args ?? null, result: entry?.result ?? null };
  }
  const node = nodeAt(program, pending.node) as DoNode;
  const input = evaluateInput(program, node.effect.input, thread.slots);
  const isAfresh = pending.repair === undefined && pending.partial === undefined;
  return isAfresh ? input : { ...input, ...startOf(pending) };
}

/** The reply that an attempt repairs or continues. */
export function startOf({ repair, partial }: Pick<Pending, 'repair' | 'partial'>): Command['input'] {
  return { ...(repair === undefined ? {} : { repair }), ...(partial === undefined ? {} : { partial }) };
}

/** Only time, people or signals can move the run on. */
export function isPaused(state: RunState): boolean {
  if (state.outcome !== null || state.pending.size === 0) return false;
  for (const { kind } of state.pending.values()) if (kind !== 'ask' && kind !== 'wait') return false;
  return true;
}

export function statusOf(state: RunState): RunStatus {
  if (state.outcome !== null) return state.outcome.state;
  if (state.pending.size === 0) return 'running';
  for (const pending of state.pending.values()) if (!isAwaited(pending)) return 'running';
  return 'suspended';
}
