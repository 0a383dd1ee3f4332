/**
 * Finds the slots that the edits of a fork name. `input` and the paths that nodes write, such as `triage.output`, are names; so is
 * `<node>.output` for the slots that receive the result of a node's call.
 */
import { isDeepStrictEqual } from 'node:util';
import { hasPath, readPath } from '@sluice-internal/kernel/core';
import { isRecord, misspelt } from '@sluice-internal/kernel/expr';
import type { Json } from '@sluice-internal/kernel/expr';
import type { CompiledFlow, DoNode, Event, Node, RunState, SlotEdit, Slots, Write } from '@sluice-internal/kernel/ir';
import { SluiceError } from '../ports/errors.ts';
import { plainJson } from '../ports/plain-json.ts';

type Path = readonly string[];

export interface Past {
  readonly flow: CompiledFlow;
  readonly state: RunState;
  /** The events before the fork. */
  readonly events: readonly Event[];
  /** The events of the parent after the fork. */
  readonly rest: readonly Event[];
}

/** Throws if a name is unknown, or if its slot has no value yet: the flow would overwrite the edit. */
export function editsOf(past: Past, set: { readonly [name: string]: Json }): readonly SlotEdit[] {
  return Object.entries(set).flatMap(([name, given]) => {
    const value = plainJson(given);
    if (name === 'input') return inputEdits(past, value);
    refuseDecision(past, name);
    return placesOf(past, name).map(([slot = '', ...path]) => ({ slot, path, value }));
  });
}

/** The slot of a person's answer cannot be set. Otherwise a fork could skip an approval. */
function refuseDecision(past: Past, name: string): void {
  const places = [name.split('.'), ...(namesIn(past.flow).get(name)?.places ?? [])];
  for (const node of Object.values<Node>(past.flow.nodes)) {
    if (node.op !== 'do') continue;
    const decided = [...(node.effect.kind === 'ask' ? node.writes.map(placeOf) : []), ...answersOf(node)];
    if (!places.some((place) => decided.some((each) => isPrefix(place, each) || isPrefix(each, place)))) continue;
    const question = node.label.authored ?? node.label.name;
    throw new SluiceError(
      'bad-fork',
      `\`${name}\` holds the answer to \`${question}\`, which only a person can give`,
      `Fork at the event that asks it, and answer with \`--answer ${question}=CHOICE\` or \`sluice answer\`.`,
    );
  }
}

/** The slots that receive the answers of people to the controls of a call. */
function answersOf({ controls }: DoNode): readonly Path[] {
  return (controls?.walk ?? []).flatMap((each) =>
    each.how === 'ask' && each.with.into !== undefined ? [[each.with.into]] : [],
  );
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
  const { places, node } = namesIn(past.flow).get(name) ?? { places: isBelow(past, path) ? [path] : [] };
  if (places.length === 0) throw unknownSlot(name, past);
  const isOwn = (event: Event): event is Written => isWrite(event, places) && (node ?? event.node) === event.node;
  const present = places.filter((place) => holds(past.state, place));
  if (node === undefined && present.length > 0)
    return [...present, ...present.flatMap((place) => copiesOf(past, place))];
  const own = present.filter((place) => lastWrite(past, place)?.node === node);
  if (own.length > 0) return own;
  if (past.events.some(isOwn)) throw replaced(past, name, places);
  const later = past.rest.find(isOwn)?.seq;
  throw new SluiceError(
    'unknown-slot',
    `\`${name}\` has no value at event ${past.state.seq}`,
    later === undefined ? 'Fork at a later event.' : `The run wrote it with event ${later}. Fork there or later.`,
  );
}

function replaced({ events }: Past, name: string, places: readonly Path[]): SluiceError {
  const seq = events.findLast((event) => isWrite(event, places))?.seq ?? 0;
  return new SluiceError('unknown-slot', `\`${name}\` was replaced at event ${seq}`, `Fork before event ${seq}.`);
}

/**
 * Slots of the compiler that the same event gave the same value, such as the output of the latest agent, and that still have
 * it.
 */
function copiesOf(past: Past, place: Path): readonly Path[] {
  const event = lastWrite(past, place);
  const own = event?.writes.find((write) => isPrefix(placeOf(write), place));
  if (own === undefined || own.slot.startsWith(VARIABLE)) return [];
  const below = place.slice(placeOf(own).length);
  return (event?.writes ?? [])
    .filter(({ slot, mode, from }) => slot.startsWith('_') && mode === own.mode && isDeepStrictEqual(from, own.from))
    .map(placeOf)
    .filter((copy) => lastWrite(past, copy) === event)
    .map((copy) => [...copy, ...below]);
}

function lastWrite({ events }: Past, place: Path): Written | undefined {
  return events.findLast((event): event is Written => isWrite(event, [place]));
}

function isWrite(event: Event, places: readonly Path[]): event is Written {
  if (event.type !== 'slots.written') return false;
  const written = event.writes.map(placeOf);
  return places.some((place) => written.some((each) => isPrefix(each, place) || isPrefix(place, each)));
}

type Written = Extract<Event, { type: 'slots.written' }>;

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

interface Named {
  readonly places: readonly Path[];
  /** The node whose result the places hold, until another node writes them. */
  readonly node?: string;
}

/** Every authored name, with the places that it stands for. Slots that begin with `_` are the compiler's own. */
function namesIn(flow: CompiledFlow): ReadonlyMap<string, Named> {
  const names = new Map<string, Named>();
  const add = (name: string, places: readonly Path[], node?: string): void => {
    if (!names.has(name)) names.set(name, node === undefined ? { places } : { places, node });
  };
  const nodes = Object.values<Node>(flow.nodes);
  const written = nodes.flatMap((node) => ('writes' in node ? node.writes.map(placeOf) : []));
  for (const place of written) if (!(place[0] ?? '').startsWith('_')) add(place.join('.'), [place]);
  for (const [slot = ''] of written) if (slot.startsWith(VARIABLE)) add(slot.slice(VARIABLE.length), [[slot]]);
  for (const [id, node] of Object.entries<Node>(flow.nodes)) {
    const { enters } = node.label;
    if (node.op !== 'do' || enters === undefined) continue;
    const results = node.writes.filter(({ value }) => typeof value === 'string' && /^it\b/.test(value)).map(placeOf);
    if (results.length > 0) add(`${enters}.output`, results, id);
  }
  return names;
}

/** The prefix of slots with variables of the author. */
const VARIABLE = 'v_';

function placeOf({ slot, path = [] }: Pick<Write, 'slot' | 'path'>): Path {
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
  if (!isRecord(value)) return [];
  return Object.entries(value).map(([field, each]) => [`${name}.${field}`, each]);
}
