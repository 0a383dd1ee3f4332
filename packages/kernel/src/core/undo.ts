/**
 * The end of a thread. A thread that failed or was cancelled first undoes the calls that really ran, the last one first, each
 * at most once (L7). If a compensation fails, that is recorded, the others still run, and the run asks for a review.
 */
import type { Doing, Ending, EventBody, RunState, Thread, UndoEntry } from '../ir/events.ts';
import type { LetNode, MeterId, NodeId } from '../ir/nodes.ts';
import { declaredOf } from './declared.ts';
import { awaitsDrops } from './drops.ts';
import { limitOf, meterAt } from './meters.ts';
import { nodeAt } from './program.ts';
import type { Program } from './program.ts';
import { findOut } from './unclear.ts';

export function finish(state: RunState, thread: Thread, ending: Ending): readonly EventBody[] {
  if (ending.state !== 'completed' && thread.undo.length > 0)
    return [{ type: 'undo.started', thread: thread.id, ...ending }];
  return close(state, thread, ending);
}

export function unwind(
  program: Program,
  state: RunState,
  thread: Thread,
  doing: Extract<Doing, { is: 'unwinding' }>,
): readonly EventBody[] {
  if (doing.on !== null) {
    const pending = state.pending.get(doing.on);
    if (pending === undefined || pending.observed === null) return [];
    if (pending.settles !== undefined) return [{ type: 'effect.judged', key: doing.on, verdict: 'accepted' }];
    if (pending.observed.ok || pending.observed.error.ran === true)
      return [{ type: 'effect.judged', key: doing.on, verdict: 'accepted' }];
    const error = { ...pending.observed.error, node: pending.node, code: 'REVIEW_REQUIRED' as const };
    return [{ type: 'effect.judged', key: doing.on, verdict: 'failed', error, to: null }];
  }
  const entry = thread.undo[thread.undo.length - 1];
  if (entry !== undefined) return undo(program, state, thread, entry);
  const { state: end, code, output } = doing.outcome;
  return close(state, thread, { state: end, code, output: { value: output } });
}

/** Only a call that was sent is undone. What the host has not said yet is waited for, and what nobody knows is found out. */
function undo(program: Program, state: RunState, thread: Thread, entry: UndoEntry): readonly EventBody[] {
  if (entry.ran === 'pending') return [];
  if (entry.ran === 'unknown') return findOut(program, state, thread, entry);
  const { key: undoes, tool, timeoutMs, node } = entry;
  const meters = undoMeters(program, node);
  const meter = meters.find((id) => limitOf(state, id, meterAt(program, id)) - (state.spent[id] ?? 0) < 1);
  if (meter !== undefined) return [{ type: 'undo.denied', thread: thread.id, node, undoes, tool, meter }];
  return [
    {
      type: 'undo.requested',
      thread: thread.id,
      key: `${thread.id}#u${thread.acts}`,
      undoes,
      tool,
      deadline: state.now + timeoutMs,
      charge: meters.length === 0 ? undefined : meters,
    },
  ];
}

/** The budgets of undo calls that the undone call draws on. */
function undoMeters({ flow: { nodes, meters } }: Program, node: NodeId): readonly MeterId[] {
  return (nodes[node]?.charges ?? []).filter((id) => meters[id]?.unit === 'undoCalls');
}

/**
 * The events before a thread repeats its work: the effects of the work are undone, also those of dropped branches. Null if
 * there is nothing to undo. A thread whose work cannot be undone does not repeat it.
 */
export function rollBack(
  program: Program,
  state: RunState,
  thread: Thread,
  node: LetNode,
): readonly EventBody[] | null {
  const { undoes: names } = node;
  if (names === undefined) return null;
  const isRepeated = (entry: UndoEntry): boolean => {
    const { name } = nodeAt(program, entry.node).label;
    return names === 'all' || names.some((each) => name === each || name.startsWith(`${each}/`));
  };
  const undoes = thread.undo.filter(isRepeated).map(({ key }) => key);
  if (undoes.length > 0) return [{ type: 'rollback.started', thread: thread.id, node: thread.at, undoes }];
  for (const { id, doing } of state.threads.values())
    if (doing.is === 'unwinding' && id.startsWith(`${thread.id}:`)) return [];
  if (!state.undoFailed) return null;
  return finish(state, thread, {
    node: thread.at,
    state: 'failed',
    code: 'REVIEW_REQUIRED',
    output: { value: null },
    charge: declaredOf(program, node).visits,
  });
}

/** The root ends last: the run stays open while a dropped branch undoes its work, and until the host has answered each drop. */
function close(state: RunState, thread: Thread, ending: Ending): readonly EventBody[] {
  if (thread.parent !== null) return [{ type: 'thread.ended', thread: thread.id, ...ending }];
  if (state.threads.size > 1 || awaitsDrops(state)) return [];
  if (state.undoFailed) return [{ type: 'run.ended', ...ending, state: 'failed', code: 'REVIEW_REQUIRED' }];
  const code = state.stoodIn === true && ending.code === 'SUCCESS' ? 'PARTIAL_SUCCESS' : ending.code;
  return [{ type: 'run.ended', ...ending, code }];
}
