/**
 * The objects that tools returned or took, each with the names in it, its dates and its numbers. A line of an answer that names
 * objects, itself or by the line above it, may only give dates and amounts of those objects.
 */
import type { Json } from '@sluice-internal/kernel/expr';
import { flat, structured } from '../text/sources.ts';
import { valuesIn, type Stated } from '../text/read-values.ts';
import { isKnown, keysKnownFrom, type Keys } from '../text/value-keys.ts';
import { listTotals } from './calculations.ts';
import type { Observation } from './evidence.ts';

export interface Objects {
  /** The names in a line: whole values of plain fields, of one word with a capital letter or a digit. */
  namesIn(line: string): readonly string[];
  /** The name is an identifier of an object. */
  isSubject(name: string): boolean;
  /** The date is in none of the objects that these names fit best. `heading` is a name from a line above. */
  isForeignDate(stated: Stated, names: readonly string[], heading: string | null): boolean;
  /** The date is in none of the objects in the list `below` a line with these names. */
  isForeignToAll(stated: Stated, names: readonly string[], below: readonly string[]): boolean;
  /** The amount is in none of the objects with these names, and they have numbers. */
  isForeignAmount(stated: Stated, names: readonly string[]): boolean;
  /** The totals of the lists in the objects with these names. */
  totalsOf(names: readonly string[]): readonly number[];
  /** The keys of the days after the dates of objects that show a time of the next day (`07:05+1`). */
  readonly nextDays: readonly string[];
}

interface Entry {
  /** Names in the plain fields of the object, and names in the fields around it. */
  readonly own: ReadonlySet<string>;
  readonly around: ReadonlySet<string>;
  readonly dates: Keys;
  readonly numbers: () => Numbers;
  readonly totals: () => readonly number[];
}

/** Numbers of an object with the paths of their fields. */
type Numbers = readonly (readonly [string, number])[];

const NAME_MAX = 40;
const ENTRIES_MAX = 5_000;

export function objectsIn(observations: readonly Observation[]): Objects {
  const { entries, subjects, nextDays } = entriesIn(observations);
  const all = new Set(entries.flatMap(({ own }) => [...own]));
  const numbersOf = (name: string): Numbers => entries.flatMap(({ own, numbers }) => (own.has(name) ? numbers() : []));
  const datesOf = (names: readonly string[]): Keys | null => {
    const best = bestOf(entries, names);
    return best.length === 0 ? null : new Set(best.flatMap((entry) => [...entry.dates]));
  };
  const datesOfAll = (subjects: readonly string[], names: readonly string[] = []): Keys | null => {
    const each = subjects.map((subject) => datesOf([...names, subject]) ?? datesOf([subject]));
    return each.includes(null) ? null : new Set(each.flatMap((keys) => [...(keys ?? [])]));
  };
  return {
    namesIn: (line) => [...new Set(wordsIn(line))].filter((word) => all.has(word)),
    isSubject: (name) => subjects.has(name),
    isForeignDate: (stated, names, heading) => {
      const own = names.filter((name) => subjects.has(name));
      const keys =
        (heading === null ? null : datesOf([...names, heading])) ??
        (own.length > 1 ? datesOfAll(own) : null) ??
        (names.length > 1 ? datesOf(names) : null) ??
        (own.length === 1 ? datesOf(own) : null);
      return keys !== null && !isKnown(stated, keys);
    },
    isForeignToAll: (stated, names, below) => {
      const keys = below.length === 0 ? null : datesOfAll(below, names);
      return keys !== null && !isKnown(stated, keys);
    },
    isForeignAmount: ({ key, others = [] }, names) => {
      const values = [key, ...others].map(Number);
      const own = names.flatMap(numbersOf);
      if (own.some(([, each]) => values.includes(Math.abs(each)))) return false;
      const fields = new Set(own.map(([field]) => field));
      return entries.some(({ numbers }) =>
        numbers().some(([field, each]) => fields.has(field) && values.includes(Math.abs(each))),
      );
    },
    totalsOf: (names) => entries.flatMap(({ own, totals }) => (names.some((name) => own.has(name)) ? totals() : [])),
    nextDays,
  };
}

/** Every object of the observations, the identifiers of objects, and the days after overnight ones. */
function entriesIn(observations: readonly Observation[]): {
  readonly entries: readonly Entry[];
  readonly subjects: ReadonlySet<string>;
  readonly nextDays: readonly string[];
} {
  const entries: Entry[] = [];
  const subjects = new Set<string>();
  const nextDays = new Set<string>();
  const walk = (value: Json, names: readonly string[], dates: readonly string[]): void => {
    const data = structured(value);
    if (data === null || typeof data !== 'object' || entries.length >= ENTRIES_MAX) return;
    if (Array.isArray(data)) return data.forEach((each) => walk(each, names, dates));
    const fields = Object.values(data);
    for (const name of fields.flatMap(nameOf)) if (isIdentifier(name)) subjects.add(name);
    const plain = fields.filter((each) => each === null || typeof structured(each) !== 'object');
    const own = plain.flatMap(nameOf);
    const text = flat(data);
    const within = datesIn(text);
    const mine = within.length > 0 ? within : dates;
    const next = OVERNIGHT.test(text) ? mine.flatMap(dayAfter) : [];
    for (const key of next) nextDays.add(key);
    entries.push({
      own: new Set(own),
      around: new Set(names),
      dates: new Set([...mine, ...next]),
      numbers: once(() =>
        leavesIn(data, '').flatMap(([path, each]) => (typeof each === 'number' ? [[path, each] as const] : [])),
      ),
      totals: once(() => listTotals(data)),
    });
    const outer = [...dates, ...plain.flatMap((each) => datesIn(flat(each)))];
    for (const each of fields) walk(each, [...names, ...own], outer);
  };
  for (const { args, result = null, ok } of observations) {
    if (!ok) continue;
    walk(args, [], []);
    const asked = args !== null && typeof args === 'object' ? Object.values(args).flatMap(nameOf) : [];
    walk(result, asked, datesIn(flat(args)));
  }
  return { entries, subjects, nextDays: [...nextDays] };
}

/** A time of the next day. */
const OVERNIGHT = /\d:\d{2}(?::\d{2})?\s?\+1\b/;

function datesIn(text: string): readonly string[] {
  return valuesIn(text).flatMap((each) => (each.kind === 'date' ? keysKnownFrom(each) : []));
}

function dayAfter(key: string): readonly string[] {
  const [, month, day] = /^date (\d{1,2})\/(\d{1,2})$/.exec(key) ?? [];
  return day === undefined ? [] : [`date ${month}/${Number(day) + 1}`];
}

/** The objects that have all the names, and most of them in their own fields. */
function bestOf(entries: readonly Entry[], names: readonly string[]): readonly Entry[] {
  const fitting = entries
    .filter((entry) => entry.dates.size > 0 && names.every((name) => entry.own.has(name) || entry.around.has(name)))
    .map((entry) => ({ entry, score: names.filter((name) => entry.own.has(name)).length }));
  const most = Math.max(1, ...fitting.map(({ score }) => score));
  return fitting.filter(({ score }) => score === most).map(({ entry }) => entry);
}

function leavesIn(value: Json, path: string): readonly (readonly [string, Json])[] {
  const data = structured(value);
  if (data === null || typeof data !== 'object') return [[path, data]];
  return Object.entries(data).flatMap(([key, each]) =>
    leavesIn(each, Array.isArray(data) ? `${path}[]` : `${path}.${key}`),
  );
}

function once<T>(make: () => T): () => T {
  let made: { readonly value: T } | null = null;
  return () => (made ??= { value: make() }).value;
}

/** The name that a plain field holds: one word with a capital letter or a digit, and not a date or a number. */
function nameOf(value: Json): readonly string[] {
  if (typeof value !== 'string' || value.length > NAME_MAX || /^[\d.,:-]+$/.test(value)) return [];
  const [word = '', ...others] = wordsIn(value);
  return others.length === 0 && word === value && /[\p{Lu}\d]/u.test(word) && !isDate(word) ? [word] : [];
}

function isDate(word: string): boolean {
  return valuesIn(word).some(({ kind }) => kind === 'date' || kind === 'time');
}

/** A word with a digit, or of capital letters that are too many for an abbreviation. */
function isIdentifier(word: string): boolean {
  const [stated, ...others] = valuesIn(word);
  return (stated?.kind === 'id' && others.length === 0 && stated.text === word) || /^\p{Lu}{5,}$/u.test(word);
}

function wordsIn(text: string): readonly string[] {
  return (text.match(/[\p{L}\p{N}][\p{L}\p{N}_@.-]*/gu) ?? []).map((word) => word.replace(/[._-]+$/, ''));
}
