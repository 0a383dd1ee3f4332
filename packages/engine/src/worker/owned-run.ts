/** A run in the memory of the process that works on it: its state, the end of its chain, its inbox and its calls. */
import { createProgram, evolve, isOpenCall, isPaused, statusOf } from '@sluice-internal/kernel/core';
import type { Program } from '@sluice-internal/kernel/core';
import type { Command, CompiledFlow, Fact, Instant, Refusal, RunId, RunState } from '@sluice-internal/kernel/ir';
import { SluiceError } from '../ports/errors.ts';
import { genesis, graphText } from '../journal/chain.ts';
import { decodeEvents } from '../journal/codec.ts';
import type { OpenRun } from '../journal/open-run.ts';
import { copyState, thawState } from '../journal/snapshot.ts';
import { storedPrint } from '../journal/stored-graph.ts';
import { createShelf } from '../journal/values.ts';
import type { Shelf } from '../journal/values.ts';
import type { Append, Clock, RunEntryChange, StoredRun } from '../ports/ports.ts';
import { Calls } from './calls.ts';
import { pure } from '../ports/pure.ts';
import { RunTime } from '../ports/run-time.ts';

/** A fact for a run. `done` is called with the refusal, if there is one; `failed`, if the fact could not be stored. */
export interface Message {
  readonly fact: Fact;
  readonly done?: (refusal: Refusal | null) => void;
  readonly failed?: (error: Error) => void;
}

export interface OwnedRun {
  readonly run: RunId;
  readonly program: Program;
  /** SHA-256 of the stored graph. */
  readonly print: string;
  readonly shelf: Shelf;
  readonly calls: Calls;
  /** Appends that are stored together with the next turn: the copied events of a fork. */
  prefix: readonly Append[];
  state: RunState | null;
  seq: number;
  head: string;
  inbox: Message[];
  /** Answers and signals of a script whose personal data is being replaced. */
  protecting: number;
  /** Open calls that another process may have made, by key and attempt. */
  readonly repeated: Set<string>;
  /** The next turn begins with the open calls that another process may have made. */
  toResume: boolean;
  /** In the worker's queue. */
  queued: boolean;
  /** Its outstanding calls are being performed. Until then it can be sent messages, and released unchanged. */
  begun: boolean;
  /** Its earliest events are being verified. Until then nothing is stored. */
  verifying: boolean;
  /** True if this process only ends a wait of the run. */
  passing?: true;
  /** True while a turn is being stored. The engine acts on the turn only afterwards. */
  storing: boolean;
  entry: RunEntryChange | null;
  /** What lists show since the last append that changed it; null if this process has not written it. */
  listed: { readonly seq: number; readonly questions: string } | null;
  cancelWake: (() => void) | null;
  /** Set with the first turn. */
  time: RunTime | null;
  /** Events and bytes since the last snapshot. */
  eventsSince: number;
  bytesSince: number;
  nextSnapshotAt: number;
  /** The event of the last signed checkpoint that this process made. */
  signedSeq: number;
}

export function newRun(run: RunId, program: Program, print: string = graphText(program.flow).print): OwnedRun {
  return {
    run,
    program,
    print,
    shelf: createShelf([]),
    calls: new Calls(),
    prefix: [],
    state: null,
    seq: 0,
    head: genesis(run, print),
    inbox: [],
    protecting: 0,
    repeated: new Set(),
    toResume: false,
    queued: false,
    begun: false,
    verifying: false,
    storing: false,
    entry: null,
    listed: null,
    cancelWake: null,
    time: null,
    eventsSince: 0,
    bytesSince: 0,
    nextSnapshotAt: 0,
    signedSeq: 0,
  };
}

/** Folds the stored events. `loadVerified` has checked their chain. */
export function restoreRun(run: RunId, stored: StoredRun, program: Program): OwnedRun {
  const shelf = createShelf(stored.blobs);
  const owned = { ...newRun(run, program, storedPrint(stored.flow)), shelf };
  if (stored.snapshot !== null) {
    owned.state = thawState(stored.snapshot.body);
    owned.seq = stored.snapshot.seq;
    owned.head = stored.snapshot.hash;
  }
  for (const append of stored.appends) {
    if (append.after < owned.seq) continue;
    const events = decodeEvents(program, append, shelf.unpack);
    // The hash does not cover the count.
    if (events.length !== append.count)
      throw new SluiceError(
        'chain-broken',
        `run \`${run}\` cannot continue: the count at event ${append.after + 1} was changed`,
        'Restore the database from a backup.',
      );
    for (const event of events) owned.state = evolve(owned.state, event);
    owned.seq = append.after + append.count;
    owned.head = append.hash;
    owned.eventsSince += append.count;
    owned.bytesSince += append.body.length;
  }
  markRepeated(owned);
  return owned;
}

/** Takes over the state of an open run. The two go on with states of their own. */
export function ownedFrom(open: OpenRun): OwnedRun {
  const { run, program, print, state, seq, head, blobs, eventsSince, bytesSince } = open;
  const owned = {
    ...newRun(run, program, print),
    ...{ shelf: createShelf(blobs), state: copyState(state), seq, head, eventsSince, bytesSince },
  };
  markRepeated(owned);
  return owned;
}

function markRepeated(owned: OwnedRun): void {
  const { state, repeated } = owned;
  for (const pending of state?.pending.values() ?? []) if (isOpenCall(pending)) repeated.add(attemptId(pending));
  owned.toResume = repeated.size > 0;
}

export function attemptId({ key, attempt }: Pick<Command, 'key' | 'attempt'>): string {
  return `${key} ${attempt}`;
}

/** A suspended run has no owner: another process may have continued it since. */
export function isSuspended({ state }: OwnedRun): boolean {
  return state !== null && statusOf(state) === 'suspended';
}

/** The time of the run, which jumps of the system clock do not affect. */
export function runNow(owned: OwnedRun, clock: Clock): Instant {
  owned.time ??= new RunTime(clock, owned.state?.now ?? -Infinity);
  return owned.time.now(owned.state !== null && isPaused(owned.state));
}

/** The program of a flow. Engines share it. */
export function programOf(flow: CompiledFlow): Program {
  let program = programs.get(flow);
  if (program === undefined) programs.set(flow, (program = createProgram(flow, pure)));
  return program;
}
const programs = new WeakMap<CompiledFlow, Program>();
