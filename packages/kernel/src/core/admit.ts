/**
 * Admits facts and turns them into events of the journal (L1). A fact is admitted at most once: a call that has its result is no
 * longer pending, and an answered question no longer waits. Everything that is due by the time of a fact expires before it.
 */
import type { Json } from '../expr/json.ts';
import { samePerson } from '../ir/identity.ts';
import type { Choice } from '../ir/nodes.ts';
import { hasEffects } from '../ir/effect-classes.ts';
import { clockOf, stopsAtDeadline } from '../ir/meters.ts';
import { allowedPeople, countedOnly, recorded, refusalOf, together } from './approvers.ts';
import type { AnswerObjection } from './approvers.ts';
import { admitDrop, canDrop, isCall, lateResult, resume, resultEvent } from './drops.ts';
import { isForkDue, isOver, isPast } from './due.ts';
import { authorOf } from './failure.ts';
import { grant } from './grant.ts';
import { guide } from './guidance.ts';
import { isStopping, stopping } from './state.ts';
import { nodeAt } from './program.ts';
import type { Program } from './program.ts';
import { askOf } from './walk.ts';
import type { Answer, EventBody, Fact, Instant, Pending, Question, Refusal, RunState } from '../ir/events.ts';

export function admit(
  program: Program,
  state: RunState | null,
  fact: Fact,
  at: Instant,
): readonly EventBody[] | Refusal {
  if (fact.type === 'start') return start(program, state, fact, at);
  if (state === null) return { refused: 'run-not-found', message: 'there is no such run' };
  if (fact.type === 'grant') return grant(program, state, fact, at);
  if (state.outcome !== null)
    return { refused: 'run-ended', message: `run \`${state.run}\` has ended with ${state.outcome.code}` };
  return admitOpen(program, state, fact, at);
}

/** A fact about a run that has not ended. */
function admitOpen(
  program: Program,
  state: RunState,
  fact: Exclude<Fact, { type: 'start' | 'grant' }>,
  at: Instant,
): readonly EventBody[] | Refusal {
  switch (fact.type) {
    case 'settle':
      return admitResult(state, fact);
    case 'dropped':
      return admitDrop(state, fact);
    case 'resume':
      return resume(program, state, at);
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
      return stop(state, { by: fact.by, why: `moved to ${fact.to}`, movedTo: fact.to });
    case 'tick':
      return { refused: 'nothing-due', message: 'nothing is due yet' };
    case 'limit':
      return metLimit(state, fact);
    case 'break':
      return broken(program, state, fact.why);
    case 'guide':
      return guide(program, state, fact);
    case 'cancel':
      return stop(state, { by: fact.by, why: fact.why });
  }
}

function metLimit(state: RunState, { limit, used, max, ends }: Extract<Fact, { type: 'limit' }>): readonly EventBody[] {
  if (!ends) return [{ type: 'limit.met', limit, used, max }];
  const met: EventBody = { type: 'limit.met', limit, used, max, ends };
  if (isStopping(state)) return [met];
  const why = `the run has ${used} ${limit}, and a run may have ${max}`;
  return [met, ...halt(state, { state: 'failed', code: 'BUDGET_EXHAUSTED', by: 'limits', why })];
}

/** Nothing is decided on a state that is wrong, so nothing is undone: a person looks at what is left. */
function broken({ flow }: Program, { pending, threads }: RunState, why: string): readonly EventBody[] {
  const isLeft = [...threads.values()].some(({ undo }) => undo.length > 0);
  const isOpen = [...pending.values()].some(({ kind, name }) => kind === 'tool' && hasEffects(flow, name));
  const code = isLeft || isOpen ? 'REVIEW_REQUIRED' : 'UNAVAILABLE_DEP';
  const { label } = flow.nodes[threads.get('0')?.at ?? flow.entry] ?? {};
  const message = `the state of the run is inconsistent: ${why}`;
  const error = { class: 'fatal', type: 'InvariantError', message, node: label?.name ?? flow.id, code } as const;
  return [
    { type: 'run.broken', error },
    { type: 'run.ended', state: 'failed', code, output: { value: null } },
  ];
}

function forked({ now }: RunState, fact: Extract<Fact, { type: 'fork' }>, at: Instant): EventBody {
  const { by, edits, agents, moved } = fact;
  const fields = { type: 'run.forked', by, edits, ...(agents === undefined ? {} : { agents }) } as const;
  // A moved run keeps its waiting time, so its questions do not get more time.
  return moved === true ? { ...fields, idleMs: 0, moved } : { ...fields, idleMs: at - now };
}

function stop(state: RunState, how: Pick<Halted, 'by' | 'why' | 'movedTo'>): readonly EventBody[] | Refusal {
  // Nobody will say if a call happened, so the run ends REVIEW_REQUIRED.
  const unclear = isStopping(state) ? openSearches(state) : [];
  if (unclear.length > 0) return unclear.map((pending) => unanswered(pending, how.by));
  if (isStopping(state)) return stopping(state);
  return halt(state, { state: 'cancelled', code: 'USER_CANCEL', ...how });
}

/** Questions about calls that may have happened, before an undo. */
function openSearches({ pending }: RunState): readonly Pending[] {
  return [...pending.values()].filter(
    ({ settles, question, observed }) => settles !== undefined && question !== null && observed === null,
  );
}

function unanswered(pending: Pending, by: string): EventBody {
  const choice = pending.question?.onExpiry ?? '';
  return resultEvent(pending, { ok: true, value: { choice, by, expired: true } });
}

/** The notes of protections come before the result of a call. */
function admitResult(
  state: RunState,
  { key, attempt, result, notes = [] }: Extract<Fact, { type: 'settle' }>,
): readonly EventBody[] | Refusal {
  const pending = state.pending.get(key);
  const isExpected = pending !== undefined && isCall(pending) && pending.dropped === undefined;
  if (!isExpected || pending.observed !== null || pending.attempt !== attempt)
    return { refused: 'not-pending', message: `nothing is pending under ${key}, attempt ${attempt}` };
  return [...notes.map((note) => ({ ...note, key })), resultEvent(pending, result)];
}

/** Expires calls, questions and runs whose deadline has passed at `at`. Looks only if the earliest deadline has passed. */
export function expire({ flow }: Program, state: RunState, at: Instant): readonly EventBody[] {
  if (state.wake === null || at < state.wake || state.outcome !== null) return NOTHING;
  const mayStop = !isStopping(state);
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

/** A call or a question that expires, or a question that the second level may answer now. */
function dueOf(pending: Pending, at: Instant): readonly EventBody[] {
  const { key, observed, deadline, question, escalateAt, dropped } = pending;
  if (observed !== null || dropped !== undefined) return NOTHING;
  if (deadline !== null && at >= deadline) return [expired(pending, at)];
  if (escalateAt === undefined || at < escalateAt) return NOTHING;
  return [{ type: 'question.escalated', key, to: allowedPeople({ question, escalated: true }) }];
}

export function outOfTime(state: RunState): readonly EventBody[] {
  return halt(state, { state: 'failed', code: 'TIMEOUT', by: 'clock', why: 'the run had no time left' });
}

export function earliest(state: RunState, after: Instant): Instant | null {
  let wake: Instant | null = null;
  const consider = (deadline: Instant | null): void => {
    if (deadline !== null && deadline > after && (wake === null || deadline < wake)) wake = deadline;
  };
  // A run that is stopping already is not stopped by the end of its time: a wake-up for it would repeat for ever.
  if (!isStopping(state)) {
    if (state.late !== true && state.waitsSince === undefined) consider(state.deadline);
    consider(state.origin.deadline ?? null);
  }
  for (const { observed, deadline, escalateAt = null, dropped } of state.pending.values())
    if (observed === null && dropped === undefined) {
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
    return { refused: 'approval-closed', message: `no open question has the id \`${id}\`` };
  const refusal = refusalOf(program, state, pending, given) ?? unfitAnswer(program, state, pending, given);
  if (refusal !== null) return recorded(pending, given, refusal);
  const counted = countedOnly(pending, given);
  if (counted !== null) return [counted];
  const { payload: _payload, unproven: _unproven, ...answered } = given;
  const value = { ...answered, ...together(pending, given) } as unknown as Json;
  return [resultEvent(pending, { ok: true, value })];
}

/** The objection to an answer of a person who may answer; null if it fits the question. */
function unfitAnswer(program: Program, state: RunState, pending: Pending, given: Answer): AnswerObjection | null {
  const { id, choices, payload, askedBy } = pending.question as Question;
  const { choice, by } = given;
  if (!choices.includes(choice))
    return { refused: 'not-a-choice', message: `\`${choice}\` is not a choice of \`${id}\`: ${choices.join(', ')}` };
  if (given.payload !== undefined && given.payload !== payload)
    return { refused: 'stale-payload', message: `the question \`${id}\` has changed since this answer was given` };
  if (samePerson(by, askedBy))
    return { refused: 'self-approval', message: `\`${by}\` asked \`${id}\` and may not answer it` };
  // The data comes last: a refusal for another reason is recorded without it, and a replay must find the same reason.
  const unfit = unfitData(program, state, pending, given);
  return unfit === null ? null : { refused: 'bad-answer', message: `\`${choice}\` of \`${id}\` ${unfit}` };
}

/** The problem with the data or text of an answer. Null if both fit the choice. */
function unfitData(program: Program, state: RunState, pending: Pending, { choice, edit, text }: Answer): string | null {
  const chosen = askOf(program, state, pending)?.choices.find(({ name }) => name === choice);
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
    return { refused: 'signal-not-awaited', message: `run \`${state.run}\` does not wait for \`${name}\`: ${instead}` };
  }
  return [resultEvent(found, { ok: true, value: { data, by } })];
}

function expired(pending: Pending, at: Instant): EventBody {
  const { key, question, until } = pending;
  if (until !== undefined && at >= until) return resultEvent(pending, { ok: true, value: { data: null, by: 'clock' } });
  if (question !== null)
    return resultEvent(pending, { ok: true, value: { choice: question.onExpiry, by: 'clock', expired: true } });
  // A wait for a signal is no call. Of a call, only the host knows if it was sent.
  return isCall(pending) ? { type: 'effect.dropped', key, why: 'late' } : resultEvent(pending, lateResult(pending));
}

type Halted = Extract<EventBody, { type: 'run.halted' }>;

function halt(state: RunState, how: Omit<Halted, 'type'>): readonly EventBody[] {
  const events: EventBody[] = [];
  for (const pending of state.pending.values())
    if (canDrop(pending)) events.push({ type: 'effect.dropped', key: pending.key, why: 'halt' });
  events.push({ type: 'run.halted', ...how });
  return events;
}
