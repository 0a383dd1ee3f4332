/**
 * Data with the place where each part of it was written. The tree is plain: scalars, lists and maps, each with a range, map keys
 * with one of their own. Every value in it is JSON, at most `DEPTH_MAX` deep.
 */
import type { Json } from '@sluice-internal/kernel/expr';
import { LIMITS } from '@sluice-internal/kernel/ir';
import type { Report } from './diagnostics.ts';
import { nearest } from './nearest.ts';
import type { Range } from './range.ts';

export const DEPTH_MAX = LIMITS.documentDepth;

/** The help for a text that has no canonical form, and so no hash. */
export const HALF_PAIR_HELP = 'Look for an escape from `\\ud800` to `\\udfff` without its other half.';

/** Reports a text that has no canonical form, and returns its replacement. */
export function refuseHalfPair(range: Range, report: Report): LocatedScalar {
  const message = 'this text contains half of a surrogate pair, which is not a character';
  report.error('not-json', range, message, { help: HALF_PAIR_HELP });
  return poisonAt(range);
}

/** Stands where the source could not be read, after that was reported. */
export function poisonAt(range: Range): LocatedScalar {
  return { kind: 'scalar', value: null, range, poison: true };
}

/** No object can have this key. It is kept with a poison value, so that references to it are not reported as unknown. */
export const RESERVED_KEY = '__proto__';

export interface LocatedScalar {
  readonly kind: 'scalar';
  readonly value: string | number | boolean | null;
  readonly range: Range;
  /** Set if the source could not be read here. This is already reported, so later checks skip the value. */
  readonly poison?: true;
}
interface LocatedList {
  readonly kind: 'list';
  readonly items: readonly Located[];
  readonly range: Range;
}
export interface LocatedMap {
  readonly kind: 'map';
  readonly entries: ReadonlyMap<string, Entry>;
  readonly range: Range;
}
export type Located = LocatedScalar | LocatedList | LocatedMap;

export interface Entry {
  readonly key: string;
  readonly keyRange: Range;
  readonly value: Located;
}

export type Segment = string | number;
export type Path = readonly Segment[];

export function isPoisonValue(located: Located): boolean {
  return located.kind === 'scalar' && located.poison === true;
}

/** The value without its places. */
export function plain(located: Located): Json {
  if (located.kind === 'scalar') return located.value;
  if (located.kind === 'list') return located.items.map(plain);
  const object: { [key: string]: Json } = {};
  for (const [key, entry] of located.entries) if (key !== RESERVED_KEY) object[key] = plain(entry.value);
  return object;
}

/** The entry of a map; undefined if `located` is not a map or lacks the key. */
export function entryOf(located: Located | null | undefined, key: string): Entry | undefined {
  return located?.kind === 'map' ? located.entries.get(key) : undefined;
}

/** The entry of that name, or the entry with a misspelt key that can only mean this name. */
export function entryMeant(
  holder: Located | undefined,
  field: string,
  knownNames: () => readonly string[],
): Entry | undefined {
  const exact = entryOf(holder, field);
  if (exact !== undefined || holder?.kind !== 'map') return exact;
  const similar = [...holder.entries.values()].filter(({ key }) => nearest(key, [field]) === field);
  if (similar.length === 0) return undefined;
  const known = knownNames();
  return similar.find(({ key }) => !known.includes(key) && nearest(key, known) === field);
}

export function childOf(located: Located | null | undefined, key: Segment): Located | undefined {
  if (located?.kind === 'list') return typeof key === 'number' ? located.items[key] : undefined;
  return entryOf(located, String(key))?.value;
}

export function itemsOf(located: Located | null | undefined): readonly Located[] {
  return located?.kind === 'list' ? located.items : [];
}

/** The text of a scalar, or undefined where it is anything else. */
export function textOf(located: Located | null | undefined): string | undefined {
  return located?.kind === 'scalar' && typeof located.value === 'string' ? located.value : undefined;
}

/** The same map with only the entries whose key passes. */
export function withEntries(map: LocatedMap, keep: (key: string) => boolean): LocatedMap {
  return { ...map, entries: new Map([...map.entries].filter(([key]) => keep(key))) };
}

/** The place to point at for a whole value: a map is shown by its first key, since its range spans many lines. */
export function headRange(located: Located): Range {
  if (located.kind !== 'map') return located.range;
  const first = located.entries.values().next();
  return first.done ? located.range : first.value.keyRange;
}

/** More values than a compiler reads in the time that somebody waits. */
export function refuseMany(range: Range, report: Report): void {
  report.error('too-many-values', range, `this document has more than ${LIMITS.documentValues} values`, {
    help: 'Keep data out of the document: pass it as input, or let a tool fetch it.',
  });
}
