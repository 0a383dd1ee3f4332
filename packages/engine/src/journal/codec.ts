/**
 * The stored form of the events of one turn: a JSON list with one or two events per line, then a checksum for every fact,
 * then `@` and the hash of the snapshot of the state after these events, if one is stored with them.
 * Decoding gives back exactly the encoded events. A stored form never changes its meaning: a new form gets a new tag.
 */
import { crc32 } from 'node:zlib';
import { parseJson } from '@sluice-internal/kernel/expr';
import type { Json } from '@sluice-internal/kernel/expr';
import type { Program } from '@sluice-internal/kernel/core';
import type { Event, EventBody } from '@sluice-internal/kernel/ir';
import type { StoredAppend } from '../ports/ports.ts';
import { decodeEvent, encodeEvent } from './codec-events.ts';
import type { PackValue, UnpackValue } from './codec-events.ts';
import { decodeByGraph, encodeAccepted, encodeByGraph } from './codec-graph.ts';

/** `snapshotHash` is the hash of the snapshot that is stored with these events. */
export function encodeEvents(
  program: Program,
  events: readonly Event[],
  pack: PackValue,
  snapshotHash: string | null = null,
): string {
  let text = '[';
  let marks = '';
  for (let i = 0; i < events.length; i++) {
    const event = events[i] as Event;
    if (i > 0) text += ',\n';
    const both = encodeAccepted(program, event, events[i + 1]);
    if (both !== null) {
      text += both;
      i += 1;
      continue;
    }
    const encoded = encodeOne(program, event, pack);
    text += encoded;
    if (isFact(event)) marks += `,${crc32(encoded)}`;
  }
  return snapshotHash === null ? `${text}${marks}]` : `${text}${marks},\n"@${snapshotHash}"]`;
}

/** The snapshot hash that an append carries, or null. It is the last entry of the list. */
export function snapshotHashIn(body: string): string | null {
  return /,\n"@([\w-]{43})"\]$/.exec(body)?.[1] ?? null;
}

/** True for events that record a fact. A replay derives the others, so only facts need a checksum. */
function isFact({ type }: EventBody): boolean {
  return FACTS.has(type);
}

const FACTS: ReadonlySet<EventBody['type']> = new Set([
  'effect.settled',
  'run.started',
  'run.halted',
  'run.broken',
  'limit.met',
  'run.repinned',
  'guidance.given',
  'run.forked',
  'budget.granted',
  'answer.counted',
  'answer.refused',
  'question.notified',
  'review.saturated',
]);

/** The first fact that does not match its checksum. The hash shows that an append was changed; this shows where. */
export function damagedFact(program: Program, body: string, events: readonly Event[], pack: PackValue): Event | null {
  const marks = (parseJson(body) as Json[]).filter((each) => typeof each === 'number');
  const facts = events.filter(isFact);
  return facts.find((event, index) => crc32(encodeOne(program, event, pack)) !== marks[index]) ?? null;
}

export function decodeEvents(
  program: Program,
  { body, after, at }: Pick<StoredAppend, 'body' | 'after' | 'at'>,
  unpack: UnpackValue,
): readonly Event[] {
  const events: EventBody[] = [];
  for (const each of parseJson(body) as Json[]) {
    if (typeof each === 'number' || typeof each === 'string') continue;
    if (!Array.isArray(each) || !decodeByGraph(program, each, at, unpack, events))
      events.push(decodeEvent(each, at, unpack));
  }
  for (let i = 0; i < events.length; i++) {
    // The object was created by this call, so it can be completed in place.
    const event = events[i] as Mutable<Event>;
    event.seq = after + 1 + i;
    event.at = at;
  }
  return events as unknown as readonly Event[];
}

/** The number of events before the first unreadable line. */
export function readableEvents(program: Program, body: string): number {
  const events: EventBody[] = [];
  for (const line of body.replace(/^\[/, '').split(',\n')) {
    try {
      const each = parseJson(line);
      if (!Array.isArray(each) || !decodeByGraph(program, each, 0, (value) => value, events))
        events.push(decodeEvent(each, 0, (value) => value));
    } catch {
      break;
    }
  }
  return events.length;
}

function encodeOne(program: Program, event: Event, pack: PackValue): string {
  return encodeByGraph(program, event, pack) ?? encodeEvent(event, pack);
}

type Mutable<T> = { -readonly [K in keyof T]: T[K] };
