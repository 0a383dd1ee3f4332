/**
 * Returns the next events of a run, from its state and its graph alone. It is called until it returns none. The first thread
 * in the queue that can move moves. The order is part of the state, so the same journal always leads to the same decision.
 */
import { codeOfFailure } from '../ir/codes.ts';
import { controlsAhead, stoppedBefore, waitsForSiblings, walkControls } from './controls.ts';
import { judge } from './judge.ts';
import { request, unfitCall } from './request.ts';
import { expressionError } from './failure.ts';
import { holds, noNotes } from './guard.ts';
import { fork, join } from './fork.ts';
import { hear } from './guidance.ts';
import type { Case, DoNode, EndNode, LetNode, Node, PickNode } from '../ir/nodes.ts';
import { declaredOf } from './declared.ts';
import { awaitsDrops } from './drops.ts';
import { tripOnVisit } from './meters.ts';
import { nodeAt, recordWrites } from './program.ts';
import type { Program } from './program.ts';
import type { ErrorRecord, EventBody, RunState, Thread } from '../ir/events.ts';
import { hasPath } from './slots.ts';
import { finish, rollBack, unwind } from './undo.ts';

export function decide(program: Program, state: RunState): readonly EventBody[] {
  if (state.outcome !== null) return NOTHING;
  for (const id of state.queue) {
    const thread = state.threads.get(id);
    if (thread === undefined) continue;
    const events = move(program, state, thread);
    if (events.length > 0) return events;
  }
  return NOTHING;
}
const NOTHING: readonly EventBody[] = [];

function move(program: Program, state: RunState, thread: Thread): readonly EventBody[] {
  switch (thread.doing.is) {
    case 'ready':
      return act(program, state, thread);
    case 'waiting':
      return judge(program, state, thread, thread.doing.on);
    case 'forked':
      return join(program, state, thread, thread.doing.fork);
    case 'unwinding':
      return unwind(program, state, thread, thread.doing);
  }
}

function act(program: Program, state: RunState, thread: Thread): readonly EventBody[] {
  const node = nodeAt(program, thread.at);
  const trip = tripOnVisit({ program, state, thread, node }, declaredOf(program, node));
  if (trip !== null) return awaitsDrops(state) ? NOTHING : [trip];
  const heard = hear({ program, state, thread, node });
  if (heard !== null) return [heard];
  const events = visit(program, state, thread, node);
  if (node.expects === undefined || events.length === 0 || thread.walk !== undefined) return events;
  const paths = node.expects.filter((path) => !hasPath(thread.slots, path));
  if (paths.length === 0) return events;
  return [{ type: 'value.missing', thread: thread.id, node: thread.at, paths }, ...events];
}

function visit(program: Program, state: RunState, thread: Thread, node: Node): readonly EventBody[] {
  switch (node.op) {
    case 'let':
      return (
        rollBack(program, state, thread, node) ?? guarded(program, thread, node, () => write(program, thread, node))
      );
    case 'pick':
      return pick(program, thread, node);
    case 'do':
      return call(program, state, thread, node);
    case 'fork':
      return guarded(program, thread, node, () => fork(program, state, thread, node));
    case 'end':
      return guarded(program, thread, node, () => end(program, state, thread, node));
  }
}

/** Walks the controls of the call, then requests it. If it no longer fits, an approval stays unused. */
function call(program: Program, state: RunState, thread: Thread, node: DoNode): readonly EventBody[] {
  const visit = { program, state, thread, node };
  const stopped = stoppedBefore(visit);
  if (stopped !== null) return stopped;
  const controls = controlsAhead(thread, node);
  if (controls !== null) {
    const unfit = thread.walk === undefined ? unfitCall(visit) : null;
    return unfit ?? walkControls(visit, controls);
  }
  if (waitsForSiblings(state, thread, node)) return NOTHING;
  const events = request(visit);
  const { approved: unused } = thread.walk ?? {};
  if (unused === undefined) return events;
  return events.map((event) => (event.type === 'meter.tripped' ? { ...event, unused } : event));
}

/** A text that a decision compared as a number is an event, as in a guard. */
function write(program: Program, thread: Thread, node: LetNode): readonly EventBody[] {
  const { writes: declared, visits: charge } = declaredOf(program, node);
  const notes = noNotes();
  const writes = declared ?? recordWrites(program, node.writes, thread.slots, null, notes);
  const at = { thread: thread.id, node: thread.at };
  const written = { type: 'slots.written', ...at, writes, to: node.next, charge } as const;
  return notes.coerced.length === 0
    ? [written]
    : [{ type: 'guard.coerced', ...at, index: 0, notes: notes.coerced }, written];
}

/** A guard that cannot be evaluated does not hold. That is an event, and so is a text that a guard compared as a number. */
function pick(program: Program, thread: Thread, node: PickNode): readonly EventBody[] {
  const events: EventBody[] = [];
  const charge = declaredOf(program, node).visits;
  for (let index = 0; index < node.cases.length; index++) {
    const branch = node.cases[index] as Case;
    if (!holds(program, thread, branch.when, index, events)) continue;
    events.push({ type: 'route.picked', thread: thread.id, node: thread.at, index, to: branch.to, charge });
    return events;
  }
  const index = node.hasDefault === true ? node.cases.length : -1;
  events.push({ type: 'route.picked', thread: thread.id, node: thread.at, index, to: node.otherwise, charge });
  return events;
}

function end(program: Program, state: RunState, thread: Thread, node: EndNode): readonly EventBody[] {
  const error = thread.slots['error'] as ErrorRecord | null | undefined;
  const code = node.code === 'error' ? (error?.code ?? codeOfFailure('fatal', 1)) : node.code;
  const { output, visits: charge } = declaredOf(program, node);
  return finish(state, thread, {
    node: thread.at,
    state: node.state,
    code,
    output: output ?? program.record(node.output, thread.slots),
    charge,
  });
}

function guarded(
  program: Program,
  thread: Thread,
  node: Node,
  attempt: () => readonly EventBody[],
): readonly EventBody[] {
  try {
    return attempt();
  } catch (cause) {
    const error = expressionError(node, cause);
    // A failed visit is charged too. Otherwise a cycle that always fails would never end (L5).
    return [
      {
        type: 'expression.failed',
        thread: thread.id,
        node: thread.at,
        error,
        to: (node.op === 'let' ? node.fail : undefined) ?? program.flow.fail,
        charge: declaredOf(program, node).visits,
      },
    ];
  }
}
