/**
 * One turn of a run, as every host takes it: from facts to the append that stores their events, and to what the host does once it is
 * stored. Reads no clock and calls nothing: the same run, facts and instant give the same turn.
 *
 * A host is a loop around it: load a run, `advance` it with facts, store the append, carry out the commands, and come back with the
 * facts of the calls. After a crash, the commands are those of `outstandingCommands`.
 */
import { commandOf, isAwaited, isOpenCall, outstanding, settle, statusOf } from '@sluice-internal/kernel/core';
import type { Program } from '@sluice-internal/kernel/core';
import { TURN_EVENTS } from '@sluice-internal/kernel/ir';
import type {
  Command,
  CompiledFlow,
  EffectKey,
  Event,
  Fact,
  Instant,
  Refusal,
  RunId,
  RunState,
} from '@sluice-internal/kernel/ir';
import { graphText, link } from '../journal/chain.ts';
import { encodeEvents } from '../journal/codec.ts';
import { entryOf } from '../journal/entry.ts';
import { hashSnapshot, takeSnapshot } from '../journal/snapshot.ts';
import type { Folding } from '../journal/snapshot.ts';
import type { Shelf } from '../journal/values.ts';
import type { Append, RunDetails, RunEntryChange } from '../ports/ports.ts';
import { detailsOf, openIn } from '../report/details.ts';

/** A run between two turns: everything that the next turn depends on. */
export interface Position extends Folding {
  readonly run: RunId;
  readonly program: Program;
  readonly shelf: Shelf;
  state: RunState | null;
  seq: number;
  /** The end of the chain. */
  head: string;
  /** The entry in the index; null if it is not known. */
  entry: RunEntryChange | null;
  /** What the lists of the store show of it; null if that is not known. */
  listed: { readonly seq: number; readonly questions: string } | null;
}

/** What a host does after the append is stored. */
export type HostCommand =
  /** Make the call, unless it is running, and come back with its fact. */
  | { readonly do: 'perform'; readonly command: Command }
  /** End the call: its result is known, or no longer wanted. */
  | { readonly do: 'abort'; readonly key: EffectKey }
  /** End the call, and come back with the fact whether it was sent. */
  | { readonly do: 'drop'; readonly key: EffectKey }
  /** A person or a signal must answer. */
  | { readonly do: 'await'; readonly key: EffectKey };

export interface Advance {
  /** Null when nothing happened. */
  readonly append: Append | null;
  /** In order. */
  readonly commands: readonly HostCommand[];
  readonly notes: {
    readonly events: readonly Event[];
    /** Why a fact was refused, by its place in the list. */
    readonly refusals: ReadonlyMap<number, Refusal>;
    /** The end of the chain before this turn. */
    readonly previousHead: string;
    /** When the run needs a tick; null if it needs none. */
    readonly due: Instant | null;
    /** The turn was broken off, and goes on in the next one. */
    readonly more: boolean;
  };
}

/**
 * Moves the run to the next position. A host that cannot store the append must drop the run and load it again. Throws on a broken
 * invariant.
 */
export function advance(run: Position, facts: readonly Fact[], now: Instant, snapshotEvery: number): Advance {
  const previousHead = run.head;
  const { state, events, refusals } = settle(run.program, run.state, facts, now);
  run.state = state;
  const append = events.length === 0 || state === null ? null : appendOf(run, state, events, snapshotEvery);
  const commands = state === null ? NO_COMMANDS : commandsOf(run.program, state, events);
  return {
    append,
    commands,
    notes: { events, refusals, previousHead, due: dueOf(run), more: events.length >= TURN_EVENTS },
  };
}

const NO_COMMANDS: readonly HostCommand[] = [];

/** The commands of a run that was just loaded. */
export function outstandingCommands(program: Program, state: RunState): readonly HostCommand[] {
  const calls = outstanding(program, state).commands.map((command): HostCommand => ({ do: 'perform', command }));
  const pending = [...state.pending.values()];
  // An earlier process was asked to end these calls.
  const drops = pending.filter(({ dropped }) => dropped !== undefined);
  return [
    ...calls,
    ...drops.map(({ key }): HostCommand => ({ do: 'drop', key })),
    ...pending.filter(isAwaited).map(({ key }): HostCommand => ({ do: 'await', key })),
  ];
}

function commandsOf(program: Program, state: RunState, events: readonly Event[]): readonly HostCommand[] {
  // No call of a run that was just taken over is running yet.
  if (events.some(({ type }) => type === 'run.resumed')) return outstandingCommands(program, state);
  let commands: HostCommand[] | null = null;
  for (const event of events) {
    const command = commandFor(program, state, event);
    if (command !== null) (commands ??= []).push(command);
  }
  return commands ?? NO_COMMANDS;
}

function commandFor(program: Program, state: RunState, event: Event): HostCommand | null {
  switch (event.type) {
    case 'effect.settled':
    case 'drop.answered':
      return { do: 'abort', key: event.key };
    case 'effect.dropped':
      return { do: state.pending.get(event.key)?.dropped === undefined ? 'abort' : 'drop', key: event.key };
    case 'effect.requested':
    case 'undo.requested':
    case 'effect.judged': {
      const pending = state.pending.get(event.key);
      if (pending === undefined) return null;
      if (isAwaited(pending)) return { do: 'await', key: event.key };
      return isOpenCall(pending) ? { do: 'perform', command: commandOf(program, state, pending) } : null;
    }
    default:
      return null;
  }
}

/** The entry of a running run is not updated with every step, so its `due` may be out of date. */
function dueOf({ state, entry }: Position): Instant | null {
  if (state === null || state.outcome !== null) return null;
  return entry?.status === 'suspended' ? entry.due : state.wake;
}

function appendOf(run: Position, state: RunState, events: readonly Event[], snapshotEvery: number): Append {
  const append = appendEvents(run, events, snapshotEvery);
  const entry = changeEntry(run, state);
  const details = changeDetails(run, state, events, entry);
  if (entry === null) return details === null ? append : { ...append, details };
  const first = append.after === 0 ? firstOf(run.program.flow, state, entry, append.at) : {};
  return { ...append, entry, ...(details === null ? {} : { details }), ...first };
}

/** The events after which lists show new facts of a run that works. */
const FACTS_EVERY = 100;

/** What lists show of the run, or null if it stays: it changes with the entry, with the open questions, and now and then. */
function changeDetails(
  run: Position,
  state: RunState,
  events: readonly Event[],
  entry: RunEntryChange | null,
): RunDetails | null {
  const { listed } = run;
  const mayAsk = listed === null || listed.questions !== '' || events.some(isQuestion);
  const questions = mayAsk
    ? openIn(state)
        .map(({ question }) => question?.id)
        .join(' ')
    : '';
  const isSame = listed !== null && listed.questions === questions && run.seq - listed.seq < FACTS_EVERY;
  if (entry === null && isSame) return null;
  run.listed = { seq: run.seq, questions };
  return detailsOf(run.program, state);
}

function isQuestion(event: Event): boolean {
  return event.type === 'effect.requested' && event.question !== undefined;
}

/** Moves the end of the run in memory. Without a number of events no snapshot is taken. */
export function appendEvents(run: Position, events: readonly Event[], snapshotEvery = 0): Append {
  const { run: id, program, shelf, seq: after } = run;
  const { at } = events[0] as Event;
  const count = events.length;
  run.eventsSince += count;
  const frozen = takeSnapshot(run, snapshotEvery);
  const body = encodeEvents(program, events, shelf.pack, frozen === null ? null : hashSnapshot(frozen));
  const hash = link(run.head, after, at, body);
  run.seq = after + count;
  run.head = hash;
  run.bytesSince += body.length;
  const snapshot = frozen === null ? null : { seq: run.seq, hash, body: frozen };
  return { run: id, after, count, at, body, hash, blobs: shelf.takeNew(), entry: null, flow: null, snapshot };
}

/** The part of the first append that creates the run. */
export function firstOf(
  flow: CompiledFlow,
  { origin: { tenant, user, thread, parent } }: RunState,
  entry: RunEntryChange,
  startedAt: Instant,
): Partial<Append> {
  const whose = { tenant: tenant ?? null, user: user ?? null, thread: thread ?? null, parent: parent?.run ?? null };
  const first = { flow: flow.id, notation: flow.notation, startedAt, ...whose };
  return { entry: { ...entry, first }, flow: { hash: flow.hash, text: graphText(flow).text } };
}

/**
 * The new entry in the index, or null if it stays. The entry of a running run stays although its deadlines move: the index
 * needs them only when no process works on the run. An entry that suspends is always written, because it releases the run.
 */
function changeEntry(run: Position, state: RunState): RunEntryChange | null {
  if (run.entry?.status === 'running' && statusOf(state) === 'running') return null;
  run.entry = entryOf(state);
  return run.entry;
}
