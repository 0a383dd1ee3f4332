/**
 * Works on runs. A run with messages is queued; one round settles all queued runs and stores their events in one commit. Only
 * after the commit are calls performed, events published and messages acknowledged. A worker has one lease for all its runs,
 * and checks it before it acts.
 */
import { randomUUID } from 'node:crypto';
import { isPaused, statusOf } from '@sluice-internal/kernel/core';
import type { Event, Fact, RunId } from '@sluice-internal/kernel/ir';
import { SluiceError } from '../ports/errors.ts';
import type { Swapped } from '../ports/cells.ts';
import type { Append, Clock, Journal, Performer } from '../ports/ports.ts';
import { Guard } from '../limits/guard.ts';
import type { TextListeners } from './calls.ts';
import { Dispatcher } from './dispatch.ts';
import { limitsMet, runLimits } from './run-limits.ts';
import type { RunLimits } from './run-limits.ts';
import { runNow } from './owned-run.ts';
import type { Message, OwnedRun } from './owned-run.ts';
import { advance, outstandingCommands } from './advance.ts';
import type { Advance } from './advance.ts';
import { entryOf } from '../journal/entry.ts';
import type { EngineOptions } from '../ports/types.ts';

export interface WorkerOptions {
  readonly journal: Journal;
  readonly performer: Performer;
  readonly shared: Swapped;
  readonly clock: Clock;
  readonly snapshotEvery: number;
  readonly limits?: RunLimits;
  /** The store, for its id. */
  readonly store?: { readonly id: string };
  readonly signing?: EngineOptions['signing'];
  /** After the events are stored. */
  readonly onTurn: (owned: OwnedRun, events: readonly Event[], previousHead: string) => void;
  /** The run has ended or is suspended. */
  readonly onIdle: (owned: OwnedRun) => void;
  /** Another worker may have taken the run. */
  readonly onLost: (run: RunId) => void;
  /** The store is away: resolves when it is back, or when the worker stops. Rejects with any other error. Absent: every error is a fault. */
  readonly untilBack?: (error: unknown) => Promise<void>;
  /** The worker cannot go on, for example because the disk is full. */
  readonly onFault: (error: Error) => void;
  /** The run broke an invariant and was dropped. Other runs are not affected. */
  readonly onBroken: (run: RunId, error: Error) => void;
  readonly listeners?: TextListeners;
  readonly holdsLease: () => boolean;
  readonly renewLease: () => Promise<boolean>;
}

/** A turn of a run, with the messages that it took. */
interface Turn extends Advance {
  readonly owned: OwnedRun;
  readonly received: readonly Message[];
}

function acknowledge({ received, notes: { refusals } }: Turn): void {
  for (let index = 0; index < received.length; index++) received[index]?.done?.(refusals.get(index) ?? null);
}

/** After this long the worker yields, so that signals, sockets and timers are served. */
const YIELD_AFTER_MS = 15;
/** In events. */
const SIGN_EVERY = 100;

export class Worker {
  id: string = newName();
  readonly runs: Map<RunId, OwnedRun> = new Map();
  /** Loads under way. One is outdated when a copy of its run that is in memory stores events meanwhile. */
  readonly loads: Set<{ readonly run: RunId; isOutdated: boolean }> = new Set();
  readonly #options: WorkerOptions;
  readonly #dispatcher: Dispatcher;
  readonly #limits: RunLimits;
  /** Runs that other workers have taken over. */
  readonly #left = new WeakSet<OwnedRun>();
  #queue: OwnedRun[] = [];
  #working = false;
  #stopped = false;
  #yieldedAt = performance.now();

  constructor(options: WorkerOptions) {
    this.#options = options;
    this.#limits = options.limits ?? runLimits();
    this.#dispatcher = new Dispatcher({
      performer: options.performer,
      guard: new Guard(options.performer, options.shared),
      clock: options.clock,
      listeners: options.listeners,
      holdsLease: options.holdsLease,
      renewLease: options.renewLease,
      send: (owned, message) => this.send(owned, message),
      rest: (owned) => options.onIdle(owned),
    });
  }

  /** Starts no further call. */
  drain(): void {
    this.#dispatcher.drain();
  }

  /** Calls that were made and whose results are not stored yet. */
  get inFlight(): number {
    return this.#dispatcher.inFlight + (this.#working ? 1 : 0);
  }

  /** Takes a run into this process without performing anything. */
  adopt(owned: OwnedRun): void {
    this.runs.set(owned.run, owned);
    if (owned.state !== null) owned.entry = entryOf(owned.state);
  }

  /** Performs the outstanding calls of the run, and from then on every call that it requests. */
  begin(owned: OwnedRun): void {
    if (owned.begun || owned.state === null || owned.state.outcome !== null || this.#left.has(owned)) return;
    owned.begun = true;
    // The next turn records that calls are made again, and then they are.
    if (!owned.toResume) this.#dispatcher.carryOut(owned, owned.state, outstandingCommands(owned.program, owned.state));
    this.send(owned, { fact: { type: 'tick' } });
  }

  send(owned: OwnedRun, message: Message): void {
    if (this.#stopped) return message.failed?.(new SluiceError('engine-closed', 'the engine is closed'));
    if (this.#left.has(owned)) return message.failed?.(ownedElsewhere(owned.run));
    // The run may have been dropped as idle since the caller looked it up. One that was not verified is loaded again.
    if (!this.runs.has(owned.run)) {
      if (owned.verifying) return message.failed?.(ownedElsewhere(owned.run));
      this.runs.set(owned.run, owned);
    }
    owned.inbox.push(message);
    this.#enqueue(owned);
  }

  /** The whole journal of the run is verified. Messages that came meanwhile are taken now. */
  verified(owned: OwnedRun): void {
    owned.verifying = false;
    if (owned.inbox.length > 0 && !this.#stopped) this.#enqueue(owned);
  }

  /** Drops a run that was not verified. Nothing was stored since it was loaded. */
  reject(owned: OwnedRun, reason: Error = ownedElsewhere(owned.run)): void {
    for (const message of owned.inbox.splice(0)) message.failed?.(reason);
    if (this.runs.get(owned.run) === owned) this.drop(owned.run);
  }

  #enqueue(owned: OwnedRun): void {
    if (owned.verifying) return;
    if (!owned.queued) {
      owned.queued = true;
      this.#queue.push(owned);
    }
    this.#schedule();
  }

  /** After a jump of the clock: lets runs that only wait look at the time of day again. */
  clockJumped(): void {
    for (const owned of this.runs.values())
      if (owned.state !== null && isPaused(owned.state)) this.send(owned, { fact: { type: 'tick' } });
  }

  /** Aborts the calls of the run and removes it from memory. */
  drop(run: RunId): void {
    const owned = this.runs.get(run);
    if (owned === undefined) return;
    owned.calls.abortAll();
    owned.cancelWake?.();
    this.runs.delete(run);
  }

  /** Aborts all calls. The next owner performs again those whose results were not stored. */
  stop(reason: Error): void {
    this.#stopped = true;
    this.#dispatcher.stop();
    for (const owned of this.runs.values()) for (const message of owned.inbox.splice(0)) message.failed?.(reason);
    for (const run of [...this.runs.keys()]) this.drop(run);
  }

  /** Another worker has taken over. Drops all runs and goes on under a new name. */
  leave(): void {
    this.id = newName();
    for (const load of this.loads) load.isOutdated = true;
    for (const owned of [...this.runs.values()]) {
      this.#left.add(owned);
      for (const message of owned.inbox.splice(0)) message.failed?.(ownedElsewhere(owned.run));
      this.#lose(owned);
    }
  }

  #lose(owned: OwnedRun): void {
    // The run may have been lost and claimed again since.
    if (this.runs.get(owned.run) !== owned) return;
    this.drop(owned.run);
    this.#options.onLost(owned.run);
  }

  #schedule(): void {
    if (this.#working) return;
    this.#working = true;
    // Busy from now on, not from the first round: the speed of the machine must not change the steps of a virtual clock.
    const done = this.#options.clock.busy?.();
    if (performance.now() - this.#yieldedAt > YIELD_AFTER_MS) {
      setImmediate(() => {
        this.#yieldedAt = performance.now();
        void this.#work(done);
      });
    } else queueMicrotask(() => void this.#work(done));
  }

  async #work(done: (() => void) | undefined): Promise<void> {
    let turns: readonly Turn[] = [];
    try {
      while (this.#queue.length > 0 && !this.#stopped) {
        if (performance.now() - this.#yieldedAt > YIELD_AFTER_MS) {
          await new Promise((resolve) => setImmediate(resolve));
          this.#yieldedAt = performance.now();
        }
        turns = this.#takeTurns();
        const appends = this.#appendsOf(turns);
        const results = appends.length === 0 ? NO_RESULTS : await this.#commit(appends);
        this.#act(turns, results.includes('stale') ? staleRuns(appends, results) : NO_RUNS);
        turns = [];
      }
    } catch (error) {
      for (const { received } of turns) for (const message of received) message.failed?.(error as Error);
      if (!this.#stopped) this.#options.onFault(error as Error);
    } finally {
      this.#working = false;
      done?.();
      if (this.#queue.length > 0 && !this.#stopped) this.#schedule();
    }
  }

  /** While the store is away this waits. What a commit without an answer has stored is compared before the rest is repeated. */
  async #commit(appends: readonly Append[]): Promise<readonly Committed[]> {
    const { journal, untilBack } = this.#options;
    const worker = this.id;
    let results: readonly (Committed | null)[] = appends.map(() => null);
    for (;;) {
      try {
        const open = appends.filter((_, index) => results[index] === null);
        // A worker that lost its lease meanwhile may not store under its new name what it decided under the old one.
        const stored = worker === this.id ? await journal.commit(worker, open) : open.map(() => 'stale' as const);
        return merged(results, stored);
      } catch (error) {
        if (untilBack === undefined || this.#stopped) throw error;
        results = await this.#compareOnceBack(appends, error, untilBack);
      }
    }
  }

  async #compareOnceBack(
    appends: readonly Append[],
    cause: unknown,
    untilBack: (error: unknown) => Promise<void>,
  ): Promise<readonly (Committed | null)[]> {
    for (let error = cause; ;) {
      await untilBack(error);
      if (this.#stopped) throw error;
      try {
        return await storedBefore(this.#options.journal, appends);
      } catch (again) {
        error = again;
      }
    }
  }

  #takeTurns(): readonly Turn[] {
    const batch = this.#queue;
    this.#queue = [];
    const turns: Turn[] = [];
    for (const owned of batch) {
      owned.queued = false;
      const turn = this.#takeTurn(owned);
      if (turn === null) continue;
      owned.storing = true;
      turns.push(turn);
    }
    return turns;
  }

  #appendsOf(turns: readonly Turn[]): readonly Append[] {
    const appends: Append[] = [];
    for (const { owned, append } of turns) {
      if (append === null) continue;
      const checkpoint = this.#checkpointOf(owned, append);
      const last = checkpoint === null ? append : { ...append, checkpoint };
      if (owned.prefix.length === 0) appends.push(last);
      else appends.push(...withPrefix(owned.prefix, last));
    }
    return appends;
  }

  /** `taken` has the runs that another worker owns now. Nothing of their turns was stored. */
  #act(turns: readonly Turn[], taken: ReadonlySet<RunId>): void {
    for (const turn of turns) {
      const { owned, append } = turn;
      owned.storing = false;
      if (append !== null) owned.prefix = NO_APPENDS;
      if (taken.has(owned.run)) this.#refuseStale(turn);
      else this.#committed(turn);
    }
  }

  #checkpointOf(owned: OwnedRun, { after, count, hash: head, at }: Append): Append['checkpoint'] | null {
    const { signing, store = { id: '' } } = this.#options;
    if (signing === undefined) return null;
    const seq = after + count;
    if (owned.state?.outcome === null && seq - owned.signedSeq < (signing.every ?? SIGN_EVERY)) return null;
    owned.signedSeq = seq;
    return signing.signer.sign(store.id, owned.run, { seq, head, at });
  }

  #takeTurn(owned: OwnedRun): Turn | null {
    const received = owned.inbox;
    owned.inbox = [];
    if (this.runs.get(owned.run) !== owned) {
      for (const message of received) message.failed?.(ownedElsewhere(owned.run));
      return null;
    }
    try {
      const resumes = owned.toResume;
      owned.toResume = false;
      const first: readonly Fact[] = [
        ...(resumes ? [{ type: 'resume' } as const] : []),
        ...limitsMet(owned, this.#limits),
      ];
      const facts = [...first, ...received.map(({ fact }) => fact)];
      const turn = advance(owned, facts, runNow(owned, this.#options.clock), this.#options.snapshotEvery);
      return { owned, received, ...withoutFirst(turn, first.length) };
    } catch (error) {
      for (const message of received) message.failed?.(error as Error);
      this.drop(owned.run);
      this.#options.onBroken(owned.run, error as Error);
      return null;
    }
  }

  #outdate(run: RunId): void {
    for (const load of this.loads) if (load.run === run) load.isOutdated = true;
  }

  #refuseStale({ owned, received }: Turn): void {
    for (const message of received) message.failed?.(ownedElsewhere(owned.run));
    this.#lose(owned);
  }

  #committed(turn: Turn): void {
    const { owned, commands, notes } = turn;
    const { events, previousHead } = notes;
    const { state } = owned;
    if (this.loads.size > 0) this.#outdate(owned.run);
    // Stopped or taken over during the commit: the events are stored, and the next owner acts on them.
    if (state === null || this.#stopped || this.#left.has(owned)) return acknowledge(turn);
    if (owned.begun) this.#dispatcher.carryOut(owned, state, commands);
    // A refused answer changes nothing, so a run that waits stays released.
    else if (owned.passing !== true && events.some(({ type }) => type !== 'answer.refused')) this.begin(owned);
    if (events.length > 0) this.#options.onTurn(owned, events, previousHead);
    acknowledge(turn);
    if (notes.more || limitsMet(owned, this.#limits).length > 0) this.send(owned, { fact: { type: 'tick' } });
    this.#dispatcher.arm(owned, state, notes.due, this.runs.get(owned.run) === owned);
    if (state.outcome !== null || statusOf(state) === 'suspended') this.#options.onIdle(owned);
  }
}

/** The refusals by the place of their message: the first facts came from the engine itself. */
function withoutFirst(given: Advance, count: number): Advance {
  if (count === 0) return given;
  const { notes, ...turn } = given;
  const refusals = new Map([...notes.refusals].map(([index, refusal]) => [index - count, refusal]));
  return { ...turn, notes: { ...notes, refusals } };
}

/** A fork starts when its own first turn is stored, and not with the copied events. */
function withPrefix([first, ...others]: readonly Append[], append: Append): readonly Append[] {
  if (first?.entry?.first === undefined) return [append];
  const entry = { ...first.entry, first: { ...first.entry.first, startedAt: append.at } };
  return [{ ...first, entry }, ...others, append];
}

function staleRuns(appends: readonly Append[], results: readonly string[]): ReadonlySet<RunId> {
  return new Set(appends.flatMap(({ run }, index) => (results[index] === 'stale' ? [run] : [])));
}

/** Appends that are stored already are found by their hash: it covers everything before it. Null: not stored. */
async function storedBefore(journal: Journal, appends: readonly Append[]): Promise<readonly (Committed | null)[]> {
  const results: (Committed | null)[] = [];
  for (const { run, after, hash } of appends) {
    const [stored] = await journal.page(run, after, 1);
    results.push(stored?.hash === hash ? 'committed' : null);
  }
  return results;
}

function merged(results: readonly (Committed | null)[], stored: readonly Committed[]): readonly Committed[] {
  let next = 0;
  return results.map((result) => result ?? stored[next++] ?? 'stale');
}

function newName(): string {
  return `w_${randomUUID().slice(0, 13)}`;
}

type Committed = 'committed' | 'stale';

const NO_RESULTS: readonly string[] = [];
const NO_RUNS: ReadonlySet<RunId> = new Set();
const NO_APPENDS: readonly Append[] = [];

export function ownedElsewhere(run: RunId): SluiceError {
  return new SluiceError(
    'lease-lost',
    `run \`${run}\` is owned by another process`,
    'That process continues the run. Wait, or stop that process.',
  );
}
