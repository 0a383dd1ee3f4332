/** One turn: admits facts, then decides until there are no more events. The caller commits the result. */
import { admit, expire } from './admit.ts';
import { decide } from './decide.ts';
import { evolve } from './evolve.ts';
import type { Program } from './program.ts';
import { TURN_EVENTS } from '../ir/limits.ts';
import type { EffectKey, Event, EventBody, Fact, Instant, Refusal, RunState } from '../ir/events.ts';

export interface Turn {
  readonly state: RunState | null;
  readonly events: readonly Event[];
  /** The reasons why facts were not admitted, by position. */
  readonly refusals: ReadonlyMap<number, Refusal>;
}

export function settle(program: Program, before: RunState | null, facts: readonly Fact[], at: Instant): Turn {
  // If the clock was set back, the times of events must not go back.
  const now = before === null ? at : Math.max(at, before.now);
  const events: Event[] = [];
  let refusals: Map<number, Refusal> | null = null;
  let state = before;
  for (let index = 0; index < facts.length; index++) {
    const fact = facts[index] as Fact;
    // The time before a fork does not count for it, so nothing is due before the fork starts. A broken run decides nothing.
    // A process that takes a run over gives its open calls their full time first.
    if (state !== null && !UNTIMED.has(fact.type)) {
      const due = expire(program, state, now);
      if (due.length > 0) {
        state = advance(program, take(program, state, due, now, events), now, events);
        if (fact.type === 'tick') continue;
      }
    }
    const admitted = admit(program, state, fact, now);
    if ('refused' in admitted) {
      (refusals ??= new Map()).set(index, admitted);
      if (admitted.events !== undefined) state = take(program, state, admitted.events, now, events);
    } else state = take(program, state, admitted, now, events);
  }
  if (state !== null) state = advance(program, state, now, events);
  return { state, events, refusals: refusals ?? NONE };
}

const UNTIMED: ReadonlySet<Fact['type']> = new Set(['fork', 'resume', 'break']);
const NONE: ReadonlyMap<number, Refusal> = new Map();

function advance(program: Program, before: RunState, now: Instant, events: Event[]): RunState {
  let state = before;
  while (events.length < TURN_EVENTS) {
    const moved = decide(program, state);
    if (moved.length === 0) break;
    state = take(program, state, moved, now, events);
  }
  return state;
}

/** Folds the events. A call that is requested and dropped in one turn was never sent, because no host has seen it. */
function take(
  program: Program,
  before: RunState | null,
  bodies: readonly EventBody[],
  at: Instant,
  events: Event[],
): RunState {
  let state = fold(before, bodies, at, events);
  for (const body of bodies) {
    if (body.type !== 'effect.dropped' || !isNew(body.key, events)) continue;
    const answered = admit(program, state, { type: 'dropped', key: body.key, sent: 'no' }, at);
    if (!('refused' in answered)) state = fold(state, answered, at, events);
  }
  return state;
}

function isNew(key: EffectKey, events: readonly Event[]): boolean {
  return events.some(
    (event) =>
      (event.type === 'effect.requested' && event.key === key) ||
      (event.type === 'effect.judged' && event.key === key && event.verdict === 'retry'),
  );
}

/** Numbers the events, folds them, and keeps them for the journal. */
function fold(before: RunState | null, bodies: readonly EventBody[], at: Instant, events: Event[]): RunState {
  let state = before;
  for (const body of bodies) {
    // Nothing else refers to the bodies, so they become the events without a copy.
    const event = body as Mutable<Event>;
    event.seq = (state?.seq ?? 0) + 1;
    event.at = at;
    state = evolve(state, event);
    events.push(event);
  }
  return state as RunState;
}

type Mutable<T> = { -readonly [K in keyof T]: T[K] };
