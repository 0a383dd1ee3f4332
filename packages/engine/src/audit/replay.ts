/**
 * Replay (L2): decides every transition again without any call. Facts (results, answers, the start) are taken from the
 * journal; every other event must come out the same.
 */
import { sortedText } from '@sluice-internal/kernel/expr';
import { TURN_EVENTS } from '@sluice-internal/kernel/ir';
import type { Json } from '@sluice-internal/kernel/expr';
import { admit, decide, evolve, expire } from '@sluice-internal/kernel/core';
import type { Program } from '@sluice-internal/kernel/core';
import type {
  EffectKey,
  Event,
  EventBody,
  Fact,
  Instant,
  ProtectionNote,
  ReviewNote,
  RunState,
} from '@sluice-internal/kernel/ir';

export interface Difference {
  readonly seq: number;
  /** The event in the journal; null after its end. */
  readonly journal: EventBody | null;
  /** The event of the replay; null if it gives none. */
  readonly replay: EventBody | null;
}

export interface Redecided {
  readonly state: RunState | null;
  readonly difference: Difference | null;
  /** The numbers of events after which no effect and no decision is half done. */
  readonly stops: readonly number[];
}

/** Checks one transition against the state before it, and advances the state over it. */
export function redecide(program: Program, before: RunState | null, events: readonly Event[]): Redecided {
  const first = events[0];
  if (first === undefined) return { state: before, difference: null, stops: [] };
  const walk = new Walk(program, before, events, first.at);
  walk.go();
  return { state: walk.state, difference: walk.difference, stops: walk.stops };
}

/** Folds one transition. A copied transition may be decided differently under its new graph; then only its end is a stop. */
export function retrace(
  program: Program,
  before: RunState | null,
  events: readonly Event[],
): Omit<Redecided, 'difference'> {
  const { state: reached, stops } = redecide(program, before, events);
  let state = reached;
  const rest = events.filter(({ seq }) => seq > (state?.seq ?? 0));
  for (const event of rest) state = evolve(state, event);
  const isComplete = state !== null && rest.length > 0 && isSettled(state);
  return { state, stops: isComplete && state !== null ? [...stops, state.seq] : stops };
}

/** Compares events one by one. `others` stands for the replay. */
export function firstDifference(events: readonly Event[], others: readonly Event[]): Difference | null {
  const count = Math.max(events.length, others.length);
  for (let index = 0; index < count; index++) {
    const [event, other] = [events[index], others[index]];
    if (event !== undefined && other !== undefined && event.at === other.at && sameBody(event, bodyOf(other))) continue;
    return {
      seq: index + 1,
      journal: event === undefined ? null : bodyOf(event),
      replay: other === undefined ? null : bodyOf(other),
    };
  }
  return null;
}

const REQUESTS: ReadonlySet<string> = new Set(['effect.requested', 'effect.judged']);

class Walk {
  readonly #program: Program;
  readonly #events: readonly Event[];
  readonly #at: Instant;
  #index = 0;
  readonly stops: number[] = [];
  state: RunState | null;
  difference: Difference | null = null;

  constructor(program: Program, state: RunState | null, events: readonly Event[], at: Instant) {
    this.#program = program;
    this.#events = events;
    this.#at = at;
    this.state = state;
  }

  go(): void {
    const [first] = this.#events;
    if (!UNTIMED.has(first?.type)) this.#expire(true);
    for (let fact = this.#nextFact(); fact !== null && this.difference === null; fact = this.#nextFact()) {
      const admitted = admit(this.#program, this.state, fact, this.#at);
      if (!('refused' in admitted)) this.#expect(admitted);
      else if (admitted.events === undefined) this.#differ(null);
      else this.#expect(admitted.events);
      this.#expire(false);
    }
    this.#decide();
    if (this.difference === null && this.#index < this.#events.length) this.#differ(null);
  }

  /** Everything that is due expires before a fact. After the last fact of a turn, nothing expires. */
  #expire(isFirst: boolean): void {
    const { state } = this;
    if (state === null || this.difference !== null) return;
    const { wake } = state;
    const [due, ...others] = expire(this.#program, state, this.#at);
    if (due === undefined) return;
    const next = this.#events[this.#index];
    if (isFirst || this.#nextFact() !== null || (next !== undefined && sameBody(next, due))) {
      this.#expect([due, ...others]);
      this.#decide();
    } else state.wake = wake;
  }

  #decide(): void {
    while (this.difference === null && this.state !== null && this.#index < TURN_EVENTS) {
      const moved = decide(this.#program, this.state);
      if (moved.length === 0) return;
      this.#expect(moved);
    }
  }

  #expect(bodies: readonly EventBody[]): void {
    for (const body of bodies) {
      if (this.difference !== null) return;
      const event = this.#events[this.#index];
      if (event === undefined || !sameBody(event, body)) return this.#differ(body);
      this.state = evolve(this.state, event);
      this.#index += 1;
    }
    for (const body of bodies) if (body.type === 'effect.dropped') this.#answerNew(body.key);
    if (this.state !== null && isSettled(this.state)) this.stops.push(this.state.seq);
  }

  /** A call that was requested in this transition was not sent. */
  #answerNew(key: EffectKey): void {
    const answered = this.#events[this.#index];
    if (this.difference !== null || answered?.type !== 'drop.answered' || answered.key !== key) return;
    const isNew = this.#events.some((event) => REQUESTS.has(event.type) && 'key' in event && event.key === key);
    if (!isNew || answered.sent !== 'no') return;
    const admitted = admit(this.#program, this.state, { type: 'dropped', key, sent: 'no' }, this.#at);
    if (!('refused' in admitted)) this.#expect(admitted);
  }

  #differ(replay: EventBody | null): void {
    const event = this.#events[this.#index];
    this.difference = {
      seq: event?.seq ?? (this.state?.seq ?? 0) + 1,
      journal: event === undefined ? null : bodyOf(event),
      replay,
    };
  }

  /** The fact that the next event records, or null. */
  #nextFact(): Fact | null {
    const event = this.#events[this.#index];
    switch (event?.type) {
      case 'run.started':
        return {
          type: 'start',
          run: event.run,
          flow: event.flow,
          input: event.input,
          seed: event.seed,
          origin: event.origin,
        };
      case 'breaker.changed':
      case 'breaker.denied':
      case 'retry.denied':
        return this.#noted();
      case 'effect.settled':
        return this.#settled(event);
      case 'drop.answered':
        return { type: 'dropped', key: event.key, sent: event.sent };
      case 'run.resumed':
        return RESUME;
      case 'answer.counted':
      case 'answer.refused':
        return this.#answered(event);
      case 'effect.dropped':
      case 'run.halted':
        return this.#cancelled();
      default:
        return noteIn(event) ?? (event === undefined ? null : this.#operated(event));
    }
  }

  #answered({ key, answer }: Extract<Event, { type: 'answer.counted' | 'answer.refused' }>): Fact {
    return { type: 'answer', id: this.state?.pending.get(key)?.question?.id ?? '', answer };
  }

  /** The act of an operator that an event records, or null. */
  #operated(event: Event): Fact | null {
    if (event.type === 'budget.granted') return this.#granted(event.by);
    if (event.type === 'run.forked') return forkOf(event);
    if (event.type === 'limit.met') return limitOf(event);
    if (event.type === 'run.broken') return brokenBy(event);
    if (event.type === 'guidance.given') return guidanceOf(event);
    return event.type === 'run.repinned' ? { type: 'repin', by: event.by, modules: event.modules } : null;
  }

  /** The grants of one command are stored together. */
  #granted(by: string): Fact {
    const rest = this.#events.slice(this.#index);
    const end = rest.findIndex(({ type }) => type !== 'budget.granted');
    const grants = (end < 0 ? rest : rest.slice(0, end)).flatMap((event) =>
      event.type === 'budget.granted' ? [{ dimension: event.dimension, amount: event.amount }] : [],
    );
    return { type: 'grant', by, grants };
  }

  #cancelled(): Fact | null {
    const halted = this.#events.slice(this.#index).find(({ type }) => type !== 'effect.dropped');
    if (halted?.type !== 'run.halted' || halted.code !== 'USER_CANCEL') return null;
    const { by, why, movedTo } = halted;
    return movedTo === undefined ? { type: 'cancel', by, why } : { type: 'move', by, to: movedTo };
  }

  /** Notes of a protection come before the result of their call. */
  #noted(): Fact | null {
    const rest = this.#events.slice(this.#index);
    const settled = rest.find((event) => event.type === 'effect.settled');
    if (settled?.type !== 'effect.settled') return null;
    const notes = rest.slice(0, rest.indexOf(settled)).map((event) => {
      const { key: _, ...note } = bodyOf(event) as ProtectionNote & { readonly key: string };
      return note;
    });
    return { type: 'settle', key: settled.key, attempt: settled.attempt, result: settled.result, notes };
  }

  #settled(event: Extract<Event, { type: 'effect.settled' }>): Fact {
    const pending = this.state?.pending.get(event.key);
    const question = pending?.question;
    if (pending?.signal !== undefined && event.result.ok) {
      const { data, by } = event.result.value as { readonly data: Json; readonly by: string };
      return { type: 'signal', name: pending.signal, data, by, key: event.key };
    }
    if (question === null || question === undefined || !event.result.ok)
      return { type: 'settle', key: event.key, attempt: event.attempt, result: event.result };
    const { by, expired } = event.result.value as { readonly by: string; readonly expired?: boolean };
    // A second cancellation ended the wait.
    if (pending?.settles !== undefined && expired === true) return { type: 'cancel', by, why: '' };
    return { type: 'answer', id: question.id, answer: event.result.value as never };
  }
}

const UNTIMED: ReadonlySet<Event['type'] | undefined> = new Set(['run.forked', 'run.resumed', 'run.broken']);
const RESUME: Fact = { type: 'resume' };

function noteIn(event: Event | undefined): Fact | null {
  const isNote = event?.type === 'question.notified' || event?.type === 'review.saturated';
  return isNote ? { type: 'note', note: bodyOf(event) as ReviewNote } : null;
}

function forkOf({ by, edits, agents, moved }: Extract<Event, { type: 'run.forked' }>): Fact {
  const changed = agents === undefined ? {} : { agents };
  return { type: 'fork', by, edits, ...changed, ...(moved === true ? { moved } : {}) };
}

function guidanceOf({ by, text, agent }: Extract<Event, { type: 'guidance.given' }>): Fact {
  return { type: 'guide', by, text, agent };
}

function limitOf({ limit, used, max, ends }: Extract<Event, { type: 'limit.met' }>): Fact {
  return { type: 'limit', limit, used, max, ends: ends === true };
}

function brokenBy({ error: { message } }: Extract<Event, { type: 'run.broken' }>): Fact {
  return { type: 'break', why: message.slice(message.indexOf(': ') + 2) };
}

/** No call has a result that is not judged yet, and no drop waits for the host. */
function isSettled({ pending }: RunState): boolean {
  for (const { observed, dropped } of pending.values()) if (observed !== null || dropped !== undefined) return false;
  return true;
}

/** Compares as JSON: an absent field equals an undefined one. */
function sameBody(event: Event, body: EventBody): boolean {
  const journal = bodyOf(event);
  return isSame(journal, body) || sortedText(journal) === sortedText(body);
}

/** True only for values with the same JSON. Large values mostly are the same object, so this is fast. */
function isSame(a: unknown, b: unknown): boolean {
  if (a === b) return true;
  if (a === null || b === null || typeof a !== 'object' || typeof b !== 'object') return false;
  if (Array.isArray(a) || Array.isArray(b))
    return Array.isArray(a) && Array.isArray(b) && a.length === b.length && a.every((each, at) => isSame(each, b[at]));
  const [one, other] = [a as Fields, b as Fields];
  let count = 0;
  for (const key of Object.keys(one)) {
    if (one[key] === undefined) continue;
    count += 1;
    if (!Object.hasOwn(other, key) || !isSame(one[key], other[key])) return false;
  }
  return count === Object.keys(other).filter((key) => other[key] !== undefined).length;
}

type Fields = { readonly [key: string]: unknown };

function bodyOf(event: Event): EventBody {
  const { seq: _seq, at: _at, ...body } = event as Event & { prev?: string; hash?: string };
  delete (body as { prev?: string }).prev;
  delete (body as { hash?: string }).hash;
  return body;
}
