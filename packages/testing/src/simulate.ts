/**
 * Simulates a run under faults, all from one seed: latencies, crashes before, after and between commits, paused processes that
 * wake up too late, duplicate and late results, clock jumps, late or missing answers, cancellations. The laws (L1, L2, L4, L5,
 * L7, L8, L11) are checked after every turn and at the end; `violations` lists what failed. A simulation takes no real time.
 */
import { isDeepStrictEqual } from 'node:util';
import type { Json } from '@sluice-internal/kernel/expr';
import type { Event, RunId, Settled } from '@sluice-internal/kernel/ir';
import { RECALLS_MAX } from '@sluice-internal/kernel/ir';
import { digest, outstanding } from '@sluice-internal/kernel/core';
import {
  createShelf,
  decodeEvents,
  freezeState,
  readRun,
  storedProgram,
  thawState,
} from '@sluice-internal/engine/journal';
import { openMemory } from '@sluice-internal/engine/memory';
import { Worker, newRun, programOf, restoreRun } from '@sluice-internal/engine/worker';
import type { OwnedRun } from '@sluice-internal/engine/worker';
import { createVirtualClock, pure } from '@sluice-internal/engine/ports';
import type { Append, Call, Clock, Journal, Store } from '@sluice-internal/engine/ports';
import { createChance, type Chance } from './chance.ts';
import { foldViolation, journalViolations, stateViolations } from './simulate-checks.ts';
import type { FaultCounts, Performed, SimulateOptions, Simulation } from './simulate-types.ts';

/**
 * Runs a flow in one generated future with crashes and other faults, and checks the laws of the engine.
 * @example
 * const check = async (options: SimulateOptions) => (await simulate(options)).violations;
 */
export async function simulate(options: SimulateOptions): Promise<Simulation> {
  const { seed, flow, store = openMemory() } = options;
  const run = `s_${seed >>> 0}`;
  const chance = createChance(seed);
  const faults: FaultCounts = { crashes: 0, pauses: 0, duplicates: 0, late: 0, jumps: 0, cancels: 0 };
  const violations = new Set<string>();
  const performed: Performed[] = [];
  const committed = new Set<string>();
  const workers: string[] = [];
  let time = { elapsed: 1_000_000, ahead: 0 };
  for (let number = 0; number < 100; number++) {
    const life = await live({
      options,
      run,
      store,
      number,
      time,
      chance: chance.fork(`life ${number}`),
      faults,
      performed,
      committed,
      workers,
      violate: (what) => violations.add(what),
    });
    time = life.time;
    if (life.ended) break;
  }
  const { state, events } = await readRun(store.journal, run);
  for (const violation of await journalViolations(store.journal, run, { flow, state, events, performed }))
    violations.add(violation);
  return { seed, outcome: state.outcome, state, events, faults: { ...faults }, violations: [...violations] };
}

/**
 * Two runs in the same world must have the same outcome and slots, under any faults. Null if they do.
 * @example
 * const isSame = (first: Simulation, second: Simulation) => differenceBetween(first, second) === null;
 */
export function differenceBetween(quiet: Simulation, disturbed: Simulation): string | null {
  const seen = ({ outcome, state: { threads, spent } }: Simulation): Json =>
    JSON.parse(JSON.stringify({ outcome, spent, slots: threads.get('0')?.slots })) as Json;
  const [before, after] = [seen(quiet), seen(disturbed)];
  return isDeepStrictEqual(before, after)
    ? null
    : `L8: ends as ${JSON.stringify(after)}, undisturbed as ${JSON.stringify(before)}`;
}

interface LifeOptions {
  readonly options: SimulateOptions;
  readonly run: RunId;
  readonly store: Store;
  /** The number of processes before this one. */
  readonly number: number;
  readonly time: { readonly elapsed: number; readonly ahead: number };
  readonly chance: Chance;
  readonly faults: FaultCounts;
  readonly performed: Performed[];
  /** Attempts whose request is stored, as `key attempt`. */
  readonly committed: Set<string>;
  /** The names of the processes so far. */
  readonly workers: string[];
  readonly violate: (what: string) => void;
}
interface Life {
  readonly ended: boolean;
  readonly time: { readonly elapsed: number; readonly ahead: number };
}

const HOUR_MS = 3_600_000;
const LATENCY_MAX_MS = 60;

/** Runs one process that works on the run, from its start to the end of the run, a crash or a pause. */
function live(given: LifeOptions): Promise<Life> {
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
      shared: given.store.shared,
      performer: { perform: (call) => this.#perform(call) },
      clock: this.#clock,
      snapshotEvery: given.chance.pick([0, 2, 500]),
      holdsLease: () => this.#fate === 'alive',
      renewLease: async () => this.#fate === 'alive',
      onTurn: (owned, events) => this.#turned(owned, events),
      onIdle: (owned) => {
        if (owned.state?.outcome !== null && this.#fate === 'alive') this.#leave('dead', true);
      },
      onLost: () => {
        if (this.#fate === 'alive') reject(new Error('the run was lost although there is no other process'));
      },
      onFault: (error) => {
        if (this.#fate === 'alive') reject(error);
      },
      onBroken: (_, error) => reject(error),
    });
  }

  async begin(): Promise<void> {
    const { store, run, number, options, chance } = this.#given;
    // Every process starts after the lease of the one before has ended.
    const { id } = this.#worker;
    for (const earlier of this.#given.workers) await store.leases.renew(earlier, 0);
    this.#given.workers.push(id);
    await store.leases.renew(id, HOUR_MS);
    const stored = await store.journal.load(run, { snapshot: chance.oneIn(2) });
    if (stored === null) {
      const owned = newRun(run, programOf(options.flow));
      this.#worker.runs.set(run, owned);
      this.#worker.send(owned, {
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
      const claimed = await store.leases.claim(id, { run });
      const owned = restoreRun(run, stored, storedProgram(stored.flow));
      // The process before may have crashed after it stored the end.
      if (owned.state?.outcome !== null) return this.#leave('dead', true);
      if (!claimed.includes(run)) throw new Error(`process ${number} cannot claim the run`);
      if (owned.state !== null && chance.oneIn(2)) owned.state = thawState(freezeState(owned.state));
      this.#worker.adopt(owned);
      this.#worker.begin(owned);
      this.#askPeople(owned, [...(owned.state?.pending.keys() ?? [])]);
    }
    this.#trouble();
  }

  /** Cancels a run that waits for ever. With harmful faults, also cancels at random; with any faults, moves the clock. */
  #trouble(): void {
    const { chance, faults } = this.#given;
    this.#later(30 * 24 * HOUR_MS, (owned) =>
      this.#worker.send(owned, { fact: { type: 'cancel', by: 'simulator', why: 'the run makes no progress' } }),
    );
    if (!this.#disturbed) return;
    if (this.#harmful && chance.oneIn(6))
      this.#later(chance.below(300), (owned) => {
        faults.cancels += 1;
        this.#worker.send(owned, { fact: { type: 'cancel', by: 'ann', why: 'changed her mind' } });
      });
    if (this.#harmful && chance.oneIn(2))
      this.#later(chance.below(200), (owned) =>
        this.#worker.send(owned, { fact: { type: 'guide', by: 'ann', text: 'a remark', agent: null } }),
      );
    for (let jumps = chance.below(3); jumps > 0; jumps--)
      this.#later(chance.below(200), () => {
        faults.jumps += 1;
        this.#clock.jump(this.#harmful && chance.oneIn(2) ? chance.below(3000) : -chance.below(HOUR_MS));
      });
  }

  #journal(inner: Journal): Journal {
    return {
      load: (run, options) => inner.load(run, options),
      page: (run, after, limit) => inner.page(run, after, limit),
      changes: (after, limit) => inner.changes(after, limit),
      commit: async (worker, appends) => {
        if (this.#fate === 'dead') throw new Error('dead');
        if (this.#strikes(12)) this.#leave(this.#given.chance.pick(['dead', 'dead', 'paused']), false);
        if (this.#isDead()) throw new Error('dead');
        if (this.#fate !== 'alive') {
          // When it wakes up, another process owns the run. A run that was not started yet is owned once it is stored.
          do await new Promise((resolve) => setImmediate(resolve));
          while ((await inner.load(this.#given.run)) === null);
          const results = await inner.commit(worker, appends);
          if (results.includes('committed')) this.#given.violate('L8: a process without a lease could commit');
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

  #note(append: Append): void {
    const { committed } = this.#given;
    const program = this.#worker.runs.get(append.run)?.program ?? programOf(this.#given.options.flow);
    // Blobs of earlier appends are missing here, but requests do not depend on them.
    const { unpack } = createShelf(append.blobs);
    const known = (stored: Parameters<typeof unpack>[0]): ReturnType<typeof unpack> => {
      try {
        return unpack(stored);
      } catch {
        return null;
      }
    };
    for (const event of decodeEvents(program, append, known)) {
      if (event.type === 'effect.requested' && event.settles === event.key) {
        // The call is made again, under its own key.
        for (let attempt = 2; attempt < 20; attempt++) committed.add(`${event.key} ${attempt}`);
      } else if (event.type === 'effect.requested' || event.type === 'undo.requested') committed.add(`${event.key} 1`);
      if (event.type !== 'effect.judged' || event.verdict !== 'retry') continue;
      let attempt = 2;
      while (committed.has(`${event.key} ${attempt}`)) attempt += 1;
      committed.add(`${event.key} ${attempt}`);
    }
  }

  async #perform(call: Call): Promise<Settled> {
    const { command } = call;
    const { committed, violate, chance, faults } = this.#given;
    const { key, attempt } = command;
    if (this.#fate !== 'alive') violate(`L8: ${key} was performed by a process that is ${this.#fate}`);
    if (!committed.has(`${key} ${attempt}`))
      violate(`L8: ${key} (attempt ${attempt}) was performed before its request was stored`);
    const result = this.#ask(call);
    if (this.#strikes(20)) this.#leave('dead', false);
    const fact = { type: 'settle', key, attempt, result: result ?? { ok: true, value: 'too late' } } as const;
    if (result === null) {
      if (this.#disturbed && command.deadline !== null && chance.oneIn(2)) {
        faults.late += 1;
        this.#afterDeadline(command.deadline, (owned) => this.#worker.send(owned, { fact }));
      }
      return new Promise(() => undefined);
    }
    await this.#clock.sleep(chance.below(LATENCY_MAX_MS));
    if (this.#strikes(20)) this.#leave('dead', false);
    if (this.#fate !== 'alive') return new Promise(() => undefined);
    for (let copies = this.#disturbed ? chance.below(3) : 0; copies > 0; copies--) {
      faults.duplicates += 1;
      this.#later(chance.below(100), (owned) => this.#worker.send(owned, { fact }));
    }
    return result;
  }

  /** The world notes each call. */
  #ask({ command, idempotencyKey }: Call): Settled | null {
    const { number: life, performed, options } = this.#given;
    const { key, attempt, kind, name, run } = command;
    const settles = this.#worker.runs.get(run)?.state?.pending.get(key)?.settles;
    const result = settles === undefined || settles === key ? options.world.perform(command) : this.#lookUp(settles);
    const took = result === null || result.ok || result.error.class === 'timeout';
    const input = digest({ ...command.input }, pure.hash);
    performed.push({ life, key, attempt, idempotencyKey, input, kind, name, took });
    return result;
  }

  /** The world's own list says if a call happened. */
  #lookUp(key: string): Settled {
    return { ok: true, value: this.#happened(key) };
  }

  #happened(key: string): boolean {
    return this.#given.performed.some((each) => each.key === key && each.took);
  }

  #turned(owned: OwnedRun, events: readonly Event[]): void {
    const { violate, chance } = this.#given;
    const { state, program } = owned;
    if (state === null || this.#fate !== 'alive') return;
    this.#askPeople(
      owned,
      events.flatMap((event) =>
        event.type === 'effect.requested' || event.type === 'effect.judged' ? [event.key] : [],
      ),
    );
    for (const each of stateViolations(program.flow, state)) violate(each);
    // An outstanding call is either running, or its result is in the inbox.
    const received = new Set(
      owned.inbox.flatMap(({ fact }) => (fact.type === 'settle' ? [`${fact.key} ${fact.attempt}`] : [])),
    );
    const { commands } = outstanding(program, state);
    for (const { key, attempt } of commands)
      if (!owned.calls.has(key, attempt) && !received.has(`${key} ${attempt}`))
        violate(`L8: ${key} (attempt ${attempt}) is outstanding but not running`);
    if (owned.calls.size > commands.length) violate('L8: a call is running that is not outstanding');
    if (chance.oneIn(4)) {
      void this.#checkFold(owned, freezeState(state));
    }
  }

  /** The committed events must fold to the state in memory. */
  async #checkFold({ program }: OwnedRun, live: string): Promise<void> {
    const { store, run, violate } = this.#given;
    const stored = await store.journal.load(run);
    const found = stored === null ? null : foldViolation(run, stored, program, live);
    if (found !== null) violate(found);
  }

  #askPeople(owned: OwnedRun, keys: readonly string[]): void {
    const { options, chance } = this.#given;
    for (const key of keys) {
      const pending = owned.state?.pending.get(key);
      if (pending === undefined || pending.question === null || pending.observed !== null) continue;
      const { question } = pending;
      const { settles } = pending;
      const answer =
        settles === undefined
          ? options.world.answer(question)
          : { choice: this.#happened(settles) ? 'approve' : 'reject', by: 'ann' };
      if (answer === null) continue;
      const fact = { type: 'answer', id: question.id, answer } as const;
      const afterMs = chance.below(this.#harmful ? 2 * HOUR_MS : LATENCY_MAX_MS);
      this.#later(afterMs, (here) => this.#worker.send(here, { fact }));
      if (!this.#disturbed) continue;
      const wrong = { ...answer, choice: 'no such choice' };
      this.#later(chance.below(afterMs + 1), (here) => this.#worker.send(here, { fact: { ...fact, answer: wrong } }));
      this.#later(chance.below(afterMs + 1), (here) =>
        this.#worker.send(here, { fact: { ...fact, answer: { ...answer, by: question.askedBy } } }),
      );
      this.#later(afterMs + chance.below(1000), (here) => this.#worker.send(here, { fact }));
    }
  }

  /** Acts later, if the process is still alive then. */
  #later(ms: number, act: (owned: OwnedRun) => void): void {
    this.#clock.at(this.#clock.now() + ms, () => {
      const owned = this.#worker.runs.get(this.#given.run);
      if (this.#fate === 'alive' && owned !== undefined) act(owned);
    });
  }

  /** Waits by the time of day, which may be set back meanwhile. */
  #afterDeadline(deadline: number, act: (owned: OwnedRun) => void): void {
    this.#later(Math.max(0, deadline - this.#clock.now()) + this.#given.chance.below(100), (owned) => {
      if (this.#clock.now() >= deadline) act(owned);
      else this.#afterDeadline(deadline, act);
    });
  }

  #strikes(oneIn: number): boolean {
    const { options, faults, chance } = this.#given;
    return (
      this.#disturbed &&
      this.#fate === 'alive' &&
      faults.crashes + faults.pauses < (options.crashesMax ?? (this.#harmful ? 8 : RECALLS_MAX)) &&
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

/** A virtual clock whose time of day can jump. Durations are not affected. */
interface JumpingClock extends Clock {
  jump(ms: number): void;
}

function createJumpingClock(start: number, offset: number): JumpingClock {
  const base = createVirtualClock(start);
  let ahead = offset;
  return {
    virtual: true,
    now: () => base.now() + ahead,
    at: (instant, wake) => base.at(instant - ahead, wake),
    sleep: (ms, signal) => base.sleep(ms, signal),
    busy: () => base.busy?.() ?? (() => undefined),
    jump: (ms) => {
      ahead += ms;
    },
    elapsed: () => base.now(),
  };
}
