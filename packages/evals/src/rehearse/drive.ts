/**
 * Drives the pure core through one generated future. Time is a number, so no step waits. A crash throws the state away and
 * folds it again from the events, as after a restart; calls that were under way are then made again.
 */
import { askOf, evolve, outstanding, settle } from '@sluice-internal/kernel/core';
import type { Program } from '@sluice-internal/kernel/core';
import type { Json } from '@sluice-internal/kernel/expr';
import type { Command, Event, Fact, Instant, RunState, Settled } from '@sluice-internal/kernel/ir';
import { standIns } from '@sluice-internal/engine/worker';
import type { Future } from './future.ts';

export interface Driven {
  readonly events: readonly Event[];
  readonly state: RunState;
  readonly crashes: number;
  /** The run was stopped because it made no progress within the step limit of the driver. */
  readonly stuck: boolean;
}
/** Performs the checks that need no world: policy and memory. Null for every other command. */
export type RealCheck = (command: Command) => Promise<Settled> | null;

const STEPS_MAX = 20_000;
const START: Instant = Date.UTC(2026, 0, 1);

export async function drive(
  program: Program,
  future: Future,
  check: RealCheck,
  given: { readonly seed: number; readonly input?: Json },
): Promise<Driven> {
  const life = new Life(program, future, check);
  const input = given.input ?? future.input();
  const origin = { scripted: true } as const;
  life.take({ type: 'start', run: `s_${given.seed}`, flow: program.flow.hash, input, seed: given.seed, origin });
  let steps = 0;
  while (steps++ < STEPS_MAX && (await life.step()));
  return { events: life.events, state: life.state as RunState, crashes: life.crashes, stuck: steps >= STEPS_MAX };
}

interface Coming {
  readonly at: Instant;
  readonly order: number;
  readonly fact: Fact;
}

class Life {
  readonly #program: Program;
  readonly #future: Future;
  readonly #check: RealCheck;
  readonly events: Event[] = [];
  state: RunState | null = null;
  crashes = 0;
  #now = START;
  #order = 0;
  #coming: Coming[] = [];
  /** Calls and questions that are under way. */
  #begun = new Set<string>();
  /** Calls that a process began which has crashed since. */
  readonly #lost = new Set<string>();

  constructor(program: Program, future: Future, check: RealCheck) {
    this.#program = program;
    this.#future = future;
    this.#check = check;
  }

  take(fact: Fact): void {
    const { state, events } = settle(this.#program, this.state, [fact], this.#now);
    this.state = state;
    this.events.push(...events);
  }

  /** Handles the next result, answer or timer. False if there is none. */
  async step(): Promise<boolean> {
    const { state } = this;
    if (state === null || state.outcome !== null) return false;
    const { commands, wake } = outstanding(this.#program, state);
    for (const command of commands) await this.#begin(command);
    this.#ask(state);
    this.#answerDrops(state);
    const next = this.#coming.reduce<Coming | null>(
      (a, b) => (a === null || b.at < a.at || (b.at === a.at && b.order < a.order) ? b : a),
      null,
    );
    if (next === null && wake === null) return false;
    if (next === null || (wake !== null && wake < next.at)) {
      // A limit that has passed already was acted upon, so time must move.
      this.#now = Math.max(this.#now + (wake !== null && wake <= this.#now ? 1 : 0), wake ?? this.#now);
      this.take({ type: 'tick' });
    } else {
      this.#coming = this.#coming.filter((each) => each !== next);
      this.#now = Math.max(this.#now, next.at);
      this.take(next.fact);
    }
    if (this.#future.chance.oneIn(60)) this.#crash();
    return true;
  }

  async #begin(command: Command): Promise<void> {
    const { key, attempt, notBefore } = command;
    const id = `${key} ${attempt}`;
    if (this.#begun.has(id)) return;
    this.#begun.add(id);
    const real = command.kind === 'check' ? this.#check(command) : null;
    const { settled, afterMs } = real === null ? this.#future.result(command) : { settled: await real, afterMs: 1 };
    this.#expect(Math.max(this.#now, notBefore) + afterMs, { type: 'settle', key, attempt, result: settled });
  }

  #ask(state: RunState): void {
    for (const pending of state.pending.values()) {
      const { question, observed, key, node: id, signal } = pending;
      if ((question === null && signal === undefined) || observed !== null || this.#begun.has(key)) continue;
      this.#begun.add(key);
      if (question === null) {
        const sent = this.#future.signal(id);
        if (sent !== null && signal !== undefined)
          this.#expect(this.#now + sent.afterMs, {
            type: 'signal',
            name: signal,
            key,
            data: sent.data,
            by: 'rehearsal',
          });
        continue;
      }
      // The engine itself asks about a call that may have happened.
      const given = this.#future.answer(question, askOf(this.#program, state, pending)?.choices ?? []);
      if (given === null) continue;
      const { by, ...answer } = given.answer;
      const { flow } = this.#program;
      const answers = question.approvers === undefined ? [{ ...answer, by }] : standIns(flow, state, pending, answer);
      for (const each of answers)
        this.#expect(this.#now + given.afterMs, { type: 'answer', id: question.id, answer: each });
    }
  }

  /** Nothing of a dropped call comes any more. It was sent if it was begun; what an earlier process did is not known. */
  #answerDrops(state: RunState): void {
    for (const { key, attempt, dropped } of state.pending.values()) {
      const id = `${key} ${attempt}`;
      if (dropped === undefined || this.#begun.has(`drop ${id}`)) continue;
      this.#begun.add(`drop ${id}`);
      this.#coming = this.#coming.filter(({ fact }) => fact.type !== 'settle' || fact.key !== key);
      const sent = this.#begun.has(id) ? 'yes' : this.#lost.has(id) ? 'unknown' : 'no';
      this.#expect(this.#now, { type: 'dropped', key, sent });
    }
  }

  #expect(at: Instant, fact: Fact): void {
    this.#coming.push({ at, order: this.#order++, fact });
  }

  #crash(): void {
    this.crashes += 1;
    this.state = this.events.reduce<RunState | null>(evolve, null);
    this.#coming = this.#coming.filter(({ fact }) => fact.type === 'answer' || fact.type === 'signal');
    const open = [...(this.state?.pending.values() ?? [])].filter(
      ({ question, signal }) => question !== null || signal !== undefined,
    );
    for (const id of this.#begun) this.#lost.add(id);
    this.#begun = new Set(open.map(({ key }) => key));
  }
}
