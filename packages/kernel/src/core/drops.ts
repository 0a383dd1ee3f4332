/**
 * Calls that the run no longer waits for, and calls that were in flight at a crash. Only the host knows if a call was sent. So a call
 * is dropped in two steps: the host is asked to abort it, and what follows is decided after its answer (L7).
 */
import { RECALLS_MAX } from '../ir/protections.ts';
import type { DoNode } from '../ir/nodes.ts';
import { hasEffects } from '../ir/effect-classes.ts';
import type { EventBody, Fact, Failure, Instant, Pending, Refusal, RunState, Sent, Settled } from '../ir/events.ts';
import { limitOf, meterAt } from './meters.ts';
import { nodeAt } from './program.ts';
import type { Program } from './program.ts';
import { threadOf } from './state.ts';
import { deadlineFrom, sooner, timeUsed } from './timing.ts';

/** True for a call that a performer makes, and not a question, a signal or a timer. */
export function isCall({ kind }: Pick<Pending, 'kind'>): boolean {
  return kind !== 'ask' && kind !== 'wait';
}

/** True if a join or the end of the run drops it. An undo, and the search for its reason, goes on. */
export function canDrop({ undoes, settles, dropped }: Pending): boolean {
  return undoes === null && settles === undefined && (dropped === undefined || dropped === 'late');
}

/** True while the host has not answered a drop: the answer may return what was reserved. */
export function awaitsDrops({ pending }: RunState): boolean {
  for (const { dropped } of pending.values()) if (dropped !== undefined) return true;
  return false;
}

export function resultEvent({ key, attempt }: Pending, result: Settled): EventBody {
  return { type: 'effect.settled', key, attempt, result };
}

export function admitDrop(
  { pending: all }: RunState,
  { key, sent }: Extract<Fact, { type: 'dropped' }>,
): readonly EventBody[] | Refusal {
  const pending = all.get(key);
  if (pending?.dropped === undefined) return { refused: 'not-pending', message: `no drop is open under ${key}` };
  const answered: EventBody = { type: 'drop.answered', key, sent };
  return pending.dropped === 'late' ? [answered, resultEvent(pending, lateResult(pending, sent))] : [answered];
}

export function lateResult({ name }: Pending, sent: Sent = 'yes'): Settled {
  if (sent === 'no')
    return failure({ type: 'DeadlineError', message: `\`${name}\` was not called: its time was over before`, sent });
  const late = { type: 'TimeoutError', message: `\`${name}\` did not answer in time` };
  return failure(sent === 'unknown' ? { ...late, sent } : late);
}

function failure(error: Omit<Failure, 'class'>): Settled {
  return { ok: false, error: { class: 'timeout', ...error } };
}

/**
 * The calls that were in flight when the process stopped are made again with their full time. A call without a key of its own, and one
 * that was in flight at too many crashes, is not: its outcome is unknown.
 */
export function resume(program: Program, state: RunState, at: Instant): readonly EventBody[] | Refusal {
  const calls: { readonly key: string; readonly deadline: Instant | null }[] = [];
  const lost: EventBody[] = [];
  let open = 0;
  for (const pending of state.pending.values()) {
    if (!isCall(pending) || pending.observed !== null || pending.dropped !== undefined) continue;
    open += 1;
    // It was not due yet, so it was not sent.
    if (pending.notBefore > at) continue;
    if ((pending.resumed ?? 0) >= recallsOf(program, pending))
      lost.push(resultEvent(pending, lostResult(program, pending)));
    else calls.push({ key: pending.key, deadline: fullTime(program, state, pending, at) });
  }
  if (open === 0) return { refused: 'nothing-due', message: 'no call was in flight' };
  return [{ type: 'run.resumed', idleMs: Math.max(0, at - state.now), calls }, ...lost];
}

/** How often the call may be made again after crashes. */
export function recallsOf(program: Program, { node, undoes, settles, control }: Pending): number {
  const { undo, recalls } = nodeAt(program, node) as DoNode;
  // A check of the call changes nothing.
  if (control !== undefined) return RECALLS_MAX;
  const own = undoes === null && settles === undefined ? recalls : undo?.recalls;
  return own ?? RECALLS_MAX;
}

function lostResult({ flow }: Program, { kind, name, undoes }: Pending): Settled {
  const message = `\`${name}\` was in flight when the process stopped`;
  const isChange = kind === 'tool' && undoes === null && hasEffects(flow, name);
  return failure({ type: isChange ? 'UnknownOutcome' : 'TimeoutError', message, sent: 'unknown' });
}

/** The deadline of a call that begins again now. The time of the run and of the caller goes on while nobody works. */
function fullTime(program: Program, state: RunState, pending: Pending, at: Instant): Instant | null {
  const { undoes, settles, control, node, thread, timed = [] } = pending;
  if (undoes !== null) {
    const entry = threadOf(state, thread).undo.find(({ key }) => key === undoes);
    return at + (entry?.timeoutMs ?? 0);
  }
  const { timeoutMs, undo } = nodeAt(program, node) as DoNode;
  if (settles !== undefined) return deadlineAfter(at, pending.key === settles ? timeoutMs : lookupTime(undo));
  const left = timed.map((id) => limitOf(state, id, meterAt(program, id)) - timeUsed(state, id));
  const own = deadlineFrom(state, at, control === undefined ? timeoutMs : null);
  return left.length === 0 ? own : sooner(own, at + Math.max(0, Math.min(...left)));
}

function lookupTime(undo: DoNode['undo']): number | null {
  const { unclear } = undo ?? {};
  return unclear !== undefined && 'lookup' in unclear ? unclear.lookup.timeoutMs : null;
}

export function deadlineAfter(at: Instant, timeoutMs: number | null): Instant | null {
  return timeoutMs === null ? null : at + timeoutMs;
}
