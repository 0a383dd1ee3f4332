/**
 * What is stored of the events of one turn: a JSON list, one event or two to a line, then a mark for every fact. Decoding
 * gives back exactly what was encoded, for ever: a new form gets a new tag.
 */
import { crc32 } from 'node:zlib';
import type { Json } from '../../expr/json.ts';
import type { Program } from '../../core/program.ts';
import type { Event, EventBody } from '../../ir/events.ts';
import { decodeEvent, encodeEvent } from './codec-events.ts';
import type { PackValue, UnpackValue } from './codec-events.ts';
import { decodeByGraph, encodeAccepted, encodeByGraph } from './codec-graph.ts';

export function encodeEvents(program: Program, events: readonly Event[], pack: PackValue): string {
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
  return `${text}${marks}]`;
}

/** Whether an event records what the world said. The others follow from these, and are found out by deciding again. */
export function isFact({ type }: EventBody): boolean {
  return type === 'effect.settled' || type === 'run.started' || type === 'run.halted';
}

/** The first fact that does not match the mark that was stored with it: the hash says that something was changed, this what. */
export function damagedFact(program: Program, body: string, events: readonly Event[], pack: PackValue): Event | null {
  const marks = (JSON.parse(body) as Json[]).filter((each) => typeof each === 'number');
  const facts = events.filter(isFact);
  return facts.find((event, index) => crc32(encodeOne(program, event, pack)) !== marks[index]) ?? null;
}

export function decodeEvents(
  program: Program,
  body: string,
  after: number,
  at: number,
  unpack: UnpackValue,
): readonly Event[] {
  const events: EventBody[] = [];
  for (const each of JSON.parse(body) as Json[]) {
    if (typeof each === 'number') continue;
    if (!Array.isArray(each) || !decodeByGraph(program, each, at, unpack, events))
      events.push(decodeEvent(each, at, unpack));
  }
  for (let i = 0; i < events.length; i++) {
    // Decoded for this call alone, so that it can become the event itself.
    const event = events[i] as Mutable<Event>;
    event.seq = after + 1 + i;
    event.at = at;
  }
  return events as unknown as readonly Event[];
}

/** How many events stand on the lines before the first that cannot be read any more. */
export function readableEvents(program: Program, body: string): number {
  const events: EventBody[] = [];
  for (const line of body.replace(/^\[/, '').split(',\n')) {
    try {
      const each = JSON.parse(line) as Json;
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
