/** A run as the store lists it, and the end of its journal. The chains of heads (`heads.ts`) record a hash of both. */
import { hash } from 'node:crypto';
import { parseJson } from '@sluice-internal/kernel/expr';
import type { RunId, RunStatus } from '@sluice-internal/kernel/ir';
import type { Codec, Place } from '@sluice-internal/engine/ports';
import { openedFacts } from './facts-row.ts';
import type { FactsRow } from './facts-row.ts';
import { placeOfMessage } from './places.ts';

/** All columns of a run but its owner, which changes with every claim. */
export interface Listing {
  readonly run: RunId;
  /** The hash of its graph. */
  readonly graph: string | null;
  readonly flow: string;
  readonly notation: string;
  readonly status: RunStatus;
  readonly code: string | null;
  readonly startedAt: number;
  readonly updatedAt: number;
  readonly due: number | null;
  readonly tenant: string | null;
  readonly user: string | null;
  readonly thread: string | null;
  readonly parent: string | null;
  /** A hash of its rows in `run_facts` and `questions`. */
  readonly details: string;
}

/** The end of a run, kept apart from the log. */
export interface RunEnd {
  readonly events: number;
  /** The hash of the last append. */
  readonly head: string;
  /** The number of its signed checkpoints. */
  readonly signed: number;
}

export function hashListing(store: string, listing: Listing): string {
  const { run, graph, flow, notation, status, code, startedAt, updatedAt, due, ...rest } = listing;
  const { tenant, user, thread, parent, details } = rest;
  const about = [run, graph, flow, notation, status, code, startedAt, updatedAt, due];
  return hash('sha256', JSON.stringify([store, ...about, tenant, user, thread, parent, details]), 'base64url');
}

export const SELECT_LISTED = `
  SELECT runs.id, runs.owner, runs.run, flows.hash, runs.flow, runs.notation, runs.status, runs.code,
    runs.started_at, runs.updated_at, runs.due, runs.tenant, runs.user, runs.thread, runs.parent, runs.details,
    (SELECT after + count FROM log WHERE run = runs.id ORDER BY after DESC LIMIT 1),
    (SELECT hash FROM log WHERE run = runs.id ORDER BY after DESC LIMIT 1),
    ends.events, ends.head, ends.signed, ends.listing, ends.at, ends.name,
    (SELECT json_array(seq, steps, input_tokens, output_tokens, cost_micros, questions, node, error, message)
      FROM run_facts WHERE run = runs.id),
    (SELECT json_group_array(json_array(position, question, node, asked_at, expires_at, tenant))
      FROM (SELECT * FROM questions WHERE questions.run = runs.id ORDER BY position))
  FROM runs LEFT JOIN flows ON flows.id = runs.graph LEFT JOIN ends ON ends.run = runs.id`;

export type ListedRow = readonly [
  id: number,
  owner: number | null,
  run: RunId,
  graph: string | null,
  flow: string,
  notation: string,
  status: RunStatus,
  code: string | null,
  startedAt: number,
  updatedAt: number,
  due: number | null,
  tenant: string | null,
  user: string | null,
  thread: string | null,
  parent: string | null,
  details: string,
  storedEvents: number | null,
  storedHead: string | null,
  endEvents: number | null,
  endHead: string | null,
  endSigned: number | null,
  endListing: string | null,
  endAt: number | null,
  endName: string | null,
  facts: string | null,
  questions: string,
];

export interface ReadRow {
  readonly id: number;
  readonly owner: number | null;
  readonly listing: Listing;
  /** The hash of its details as they are stored. */
  readonly shown: string;
  /** Null if its row was deleted. */
  readonly end: PlacedEnd | null;
  /** The end of the log. */
  readonly stored: { readonly events: number; readonly head: string };
}

/** The end of a run, with the hash of its listing and the place of its last entry in the chains of heads. */
export interface PlacedEnd extends RunEnd {
  readonly name: RunId;
  readonly listing: string;
  readonly at: number;
}

export function readRow(row: ListedRow, codec: Codec, store: string): ReadRow {
  const [id, owner, run, graph, flow, notation, status, code, startedAt, updatedAt, due, ...rest] = row;
  const [tenant, user, thread, parent, details, storedEvents, storedHead, ...ending] = rest;
  const [events, head, signed, listed, at, name, facts, questions] = ending;
  const about = { run, graph, flow, notation, status, code, startedAt, updatedAt, due };
  const opened = factsIn(facts, codec, placeOfMessage(store, run));
  // Without the key the details cannot be compared. Everything else can.
  const shown = opened === 'sealed' ? details : hashDetails(opened, parseRows(questions));
  const listing = { ...about, tenant, user, thread, parent, details };
  const stored = { events: storedEvents ?? 0, head: storedHead ?? '' };
  const end = { events: events ?? 0, head: head ?? '', signed: signed ?? 0, listing: listed ?? '', at: at ?? 0 };
  return { id, owner, listing, shown, end: name === null ? null : { ...end, name }, stored };
}

function factsIn(text: string | null, codec: Codec, place: Place): FactsRow | null | 'sealed' {
  return text === null ? null : (openedFacts(codec, place, parseJson(text) as unknown as FactsRow) ?? 'sealed');
}

/** The columns of `questions`, without the run, in their order. */
export type QuestionColumns = readonly [
  position: number,
  question: string,
  node: string,
  askedAt: number,
  expiresAt: number | null,
  tenant: string | null,
];

function parseRows(text: string): readonly QuestionColumns[] {
  return parseJson(text) as unknown as readonly QuestionColumns[];
}

/** Of the rows of a run in `run_facts` and `questions`. Empty if it has none. */
export function hashDetails(facts: FactsRow | null, questions: readonly QuestionColumns[]): string {
  const isEmpty = facts === null && questions.length === 0;
  return isEmpty ? '' : hash('sha256', JSON.stringify([facts, questions]), 'base64url');
}

/** The reason why the listing or the end of a run is not as it was stored, or null. */
export function brokenRow(store: string, row: ReadRow): string | null {
  if (row.end === null || !isListed(store, row) || row.shown !== row.listing.details)
    return 'its entry in the list of runs was changed';
  const { end, stored } = row;
  if (stored.events < end.events)
    return `its journal ends with event ${stored.events}, but ${end.events} events were stored`;
  const isLast = stored.events === end.events && stored.head === end.head;
  return isLast ? null : `event ${stored.events} is not the last one that was stored`;
}

/** True if the row was not changed from outside, and the log ends with the event that the row names. Its details may have changed. */
export function isIntact(store: string, row: ReadRow): row is ReadRow & { readonly end: PlacedEnd } {
  const { end, stored } = row;
  return end !== null && isListed(store, row) && stored.events === end.events && stored.head === end.head;
}

function isListed(store: string, { listing, end }: ReadRow): boolean {
  return end !== null && end.name === listing.run && hashListing(store, listing) === end.listing;
}

export function isWorking(status: RunStatus): boolean {
  return status === 'pending' || status === 'running';
}
