/**
 * The wheel. Facts of many runs are settled together and committed in one durable step; only then is anything performed,
 * published or acknowledged. A worker holds a lease for all its runs and stops before it acts when it has lost it.
 */
import { randomUUID } from 'node:crypto';
import { earliest } from '../../core/admit.ts';
import { authorOf } from '../../core/failure.ts';
import { isOwed, commandOf, outstanding, statusOf } from '../../core/outstanding.ts';
import { nodeAt } from '../../core/program.ts';
import { settle } from '../../core/settle.ts';
import type { Command, Event, Fact, Refusal, RunId, RunState, Settled } from '../../ir/events.ts';
import { link } from '../journal/chain.ts';
import { encodeEvents } from '../journal/codec.ts';
import { graphText } from '../journal/chain.ts';
import type { Hearing } from './calls.ts';
import type { Held, Told } from './owned-run.ts';
import type { Append, Call, Clock, Journal, Performer, RunEntryChange } from '../ports.ts';
import { failureOf } from '../failures.ts';
import { takeSnapshot } from '../journal/snapshot.ts';
import { SluiceError } from '../errors.ts';

export interface WorkerOptions {
  readonly journal: Journal;
  readonly performer: Performer;
  readonly clock: Clock;
  readonly snapshotEvery: number;
  /** After a turn is durable. `events` is empty when a run was merely taken up or lost. */
  readonly onTurn: (held: Held, events: readonly Event[], previous: string) => void;
  readonly onIdle: (held: Held) => void;
  readonly onLost: (run: RunId) => void;
  readonly onFault: (error: Error) => void;
  /** One run contradicts itself, and was let go of as it is. */
  readonly onBroken: (run: RunId, error: Error) => void;
  /** Hears what models say while they say it. */
  readonly hearing?: Hearing;
  /** Whether the lease still holds, by this machine's own watch. */
  readonly mayAct: () => boolean;
  /** Asks for the lease again after it has lapsed; false when it is gone. */
  readonly regain: () => Promise<boolean>;
}

/** How long the wheel may turn without letting the process look at signals, sockets and timers. */
const TURN_MAX_MS = 15;

export class Worker {
  readonly id: string = `w_${randomUUID().slice(0, 13)}`;
  readonly runs: Map<RunId, Held> = new Map();
  readonly #options: WorkerOptions;
  #dirty: Held[] = [];
  #pumping = false;
  #stopped = false;
  #yieldedAt = performance.now();

  constructor(options: WorkerOptions) {
    this.#options = options;
  }

  /** Takes a run into this process; nothing is done for it yet. */
  adopt(held: Held): void {
    this.runs.set(held.run, held);
    if (held.state !== null) held.entry = entryOf(held.state);
  }

  /** Performs what is outstanding, as on any other day. From then on, whatever comes up is performed as it does. */
  begin(held: Held): void {
    if (held.begun || held.state === null || held.state.outcome !== null) return;
    held.begun = true;
    for (const command of outstanding(held.program, held.state).commands) this.#perform(held, command);
    this.#answerAtOnce(held, held.state, [...held.state.pending.keys()]);
    this.tell(held, { fact: { type: 'tick' } });
  }

  tell(held: Held, told: Told): void {
    if (this.#stopped) return told.failed?.(new SluiceError('engine-closed', 'the engine is closed'));
    // It may have been let go of as idle since the caller took it.
    if (!this.runs.has(held.run)) this.runs.set(held.run, held);
    held.inbox.push(told);
    if (!held.dirty) {
      held.dirty = true;
      this.#dirty.push(held);
    }
    this.#schedule();
  }

  drop(run: RunId): void {
    const held = this.runs.get(run);
    if (held === undefined) return;
    held.calls.abortAll();
    held.cancelWake?.();
    this.runs.delete(run);
  }

  /** Aborts everything that is under way. What was not recorded is performed again by whoever takes the runs up. */
  stop(reason: Error): void {
    this.#stopped = true;
    for (const held of this.runs.values()) for (const told of held.inbox.splice(0)) told.failed?.(reason);
    for (const run of [...this.runs.keys()]) this.drop(run);
  }

  #lose(held: Held): void {
    // It may have been lost already, and taken up again.
    if (this.runs.get(held.run) !== held) return;
    this.drop(held.run);
    this.#options.onLost(held.run);
  }

  #schedule(): void {
    if (this.#pumping) return;
    this.#pumping = true;
    // From now on, not from the first turn on: whether the machine is slow must not decide what a virtual clock says.
    const done = this.#options.clock.busy?.();
    if (performance.now() - this.#yieldedAt > TURN_MAX_MS) {
      setImmediate(() => {
        this.#yieldedAt = performance.now();
        void this.#pump(done);
      });
    } else queueMicrotask(() => void this.#pump(done));
  }

  async #pump(done: (() => void) | undefined): Promise<void> {
    try {
      while (this.#dirty.length > 0 && !this.#stopped) {
        if (performance.now() - this.#yieldedAt > TURN_MAX_MS) {
          await new Promise((resolve) => setImmediate(resolve));
          this.#yieldedAt = performance.now();
        }
        await this.#turn(this.#dirty.splice(0));
      }
    } catch (error) {
      this.#options.onFault(error as Error);
    } finally {
      this.#pumping = false;
      done?.();
      if (this.#dirty.length > 0 && !this.#stopped) this.#schedule();
    }
  }

  async #turn(batch: readonly Held[]): Promise<void> {
    const now = this.#options.clock.now();
    const turns: Turned[] = [];
    const appends: Append[] = [];
    for (const held of batch) {
      held.dirty = false;
      const turned = this.#settle(held, now);
      if (turned === null) continue;
      held.storing = true;
      turns.push(turned);
      if (turned.append !== null) appends.push(turned.append);
    }
    if (appends.length > 0) {
      const results = await this.#commit(appends, turns);
      let index = 0;
      for (const turned of turns) if (turned.append !== null) turned.stale = results[index++] === 'stale';
    }
    for (const turned of turns) {
      turned.held.storing = false;
      this.#committed(turned);
    }
  }

  /** Whoever told a run something learns that it could not be stored. */
  async #commit(appends: readonly Append[], turns: readonly Turned[]): Promise<readonly ('committed' | 'stale')[]> {
    try {
      return await this.#options.journal.commit(this.id, appends);
    } catch (error) {
      for (const { told } of turns) for (const each of told) each.failed?.(error as Error);
      throw error;
    }
  }

  /** Advances the fold in memory. Nothing of it is acted upon before it is stored. */
  #settle(held: Held, now: number): Turned | null {
    const told = held.inbox;
    held.inbox = [];
    if (this.runs.get(held.run) !== held) {
      // It was let go of in the meantime; somebody may have taken it up already.
      for (const each of told) each.failed?.(new SluiceError('lease-lost', `run ${held.run} is in other hands`));
      return null;
    }
    const previous = held.head;
    try {
      const { state, events, refusals } = settle(held.program, held.state, told.map(factOf), now);
      held.state = state;
      const append = events.length === 0 || state === null ? null : this.#append(held, state, events);
      return { held, told, events, refusals, append, previous, stale: false };
    } catch (error) {
      // A broken invariant stops this run, loudly, and no other.
      for (const each of told) each.failed?.(error as Error);
      this.drop(held.run);
      this.#options.onBroken(held.run, error as Error);
      return null;
    }
  }

  #append(held: Held, state: RunState, events: readonly Event[]): Append {
    const { flow } = held.program;
    const after = held.seq;
    const at = (events[0] as Event).at;
    const body = encodeEvents(held.program, events, held.shelf.pack);
    const hash = link(held.head, after, at, body);
    held.seq = after + events.length;
    held.head = hash;
    held.eventsSince += events.length;
    held.bytesSince += body.length;
    const before = held.entry;
    const entry = before?.status === 'running' && statusOf(state) === 'running' ? before : entryOf(state);
    const changed = before !== entry && (before === null || !sameEntry(before, entry));
    held.entry = entry;
    const first = { flow: flow.id, notation: flow.notation, startedAt: at };
    return {
      run: held.run,
      after,
      count: events.length,
      at,
      body,
      hash,
      blobs: held.shelf.takeNew(),
      entry: after === 0 ? { ...entry, first } : changed ? entry : null,
      flow: after === 0 ? { hash: flow.hash, text: graphText(flow).text } : null,
      snapshot: takeSnapshot(held, this.#options.snapshotEvery),
    };
  }

  #committed({ held, told, events, refusals, stale, previous }: Turned): void {
    if (stale) {
      const error = new SluiceError('lease-lost', `run ${held.run} is in other hands`);
      for (const each of told) each.failed?.(error);
      return this.#lose(held);
    }
    // Stopped while the commit was under way: it holds, and whoever takes the run up acts on it.
    if (held.state === null || this.#stopped) {
      acknowledge(told, refusals);
      return;
    }
    if (held.begun) this.#dispatch(held, held.state, events);
    // What it was told first has moved it.
    else if (events.length > 0) this.begin(held);
    if (events.length > 0) this.#options.onTurn(held, events, previous);
    acknowledge(told, refusals);
    this.#arm(held, held.state);
    if (held.state.outcome !== null || statusOf(held.state) === 'suspended') this.#options.onIdle(held);
  }

  #dispatch(held: Held, state: RunState, events: readonly Event[]): void {
    const asked: string[] = [];
    for (const event of events) {
      switch (event.type) {
        case 'effect.settled':
        case 'effect.dropped':
          held.calls.abort(event.key);
          break;
        case 'effect.requested':
        case 'undo.requested':
        case 'effect.judged': {
          const pending = state.pending.get(event.key);
          if (pending === undefined) break;
          if (pending.kind === 'ask') asked.push(event.key);
          else if (isOwed(pending) && !held.calls.has(pending.key, pending.attempt))
            this.#perform(held, commandOf(held.program, state, pending));
        }
      }
    }
    if (asked.length > 0) this.#answerAtOnce(held, state, asked);
  }

  #answerAtOnce(held: Held, state: RunState, keys: readonly string[]): void {
    const { performer } = this.#options;
    if (performer.answer === undefined) return;
    for (const key of keys) {
      const pending = state.pending.get(key);
      if (pending === undefined || pending.question === null || pending.observed !== null) continue;
      const { question, name, ordinal } = pending;
      const node = authorOf(nodeAt(held.program, pending.node));
      const answer = performer.answer({ question, name, ordinal, node });
      if (answer !== null) this.tell(held, { fact: { type: 'answer', id: question.id, answer } });
    }
  }

  #perform(held: Held, command: Command): void {
    const { clock } = this.#options;
    const call = held.calls.start(command, held.program.flow, clock, this.#options.hearing);
    if (command.notBefore > clock.now()) clock.at(command.notBefore, () => this.#go(held, call));
    else this.#go(held, call);
  }

  #go(held: Held, call: Call): void {
    const { command } = call;
    if (!held.calls.has(command.key, command.attempt)) return;
    // This process was held up for longer than its lease. Perhaps nobody has noticed.
    if (!this.#options.mayAct())
      return void this.#options.regain().then((regained) => (regained ? this.#go(held, call) : this.#lose(held)));
    const failed = (error: unknown): void => this.#returned(held, command, { ok: false, error: failureOf(error) });
    try {
      this.#options.performer.perform(call).then((result) => this.#returned(held, command, result), failed);
    } catch (error) {
      // A performer that throws before it gives a promise has failed like any other.
      failed(error);
    }
  }

  #returned(held: Held, { key, attempt, node }: Command, result: Settled): void {
    if (!held.calls.end(key, attempt) || this.#stopped) return;
    this.tell(held, { fact: { type: 'settle', key, attempt, result: priced(held, node, result) } });
  }

  /** Wakes the run when something of it is due. */
  #arm(held: Held, state: RunState): void {
    // A run at work looks at `wake`, which a look moves on; the roster's entry stands still until there is an event.
    const due = held.entry?.status === 'suspended' ? held.entry.due : state.wake;
    held.cancelWake?.();
    held.cancelWake = null;
    if (due === null || state.outcome !== null || this.runs.get(held.run) !== held) return;
    // A virtual clock lets the wait for a person pass where the flow bounds it, but does not eat up the run's own time.
    if (this.#options.clock.virtual && due === state.deadline && statusOf(state) === 'suspended') return;
    held.cancelWake = this.#options.clock.at(due, () => {
      held.cancelWake = null;
      this.tell(held, { fact: { type: 'tick' } });
    });
  }
}

interface Turned {
  readonly held: Held;
  readonly told: readonly Told[];
  readonly events: readonly Event[];
  readonly refusals: ReadonlyMap<number, Refusal>;
  readonly append: Append | null;
  readonly previous: string;
  stale: boolean;
}

/** What a tool costs is declared, not measured: a call that was made has cost it, whatever came of it. */
function priced({ program }: Held, id: string, result: Settled): Settled {
  const node = program.flow.nodes[id];
  const cost = node?.op === 'do' && node.effect.kind === 'tool' ? (node.effect.reserve.costMicros ?? 0) : 0;
  if (cost === 0 || result.used?.costMicros !== undefined) return result;
  return { ...result, used: { ...result.used, costMicros: cost } };
}

function factOf({ fact }: Told): Fact {
  return fact;
}

function acknowledge(told: readonly Told[], refusals: ReadonlyMap<number, Refusal>): void {
  for (let index = 0; index < told.length; index++) told[index]?.done?.(refusals.get(index) ?? null);
}

function entryOf(state: RunState): RunEntryChange {
  const status = statusOf(state);
  if (state.outcome !== null) return { status, code: state.outcome.code, due: null };
  let code: RunEntryChange['code'] = null;
  if (status === 'suspended') for (const { question } of state.pending.values()) code ??= question?.code ?? null;
  // `wake` may be too early, which would keep a run that waits for a person in memory, or take it up for nothing.
  return { status, code, due: status === 'suspended' ? earliest(state, -Infinity) : state.wake };
}

/** While a run works, its deadlines move with every step; the roster needs them only when nobody is at it. */
function sameEntry(a: RunEntryChange, b: RunEntryChange): boolean {
  // Whoever had the run to move it from one wait to the next gives it back with the entry that says so.
  return a.status === b.status && a.code === b.code && b.status === 'running';
}
