/**
 * The open calls of a run, and the time to wake it. Both follow from the state alone, so recovery has no code of its own: after
 * a crash the runtime loads the journal, folds its events and performs the open calls, as always (L8).
 */
import { earliest } from './admit.ts';
import { isCall } from './drops.ts';
import type { DoNode } from '../ir/nodes.ts';
import { evaluateInput, nodeAt } from './program.ts';
import type { Program } from './program.ts';
import type { Command, Instant, Outbox, Pending, RunState } from '../ir/events.ts';
import type { RunStatus } from '../ir/codes.ts';
import { threadOf } from './state.ts';
import { inputToSettle } from './unclear.ts';
import { enclosingDeadline, sooner } from './timing.ts';
import { controlInput } from './walk.ts';

export function outstanding(program: Program, state: RunState): Outbox {
  const commands: Command[] = [];
  for (const pending of state.pending.values())
    if (isOpenCall(pending)) commands.push(commandOf(program, state, pending));
  return { commands, wake: state.outcome === null ? earliest(state, -Infinity) : null };
}

/** True for a call that a performer makes. Answers, signals and the end of a timer arrive as facts. */
export function isOpenCall(pending: Pending): boolean {
  return pending.observed === null && pending.dropped === undefined && isCall(pending);
}

/** True if it waits for a person or for a signal. */
export function isAwaited({ kind, signal }: Pending): boolean {
  return kind === 'ask' || signal !== undefined;
}

export function commandOf(program: Program, state: RunState, pending: Pending): Command {
  const { key, attempt, ordinal, kind, name, node, target, notBefore, uncounted } = pending;
  const deadline = callDeadline(state, pending);
  const input = inputOf(program, state, pending);
  const call = { run: state.run, key, attempt, ordinal, kind, name, node, input, notBefore, deadline };
  const command: Command = uncounted === true ? { ...call, transport: true } : call;
  const model = target ?? targetOf(program, pending);
  if (model !== undefined) return { ...command, target: model };
  return kind === 'check' ? { ...command, origin: state.origin } : command;
}

/** A call has no more time than the stage, the branch or the step that it belongs to. A compensation has its own time. */
function callDeadline(state: RunState, { thread, deadline, undoes, settles }: Pending): Instant | null {
  return undoes === null && settles === undefined ? sooner(deadline, enclosingDeadline(state, thread)) : deadline;
}

/** The model that the node itself names. */
function targetOf(program: Program, { kind, node }: Pending): string | undefined {
  if (kind !== 'model') return undefined;
  const found = program.flow.nodes[node];
  return found?.op === 'do' && found.effect.kind === 'model' ? found.effect.target : undefined;
}

/** The journal holds only a fingerprint of the input. The thread has not moved since the request, so its slots give the same input. */
export function inputOf(program: Program, state: RunState, pending: Pending): Command['input'] {
  const thread = threadOf(state, pending.thread);
  if (pending.undoes !== null) {
    const entry = thread.undo.find((each) => each.key === pending.undoes);
    return { args: entry?.args ?? null, result: entry?.result ?? null };
  }
  if (pending.settles !== undefined) return inputToSettle(program, thread, pending, pending.settles);
  if (pending.control !== undefined) return controlInput(program, state, pending);
  const node = nodeAt(program, pending.node) as DoNode;
  const input = evaluateInput(program, node.effect.input, thread.slots);
  const isAfresh = pending.repair === undefined && pending.partial === undefined;
  return isAfresh ? input : { ...input, ...startOf(pending) };
}

/** The reply that an attempt repairs or continues. */
export function startOf({ repair, partial }: Pick<Pending, 'repair' | 'partial'>): Command['input'] {
  return { ...(repair === undefined ? {} : { repair }), ...(partial === undefined ? {} : { partial }) };
}

/** True if the run waits only for time, people or signals. */
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
