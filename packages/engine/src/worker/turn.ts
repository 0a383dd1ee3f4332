/** One turn of a run: takes the messages from its inbox, settles its state, and prepares the append that stores the events. */
import { settle, statusOf } from '@sluice-internal/kernel/core';
import type { CompiledFlow, Event, Instant, Refusal, RunState } from '@sluice-internal/kernel/ir';
import { graphText, link } from '../journal/chain.ts';
import { encodeEvents } from '../journal/codec.ts';
import { entryOf } from '../journal/entry.ts';
import { hashSnapshot, takeSnapshot } from '../journal/snapshot.ts';
import type { Append, RunDetails, RunEntryChange } from '../ports/ports.ts';
import { detailsOf, openIn } from '../report/details.ts';
import type { Message, OwnedRun } from './owned-run.ts';

export interface Turn {
  readonly owned: OwnedRun;
  readonly received: readonly Message[];
  readonly events: readonly Event[];
  readonly refusals: ReadonlyMap<number, Refusal>;
  /** Null when nothing happened. */
  readonly append: Append | null;
  /** The end of the chain before this turn. */
  readonly previousHead: string;
}

/** Advances the state in memory. The caller acts on it only after the append is stored. Throws on a broken invariant. */
export function takeTurn(owned: OwnedRun, received: readonly Message[], now: Instant, snapshotEvery: number): Turn {
  const previousHead = owned.head;
  const facts = received.map(({ fact }) => fact);
  const { state, events, refusals } = settle(owned.program, owned.state, facts, now);
  owned.state = state;
  const append = events.length === 0 || state === null ? null : appendOf(owned, state, events, snapshotEvery);
  return { owned, received, events, refusals, append, previousHead };
}

export function acknowledge({ received, refusals }: Turn): void {
  for (let index = 0; index < received.length; index++) received[index]?.done?.(refusals.get(index) ?? null);
}

function appendOf(owned: OwnedRun, state: RunState, events: readonly Event[], snapshotEvery: number): Append {
  const append = appendEvents(owned, events, snapshotEvery);
  const entry = changeEntry(owned, state);
  const details = changeDetails(owned, state, events, entry);
  if (entry === null) return details === null ? append : { ...append, details };
  const first = append.after === 0 ? firstOf(owned.program.flow, state, entry, append.at) : {};
  return { ...append, entry, ...(details === null ? {} : { details }), ...first };
}

/** The events after which lists show new facts of a run that works. */
const FACTS_EVERY = 100;

/** What lists show of the run, or null if it stays: it changes with the entry, with the open questions, and now and then. */
function changeDetails(
  owned: OwnedRun,
  state: RunState,
  events: readonly Event[],
  entry: RunEntryChange | null,
): RunDetails | null {
  const { listed } = owned;
  const mayAsk = listed === null || listed.questions !== '' || events.some(isQuestion);
  const questions = mayAsk
    ? openIn(state)
        .map(({ question }) => question?.id)
        .join(' ')
    : '';
  const isSame = listed !== null && listed.questions === questions && owned.seq - listed.seq < FACTS_EVERY;
  if (entry === null && isSame) return null;
  owned.listed = { seq: owned.seq, questions };
  return detailsOf(owned.program, state);
}

function isQuestion(event: Event): boolean {
  return event.type === 'effect.requested' && event.question !== undefined;
}

/** Moves the end of the run in memory. Without a number of events no snapshot is taken. */
export function appendEvents(owned: OwnedRun, events: readonly Event[], snapshotEvery = 0): Append {
  const { run, program, shelf, seq: after } = owned;
  const { at } = events[0] as Event;
  const count = events.length;
  owned.eventsSince += count;
  const frozen = takeSnapshot(owned, snapshotEvery);
  const body = encodeEvents(program, events, shelf.pack, frozen === null ? null : hashSnapshot(frozen));
  const hash = link(owned.head, after, at, body);
  owned.seq = after + count;
  owned.head = hash;
  owned.bytesSince += body.length;
  const snapshot = frozen === null ? null : { seq: owned.seq, hash, body: frozen };
  return { run, after, count, at, body, hash, blobs: shelf.takeNew(), entry: null, flow: null, snapshot };
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
function changeEntry(owned: OwnedRun, state: RunState): RunEntryChange | null {
  if (owned.entry?.status === 'running' && statusOf(state) === 'running') return null;
  owned.entry = entryOf(state);
  return owned.entry;
}
