/** One life of the process that works on a simulated run: from its start to the end of the run, a crash or a pause. */
import type { CompiledFlow } from '../../ir/nodes.ts';
import type { Event, RunId, Settled } from '../../ir/events.ts';
import { digest } from '../../core/digest.ts';
import { outstanding } from '../../core/outstanding.ts';
import { decodeEvents } from '../../runtime/journal/codec.ts';
import { createPrograms, hold, restore } from '../../runtime/engine/owned-run.ts';
import type { Held } from '../../runtime/engine/owned-run.ts';
import { pure } from '../../runtime/engine/pure.ts';
import type { Append, Call, Journal, Store } from '../../runtime/ports.ts';
import { freezeState, thawState } from '../../runtime/journal/snapshot.ts';
import { createShelf } from '../../runtime/journal/values.ts';
import { Worker } from '../../runtime/engine/worker.ts';
import type { Chance } from './chance.ts';
import { createJumpingClock } from './jumping-clock.ts';
import { foldViolation, stateViolations } from './simulate-checks.ts';
import type { FaultCounts, Performed, SimulateOptions } from './simulate-types.ts';

export interface LifeOptions {
  readonly options: SimulateOptions;
  readonly run: RunId;
  readonly store: Store;
  /** How many lives there were before. */
  readonly number: number;
  readonly time: { readonly elapsed: number; readonly ahead: number };
  readonly chance: Chance;
  readonly faults: FaultCounts;
  readonly performed: Performed[];
  /** Attempts whose request is stored. */
  readonly committed: Set<string>;
  readonly violate: (what: string) => void;
}
export interface Life {
  readonly ended: boolean;
  readonly time: { readonly elapsed: number; readonly ahead: number };
}

const HOUR = 3_600_000;
const LATENCY_MAX_MS = 60;

export function live(given: LifeOptions): Promise<Life> {
  return new Promise((resolve, reject) => {
    new Process(given, resolve, reject).begin().catch(reject);
  });
}

class Process {
  readonly #given: LifeOptions;
  readonly #clock;
  readonly #worker: Worker;
  readonly #resolve: (life: Life) => void;
  readonly #harmful: boolean;
  readonly #disturbed: boolean;
  #fate: 'alive' | 'dead' | 'paused' = 'alive';

  constructor(given: LifeOptions, resolve: (life: Life) => void, reject: (error: Error) => void) {
    this.#given = given;
    this.#resolve = resolve;
    this.#harmful = given.options.faults === 'any';
    this.#disturbed = given.options.faults !== 'none';
    this.#clock = createJumpingClock(given.time.elapsed, given.time.ahead);
    this.#worker = new Worker({
      journal: this.#journal(given.store.journal),
      performer: { perform: (call) => this.#perform(call) },
      clock: this.#clock,
      snapshotEvery: given.chance.pick([0, 2, 500]),
      mayAct: () => this.#fate === 'alive',
      regain: async () => this.#fate === 'alive',
      onTurn: (held, events) => this.#turned(held, events),
      onIdle: (held) => {
        if (held.state?.outcome !== null && this.#fate === 'alive') this.#leave('dead', true);
      },
      onLost: () => {
        if (this.#fate === 'alive') reject(new Error('the run was lost although nobody else was there'));
      },
      onFault: (error) => {
        if (this.#fate === 'alive') reject(error);
      },
      onBroken: (_, error) => reject(error),
    });
  }

  async begin(): Promise<void> {
    const { store, run, number, options, chance } = this.#given;
    // Every life begins when the lease of the one before has run out.
    const now = number * HOUR;
    await store.roster.renew(this.#worker.id, now, now + HOUR);
    const programOf = createPrograms();
    const stored = await store.journal.load(run, { snapshot: chance.oneIn(2) });
    if (stored === null) {
      const held = hold(run, programOf(options.flow));
      this.#worker.runs.set(run, held);
      this.#worker.tell(held, {
        fact: {
          type: 'start',
          run,
          flow: options.flow.hash,
          input: options.input ?? null,
          seed: options.seed,
          origin: {},
        },
      });
    } else {
      const claimed = await store.roster.claim(this.#worker.id, now, { run });
      const held = restore(run, stored, programOf(JSON.parse(stored.flow) as CompiledFlow));
      // The end may have been stored without anybody learning of it.
      if (held.state?.outcome !== null) return this.#leave('dead', true);
      if (!claimed.includes(run)) throw new Error(`life ${number} cannot have the run`);
      if (held.state !== null && chance.oneIn(2)) held.state = thawState(freezeState(held.state));
      this.#worker.adopt(held);
      this.#worker.begin(held);
      this.#askPeople(held, [...(held.state?.pending.keys() ?? [])]);
    }
    this.#trouble();
  }

  /** Whoever waits for ever is cancelled in the end; in a disturbed run also somebody who does not wait. */
  #trouble(): void {
    const { chance, faults } = this.#given;
    this.#later(30 * 24 * HOUR, (held) =>
      this.#worker.tell(held, { fact: { type: 'cancel', by: 'simulator', why: 'nothing moves any more' } }),
    );
    if (!this.#disturbed) return;
    if (this.#harmful && chance.oneIn(6))
      this.#later(chance.below(300), (held) => {
        faults.cancels += 1;
        this.#worker.tell(held, { fact: { type: 'cancel', by: 'ann', why: 'changed her mind' } });
      });
    for (let jumps = chance.below(3); jumps > 0; jumps--)
      this.#later(chance.below(200), () => {
        faults.jumps += 1;
        this.#clock.jump(this.#harmful && chance.oneIn(2) ? chance.below(3000) : -chance.below(HOUR));
      });
  }

  #journal(inner: Journal): Journal {
    return {
      load: (run, options) => inner.load(run, options),
      commit: async (worker, appends) => {
        if (this.#fate === 'dead') throw new Error('dead');
        if (this.#strikes(12)) this.#leave(this.#given.chance.pick(['dead', 'dead', 'paused']), false);
        if (this.#isDead()) throw new Error('dead');
        if (this.#fate !== 'alive') {
          // By the time it wakes up somebody else has the run.
          await new Promise((resolve) => setImmediate(resolve));
          const results = await inner.commit(worker, appends);
          if (results.includes('committed')) this.#given.violate('L8: a process that had lost its lease could commit');
          return results;
        }
        const results = await inner.commit(worker, appends);
        for (const append of appends) this.#note(append);
        if (this.#strikes(12)) this.#leave('dead', false);
        if (this.#isDead()) throw new Error('dead');
        return results;
      },
    };
  }

  #isDead(): boolean {
    return this.#fate === 'dead';
  }

  #note({ run, body, after, at, blobs }: Append): void {
    const { committed } = this.#given;
    const program = this.#worker.runs.get(run)?.program ?? createPrograms()(this.#given.options.flow);
    // Blobs of earlier appends are not at hand, and which effects were asked for does not depend on them.
    const { unpack } = createShelf(blobs);
    const known = (stored: Parameters<typeof unpack>[0]): ReturnType<typeof unpack> => {
      try {
        return unpack(stored);
      } catch {
        return null;
      }
    };
    for (const event of decodeEvents(program, body, after, at, known)) {
      if (event.type === 'effect.requested' || event.type === 'undo.requested') committed.add(`${event.key} 1`);
      if (event.type !== 'effect.judged' || event.verdict !== 'retry') continue;
      let attempt = 2;
      while (committed.has(`${event.key} ${attempt}`)) attempt += 1;
      committed.add(`${event.key} ${attempt}`);
    }
  }

  async #perform(call: Call): Promise<Settled> {
    const { command, idempotencyKey } = call;
    const { number, performed, committed, violate, options, chance, faults } = this.#given;
    const { key, attempt } = command;
    if (this.#fate !== 'alive') violate(`L8: ${key} was performed by a process that is ${this.#fate}`);
    if (!committed.has(`${key} ${attempt}`))
      violate(`L8: ${key} (attempt ${attempt}) was performed before its request was stored`);
    performed.push({ life: number, key, attempt, idempotencyKey, input: digest({ ...command.input }, pure.hash) });
    if (this.#strikes(20)) this.#leave('dead', false);
    const result = options.world.perform(command);
    const fact = { type: 'settle', key, attempt, result: result ?? { ok: true, value: 'too late' } } as const;
    if (result === null) {
      if (this.#disturbed && command.deadline !== null && chance.oneIn(2)) {
        faults.late += 1;
        this.#afterDeadline(command.deadline, (held) => this.#worker.tell(held, { fact }));
      }
      return new Promise(() => undefined);
    }
    await this.#clock.sleep(chance.below(LATENCY_MAX_MS));
    if (this.#strikes(20)) this.#leave('dead', false);
    if (this.#fate !== 'alive') return new Promise(() => undefined);
    for (let copies = this.#disturbed ? chance.below(3) : 0; copies > 0; copies--) {
      faults.duplicates += 1;
      this.#later(chance.below(100), (held) => this.#worker.tell(held, { fact }));
    }
    return result;
  }

  #turned(held: Held, events: readonly Event[]): void {
    const { violate, chance } = this.#given;
    const { state, program } = held;
    if (state === null || this.#fate !== 'alive') return;
    this.#askPeople(
      held,
      events.flatMap((event) =>
        event.type === 'effect.requested' || event.type === 'effect.judged' ? [event.key] : [],
      ),
    );
    for (const each of stateViolations(program.flow, state)) violate(each);
    // What is owed is either under way, or back and about to be told.
    const told = new Set(
      held.inbox.flatMap(({ fact }) => (fact.type === 'settle' ? [`${fact.key} ${fact.attempt}`] : [])),
    );
    const { commands } = outstanding(program, state);
    for (const { key, attempt } of commands)
      if (!held.calls.has(key, attempt) && !told.has(`${key} ${attempt}`))
        violate(`L8: ${key} (attempt ${attempt}) is owed, but nobody is at it`);
    if (held.calls.size > commands.length) violate('L8: a call is under way that nobody waits for');
    if (chance.oneIn(4)) {
      void this.#checkFold(held, freezeState(state));
    }
  }

  /** Whatever was committed by now must fold to what is in memory. */
  async #checkFold({ program }: Held, live: string): Promise<void> {
    const { store, run, violate } = this.#given;
    const stored = await store.journal.load(run);
    const found = stored === null ? null : foldViolation(run, stored, program, live);
    if (found !== null) violate(found);
  }

  #askPeople(held: Held, keys: readonly string[]): void {
    const { options, chance } = this.#given;
    for (const key of keys) {
      const pending = held.state?.pending.get(key);
      if (pending === undefined || pending.question === null || pending.observed !== null) continue;
      const { question } = pending;
      const answer = options.world.answer(question);
      if (answer === null) continue;
      const fact = { type: 'answer', id: question.id, answer } as const;
      const afterMs = chance.below(this.#harmful ? 2 * HOUR : LATENCY_MAX_MS);
      this.#later(afterMs, (here) => this.#worker.tell(here, { fact }));
      if (!this.#disturbed) continue;
      const wrong = { ...answer, choice: 'no such choice' };
      this.#later(chance.below(afterMs + 1), (here) => this.#worker.tell(here, { fact: { ...fact, answer: wrong } }));
      this.#later(chance.below(afterMs + 1), (here) =>
        this.#worker.tell(here, { fact: { ...fact, answer: { ...answer, by: question.askedBy } } }),
      );
      this.#later(afterMs + chance.below(1000), (here) => this.#worker.tell(here, { fact }));
    }
  }

  /** Something that happens later in this life, if there is a later. */
  #later(ms: number, act: (held: Held) => void): void {
    this.#clock.at(this.#clock.now() + ms, () => {
      const held = this.#worker.runs.get(this.#given.run);
      if (this.#fate === 'alive' && held !== undefined) act(held);
    });
  }

  /** By the clock on the wall, which somebody may set back in the meantime. */
  #afterDeadline(deadline: number, act: (held: Held) => void): void {
    this.#later(Math.max(0, deadline - this.#clock.now()) + this.#given.chance.below(100), (held) => {
      if (this.#clock.now() >= deadline) act(held);
      else this.#afterDeadline(deadline, act);
    });
  }

  #strikes(oneIn: number): boolean {
    const { options, faults, chance } = this.#given;
    return (
      this.#disturbed &&
      this.#fate === 'alive' &&
      faults.crashes + faults.pauses < (options.crashesMax ?? 8) &&
      chance.oneIn(oneIn)
    );
  }

  #leave(fate: 'dead' | 'paused', ended: boolean): void {
    const { faults, chance, time } = this.#given;
    this.#fate = fate;
    if (!ended) faults[fate === 'dead' ? 'crashes' : 'pauses'] += 1;
    if (fate === 'dead') this.#worker.stop(new Error('dead'));
    const elapsed = this.#clock.elapsed() + (ended ? 0 : chance.below(20));
    const ahead = this.#clock.now() - this.#clock.elapsed();
    this.#resolve({ ended, time: { elapsed: Math.max(elapsed, time.elapsed), ahead } });
  }
}
