/**
 * Finds the slots that the edits of a fork name. `input` and the paths that nodes write, such as `triage.output`, are names; so is
 * `<node>.output` for the slots that receive the result of a node's call.
 */
import { isDeepStrictEqual } from 'node:util';
import { hasPath, readPath } from '../../core/slots.ts';
import { misspelt } from '../../expr/misspelt.ts';
import type { Json } from '../../expr/json.ts';
import type { Event, RunState, SlotEdit, Slots } from '../../ir/events.ts';
import type { CompiledFlow, Node, Write } from '../../ir/nodes.ts';
import { SluiceError } from '../errors.ts';

type Path = readonly string[];

export interface Past {
  readonly flow: CompiledFlow;
  readonly state: RunState;
  /** The events before the fork. */
  readonly events: readonly Event[];
  /** Finds the event at which the parent wrote a slot later. */
  readonly writtenLater: (slot: string) => number | null;
}

/** Throws if a name is unknown, or if its slot has no value yet: the flow would overwrite the edit. */
export function editsOf(past: Past, set: { readonly [name: string]: Json }): readonly SlotEdit[] {
  return Object.entries(set).flatMap(([name, value]) => {
    if (name === 'input') return inputEdits(past, value);
    refuseDecision(past, name);
    return placesOf(past, name).map(([slot = '', ...path]) => ({ slot, path, value }));
  });
}

/** The slot of a person's answer cannot be set. Otherwise a fork could skip an approval. */
function refuseDecision(past: Past, name: string): void {
  const places = [name.split('.'), ...(namesIn(past.flow).get(name) ?? [])];
  for (const node of Object.values<Node>(past.flow.nodes)) {
    if (node.op !== 'do' || node.effect.kind !== 'ask') continue;
    const decided = node.writes.map(placeOf);
    if (!places.some((place) => decided.some((each) => isPrefix(place, each) || isPrefix(each, place)))) continue;
    const question = node.label.authored ?? node.label.name;
    throw new SluiceError(
      'bad-fork',
      `\`${name}\` holds the answer to \`${question}\`, which only a person can give`,
      `Fork at the event that asks it, and answer with \`--answer ${question}=CHOICE\` or \`sluice answer\`.`,
    );
  }
}

function isPrefix(path: Path, of: Path): boolean {
  return path.length <= of.length && path.every((part, index) => part === of[index]);
}

/** Also replaces the slots that hold an unchanged copy of the input. */
function inputEdits({ state, events }: Past, value: Json): readonly SlotEdit[] {
  const copies = new Map<string, Path>([['input', []]]);
  for (const event of events) {
    if (event.type !== 'slots.written') continue;
    for (const { slot, path = [], from } of event.writes) {
      const isCopy = 'ref' in from && from.ref.length === 1 && from.ref[0] === 'input';
      if (isCopy && isUnchanged(state, [slot, ...path])) copies.set(slot, path);
    }
  }
  return [...copies].map(([slot, path]) => ({ slot, path, value }));
}

function isUnchanged({ threads, input }: RunState, path: Path): boolean {
  return [...threads.values()].some(({ slots }) => isDeepStrictEqual(readPath(slots, path), input));
}

function placesOf(past: Past, name: string): readonly Path[] {
  const path = name.split('.');
  const names = namesIn(past.flow);
  const places = names.get(name) ?? (isBelow(past, path) ? [path] : undefined);
  if (places === undefined) throw unknownSlot(name, past);
  const present = places.filter((place) => holds(past.state, place));
  if (present.length > 0) return present;
  const later = past.writtenLater(places[0]?.[0] ?? '');
  throw new SluiceError(
    'unknown-slot',
    `\`${name}\` has no value at event ${past.state.seq}`,
    later === null ? 'Fork at a later event.' : `The run wrote it with event ${later}. Fork there or later.`,
  );
}

/** A field inside a value that is there. */
function isBelow({ state }: Past, path: Path): boolean {
  return !(path[0] ?? '_').startsWith('_') && holds(state, path);
}

function holds({ threads }: RunState, path: Path): boolean {
  return [...threads.values()].some(({ slots }: { readonly slots: Slots }) => hasPath(slots, path));
}

function unknownSlot(name: string, past: Past): SluiceError {
  const known = ['input', ...namesIn(past.flow).keys(), ...fieldsIn(past.state)];
  const near = misspelt(name, known);
  const listed = known.filter((each) => holds(past.state, each.split('.')) || each.endsWith('.output'));
  return new SluiceError(
    'unknown-slot',
    `there is no slot \`${name}\``,
    near === undefined ? `The slots: ${[...new Set(listed)].slice(0, 20).join(', ')}.` : `Did you mean \`${near}\`?`,
  );
}

/** Every authored name, with the places that it stands for. Slots that begin with `_` are the compiler's own. */
function namesIn(flow: CompiledFlow): ReadonlyMap<string, readonly Path[]> {
  const names = new Map<string, readonly Path[]>();
  const add = (name: string, places: readonly Path[]): void => void (names.has(name) || names.set(name, places));
  const nodes = Object.values<Node>(flow.nodes);
  const written = nodes.flatMap((node) => ('writes' in node ? node.writes.map(placeOf) : []));
  for (const place of written) if (!(place[0] ?? '').startsWith('_')) add(place.join('.'), [place]);
  for (const [slot = ''] of written) if (slot.startsWith(VARIABLE)) add(slot.slice(VARIABLE.length), [[slot]]);
  for (const node of nodes) {
    const { enters } = node.label;
    if (node.op !== 'do' || enters === undefined) continue;
    const results = node.writes.filter(({ value }) => typeof value === 'string' && /^it\b/.test(value)).map(placeOf);
    if (results.length > 0) add(`${enters}.output`, results);
  }
  return names;
}

/** The prefix of slots that hold variables which an author named. */
const VARIABLE = 'v_';

function placeOf({ slot, path = [] }: Write): Path {
  return [slot, ...path];
}

/** One level of fields below the objects that slots hold, for suggestions. */
function fieldsIn({ threads }: RunState): readonly string[] {
  const slots = threads.get('0')?.slots ?? {};
  return Object.entries(slots).flatMap(([slot, value]) =>
    slot.startsWith('_')
      ? []
      : fieldNames(slot, value).flatMap(([name, field]) => [name, ...fieldNames(name, field).map(([each]) => each)]),
  );
}

function fieldNames(name: string, value: Json): readonly (readonly [string, Json])[] {
  if (value === null || typeof value !== 'object' || Array.isArray(value)) return [];
  return Object.entries(value).map(([field, each]) => [`${name}.${field}`, each]);
}
