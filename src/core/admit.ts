/**
 * Admits facts and turns them into events of the journal (L1). A fact is admitted at most once: a settled call is no longer
 * pending, and an answered question no longer waits. Everything that is due by the time of a fact expires before it.
 */
import type { Json } from '../expr/json.ts';
import type { AskEffect, Choice, DoNode } from '../ir/nodes.ts';
import { clockOf, stopsAtDeadline } from '../ir/meters.ts';
import { allowedPeople, countedOnly, recorded, refusalOf, together } from './approvers.ts';
import type { AnswerObjection } from './approvers.ts';
import { authorOf } from './failure.ts';
import { nodeAt } from './program.ts';
import type { Program } from './program.ts';
import type {
  Answer,
  EventBody,
  Fact,
  ForkState,
  Instant,
  Pending,
  Question,
  Refusal,
  RunState,
} from '../ir/events.ts';

export function admit(
  program: Program,
  state: RunState | null,
  fact: Fact,
  at: Instant,
): readonly EventBody[] | Refusal {
  if (fact.type === 'start') return start(program, state, fact, at);
  if (state === null) return { refused: 'run-not-found', message: 'there is no such run' };
  if (state.outcome !== null)
    return { refused: 'run-ended', message: `run ${state.run} has ended ${state.outcome.code}` };
  switch (fact.type) {
    case 'settle':
      return settleCall(state, fact);
    case 'answer':
      return answer(program, state, fact.id, fact.answer);
    case 'signal':
      return signal(program, state, fact);
    case 'note':
      return [fact.note];
    case 'repin':
      return [{ type: 'run.repinned', by: fact.by, modules: fact.modules }];
    case 'fork':
      return [forked(state, fact, at)];
    case 'move':
      return move(state, fact);
    case 'tick':
      return { refused: 'nothing-due', message: 'nothing is due yet' };
    case 'cancel': {
      if (state.threads.get('0')?.doing.is === 'unwinding')
        return { refused: 'run-ended', message: `run ${state.run} is already stopping` };
      return halt(state, { state: 'cancelled', code: 'USER_CANCEL', by: fact.by, why: fact.why });
    }
  }
}

function forked({ now }: RunState, fact: Extract<Fact, { type: 'fork' }>, at: Instant): EventBody {
  const { by, edits, agents, moved } = fact;
  const fields = { type: 'run.forked', by, edits, ...(agents === undefined ? {} : { agents }) } as const;
  // A run that moved has waited like any other, so that its questions do not get more time.
  return moved === true ? { ...fields, idleMs: 0, moved } : { ...fields, idleMs: at - now };
}

function move(state: RunState, { by, to }: Extract<Fact, { type: 'move' }>): readonly EventBody[] | Refusal {
  if (state.threads.get('0')?.doing.is === 'unwinding')
    return { refused: 'run-ended', message: `run ${state.run} is already stopping` };
  return halt(state, { state: 'cancelled', code: 'USER_CANCEL', by, why: `moved to ${to}`, movedTo: to });
}

function settleCall(state: RunState, fact: Extract<Fact, { type: 'settle' }>): readonly EventBody[] | Refusal {
  const { key, attempt } = fact;
  const pending = state.pending.get(key);
  const isCall = pending !== undefined && pending.kind !== 'ask' && pending.kind !== 'wait';
  if (!isCall || pending.observed !== null || pending.attempt !== attempt)
    return { refused: 'not-pending', message: `nothing is pending under ${key}, attempt ${attempt}` };
  return settled(fact);
}

/** The notes of protections come before the result of a call. */
function settled({ key, attempt, result, notes }: Extract<Fact, { type: 'settle' }>): readonly EventBody[] {
  const event = { type: 'effect.settled', key, attempt, result } as const;
  return notes === undefined ? [event] : [...notes.map((note) => ({ ...note, key })), event];
}

/** Expires calls, questions and runs whose deadline has passed at `at`. Looks only if the earliest deadline has passed. */
export function expire({ flow }: Program, state: RunState, at: Instant): readonly EventBody[] {
  if (state.wake === null || at < state.wake || state.outcome !== null) return NOTHING;
  const mayStop = state.threads.get('0')?.doing.is !== 'unwinding';
  const over = mayStop && isOver(state, at);
  if ((over && stopsAtDeadline(flow)) || (mayStop && isPast(state, at))) return outOfTime(state);
  const events: EventBody[] = [];
  for (const pending of state.pending.values()) events.push(...dueOf(pending, at));
  const forkDue = [...state.threads.values()].some(({ doing }) => doing.is === 'forked' && isForkDue(doing.fork, at));
  if (forkDue || (over && state.late !== true)) events.unshift({ type: 'clock.read' });
  state.wake = earliest(state, at);
  return events;
}

const NOTHING: readonly EventBody[] = [];

function isDue({ observed, deadline }: Pending, at: Instant): boolean {
  return observed === null && deadline !== null && at >= deadline;
}

function dueOf(pending: Pending, at: Instant): readonly EventBody[] {
  if (isDue(pending, at)) return [expired(pending, at)];
  return isSecondLevelDue(pending, at) ? [escalated(pending)] : NOTHING;
}

function isSecondLevelDue({ observed, escalateAt }: Pending, at: Instant): boolean {
  return observed === null && escalateAt !== undefined && at >= escalateAt;
}

function escalated({ key, question }: Pending): EventBody {
  return { type: 'question.escalated', key, to: allowedPeople({ question, escalated: true }) };
}

/** True if the run has used up its own time. It stands still while the run only waits for people. */
export function isOver({ deadline, waitsSince, now }: RunState, at: Instant = now): boolean {
  return deadline !== null && (waitsSince ?? at) >= deadline;
}

/** True if the deadline that the caller set has passed. It never moves. */
export function isPast({ origin, now }: RunState, at: Instant = now): boolean {
  return origin.deadline !== undefined && at >= origin.deadline;
}

export function isForkDue({ deadline, waitsSince }: ForkState, at: Instant): boolean {
  return deadline !== null && waitsSince === undefined && at >= deadline;
}

export function outOfTime(state: RunState): readonly EventBody[] {
  return halt(state, { state: 'failed', code: 'TIMEOUT', by: 'clock', why: 'the run had no time left' });
}

export function earliest(state: RunState, after: Instant): Instant | null {
  let wake: Instant | null = null;
  const consider = (deadline: Instant | null): void => {
    if (deadline !== null && deadline > after && (wake === null || deadline < wake)) wake = deadline;
  };
  if (state.late !== true && state.waitsSince === undefined) consider(state.deadline);
  consider(state.origin.deadline ?? null);
  for (const { observed, deadline, escalateAt = null } of state.pending.values())
    if (observed === null) {
      consider(deadline);
      consider(escalateAt);
    }
  for (const { doing } of state.threads.values())
    if (doing.is === 'forked' && doing.fork.waitsSince === undefined) consider(doing.fork.deadline);
  return wake;
}

function start(
  program: Program,
  state: RunState | null,
  fact: Extract<Fact, { type: 'start' }>,
  at: Instant,
): readonly EventBody[] | Refusal {
  if (state !== null) return { refused: 'run-exists', message: `run ${fact.run} exists` };
  const { run, flow, input, seed, origin } = fact;
  const timeMs = clockOf(program.flow)?.max ?? null;
  const deadline = timeMs === null ? null : at + timeMs;
  return [{ type: 'run.started', run, flow, entry: program.flow.entry, input, seed, origin, deadline }];
}

function answer(program: Program, state: RunState, id: string, given: Answer): readonly EventBody[] | Refusal {
  const pending = [...state.pending.values()].find((each) => each.question?.id === id);
  const question = pending?.question;
  if (pending === undefined || question === undefined || question === null || pending.observed !== null)
    return { refused: 'approval-closed', message: `nothing waits for an answer under ${id}` };
  const refusal = refusalOf(program.flow, state, pending, given) ?? unfitAnswer(program, pending, question, given);
  if (refusal !== null) return recorded(pending, given, refusal);
  const counted = countedOnly(pending, given);
  if (counted !== null) return [counted];
  const { payload: _payload, unproven: _unproven, ...answered } = given;
  const value = { ...answered, ...together(pending, given) } as unknown as Json;
  return [{ type: 'effect.settled', key: pending.key, attempt: pending.attempt, result: { ok: true, value } }];
}

/** The objection to an answer of a person who may answer; null if it fits the question. */
function unfitAnswer(program: Program, pending: Pending, question: Question, given: Answer): AnswerObjection | null {
  const { id, choices, payload, askedBy } = question;
  const { choice, by } = given;
  if (!choices.includes(choice))
    return { refused: 'not-a-choice', message: `\`${choice}\` is not a choice of ${id}: ${choices.join(', ')}` };
  if (given.payload !== undefined && given.payload !== payload)
    return { refused: 'stale-payload', message: `what ${id} asks about has changed since this answer was given` };
  if (by === askedBy) return { refused: 'self-approval', message: `${by} asked ${id} and may not answer it` };
  // The data comes last: a refusal for another reason is recorded without it, and a replay must find the same reason.
  const unfit = unfitData(program, pending, given);
  return unfit === null ? null : { refused: 'bad-answer', message: `\`${choice}\` of ${id} ${unfit}` };
}

/** The problem with the data or text of an answer. Null if both fit the choice. */
function unfitData(program: Program, { node }: Pending, { choice, edit, text }: Answer): string | null {
  const effect = (nodeAt(program, node) as DoNode).effect as AskEffect;
  const chosen = effect.choices.find(({ name }) => name === choice);
  const missing = missingIn(chosen?.needs, edit !== undefined, text !== undefined && text.trim() !== '');
  if (missing !== null || edit === undefined) return missing;
  if (chosen?.edit === undefined) return 'takes no data (`edit`)';
  const problem = program.pure.validate(chosen.edit, edit);
  return problem === null ? null : `does not take this data: ${problem}`;
}

function missingIn(needs: Choice['needs'], hasEdit: boolean, hasText: boolean): string | null {
  if (needs === 'edit' && !hasEdit) return 'needs data (`edit`)';
  if (needs === 'text' && !hasText) return 'needs text';
  return needs === 'either' && !hasText && !hasEdit ? 'needs text or data (`edit`)' : null;
}

/** The oldest wait for the signal takes it: by the name of the signal, or by the node, with or without the outer nodes. */
function signal(
  program: Program,
  state: RunState,
  { name, data, by, key }: Extract<Fact, { type: 'signal' }>,
): readonly EventBody[] | Refusal {
  const waits = [...state.pending.values()].filter((each) => each.signal !== undefined && each.observed === null);
  const nodeOf = (pending: Pending): string => authorOf(nodeAt(program, pending.node));
  const found =
    key === undefined
      ? (waits.find((each) => each.signal === name) ??
        waits.find((each) => nodeOf(each) === name || nodeOf(each).endsWith(`/${name}`)))
      : waits.find((each) => each.key === key);
  if (found === undefined) {
    const others = waits.map((each) => `\`${each.signal ?? ''}\``).join(', ');
    const instead = others === '' ? 'it waits for no signal now' : `it waits for ${others}`;
    return { refused: 'signal-not-awaited', message: `run ${state.run} does not wait for \`${name}\`: ${instead}` };
  }
  return [
    { type: 'effect.settled', key: found.key, attempt: found.attempt, result: { ok: true, value: { data, by } } },
  ];
}

function expired(pending: Pending, at: Instant): EventBody {
  const { key, attempt, question, name, until } = pending;
  if (until !== undefined && at >= until)
    return { type: 'effect.settled', key, attempt, result: { ok: true, value: { data: null, by: 'clock' } } };
  if (question !== null)
    return {
      type: 'effect.settled',
      key,
      attempt,
      result: { ok: true, value: { choice: question.onExpiry, by: 'clock', expired: true } },
    };
  const error = { class: 'timeout' as const, type: 'TimeoutError', message: `\`${name}\` did not answer in time` };
  return { type: 'effect.settled', key, attempt, result: { ok: false, error } };
}

function halt(state: RunState, how: Omit<Extract<EventBody, { type: 'run.halted' }>, 'type'>): readonly EventBody[] {
  const events: EventBody[] = [];
  for (const { key, undoes } of state.pending.values())
    if (undoes === null) events.push({ type: 'effect.dropped', key, why: 'halt' });
  events.push({ type: 'run.halted', ...how });
  return events;
}
