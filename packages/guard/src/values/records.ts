/**
 * The objects that tools returned or took, each with the names in it and its dates. A line of an answer names some of them: a
 * reservation, a route, a flight. A date of the line must belong to the objects that the line names.
 */
import { isRecord } from '@sluice-internal/kernel/expr';
import type { Json } from '@sluice-internal/kernel/expr';
import { flat, structured } from '../text/sources.ts';
import type { Observation } from './detector.ts';
import { valuesIn, type Stated } from '../text/read-values.ts';
import { isSameStem, stemsIn } from './words.ts';

export interface Records {
  /** The names in a line: whole values of plain fields that have a capital letter or a digit. */
  namesIn(line: string): readonly string[];
  /** The name is an identifier of an object. */
  isSubject(name: string): boolean;
  /**
   * The keys of the dates of the objects that these names fit best, and of the objects around them that the line names itself;
   * null if no object with a date has all the names. `heading` is a name from a line above. `label` holds the words in front of
   * the date: where they name a field with a date, only the dates of such fields count.
   */
  datesOf(names: readonly string[], heading?: string, label?: readonly string[]): ReadonlySet<string> | null;
  /** The numbers of the objects that have this name in a field of their own. */
  numbersOf(name: string): readonly number[];
  /** The sums of one field over all of these things that have it. Of a thing with several values of the field, each counts. */
  sumsOf(names: readonly string[]): readonly number[];
  /** True if one of the objects with these names has a number in a field with one of these words. */
  hasNumber(names: readonly string[], words: readonly string[]): boolean;
  /** The numbers of the objects with these names in fields that all of the words name. */
  labelled(names: readonly string[], words: readonly string[]): readonly number[];
  /** The number is not one of the objects with these names, but stands in the same field of another object. */
  isOthers(names: readonly string[], value: number): boolean;
}

interface Entry {
  /** Names in the plain fields of the object, and names in the fields around it. */
  readonly own: ReadonlySet<string>;
  readonly around: ReadonlySet<string>;
  readonly dates: ReadonlySet<string>;
  readonly dated: () => Fields<string>;
  readonly numbers: () => Numbers;
}

/** Values of an object with the paths of their fields. */
type Fields<Value> = readonly (readonly [string, Value])[];
type Numbers = Fields<number>;

const NAME_MAX = 40;
const ENTRIES_MAX = 5_000;
const ID_FIELD = /(?:^|[_-])(?:id|number|no|code|key|ref|reference)$|(?:Id|Number|Code|Key|Ref)$/;

type KeysTaughtBy = (stated: Stated) => readonly string[];

/** `keysKnownFrom` gives the keys that a value makes known. */
export function recordsIn(observations: readonly Observation[], keysKnownFrom: KeysTaughtBy): Records {
  const { entries, subjects } = entriesIn(observations, keysKnownFrom);
  const all = new Set(entries.flatMap(({ own }) => [...own]));
  const numbersOf = (name: string): Numbers => entries.flatMap(({ own, numbers }) => (own.has(name) ? numbers() : []));
  return {
    namesIn: (line) => [...new Set(wordsIn(line))].filter((word) => all.has(word)),
    isSubject: (name) => subjects.has(name),
    numbersOf: (name) => numbersOf(name).map(([, value]) => value),
    sumsOf: (names) => sumsOf(names.map(numbersOf)),
    hasNumber: (names, words) => names.flatMap(numbersOf).some(([field]) => isField(field, words)),
    labelled: (names, words) =>
      names
        .flatMap(numbersOf)
        .flatMap(([field, value]) => (words.every((word) => isField(field, [word])) ? [value] : [])),
    isOthers: (names, value) => {
      const own = names.flatMap(numbersOf);
      if (own.some(([, each]) => Math.abs(each) === value)) return false;
      const fields = new Set(own.map(([field]) => field));
      return entries.some(({ numbers }) => numbers().some(([field, each]) => each === value && fields.has(field)));
    },
    datesOf: (names, heading, label = []) => {
      const best = bestOf(entries, heading === undefined ? names : [...names, heading]);
      const outer = names.filter((name) => subjects.has(name) && !best.some(({ own }) => own.has(name)));
      const all = [...best, ...outer.flatMap((name) => bestOf(entries, [name]))];
      const labelled = all.flatMap(({ dated }) =>
        dated().flatMap(([path, key]) => (isField(path, label) ? [key] : [])),
      );
      if (labelled.length > 0) return new Set(labelled);
      return best.length === 0 ? null : new Set(all.flatMap(({ dates }) => [...dates]));
    },
  };
}

/** Every object of the observations, and the identifiers of objects. */
function entriesIn(
  observations: readonly Observation[],
  keysKnownFrom: KeysTaughtBy,
): { readonly entries: readonly Entry[]; readonly subjects: ReadonlySet<string> } {
  const entries: Entry[] = [];
  const subjects = new Set<string>();
  const datesIn = (text: string): readonly string[] =>
    valuesIn(text).flatMap((each) => (each.kind === 'date' ? keysKnownFrom(each) : []));
  const walk = (value: Json, names: readonly string[], dates: readonly string[]): void => {
    const data = structured(value);
    if (data === null || typeof data !== 'object' || entries.length >= ENTRIES_MAX) return;
    if (Array.isArray(data)) return data.forEach((each) => walk(each, names, dates));
    const fields = Object.values(data);
    for (const [key, each] of Object.entries(data))
      for (const name of nameOf(each)) if (ID_FIELD.test(key) || isIdentifier(name)) subjects.add(name);
    const plain = fields.filter((each) => each === null || typeof structured(each) !== 'object');
    const own = plain.flatMap(nameOf);
    const within = datesIn(flat(data));
    entries.push({
      own: new Set(own),
      around: new Set(names),
      dates: new Set(within.length > 0 ? within : dates),
      dated: once(() =>
        leavesIn(data, '').flatMap(([path, each]) => datesIn(String(each)).map((key) => [path, key] as const)),
      ),
      numbers: once(() =>
        leavesIn(data, '').flatMap(([path, each]) => (typeof each === 'number' ? [[path, each] as const] : [])),
      ),
    });
    const outer = [...dates, ...plain.flatMap((each) => datesIn(flat(each)))];
    for (const each of fields) walk(each, [...names, ...own], outer);
  };
  for (const { args, result = null, ok } of observations) {
    if (!ok) continue;
    walk(args, [], []);
    walk(result, namesOf(args), datesIn(flat(args)));
  }
  return { entries, subjects };
}

const SUMS_MAX = 8;
/** Names of fields that hold an amount of money. */
const PRICED =
  /price|cost|fare|fee|amount|total|charge|balance|preis|betrag|prix|montant|precio|importe|prezzo|importo|preço|valor/i;

function sumsOf(things: readonly Numbers[]): readonly number[] {
  const fields = new Set(
    things.flatMap((numbers) => numbers.map(([field]) => field)).filter((each) => PRICED.test(each)),
  );
  return [...fields].flatMap((field) => {
    const values = things
      .map((numbers) => [...new Set(numbers.flatMap(([each, value]) => (each === field ? [value] : [])))])
      .filter((each) => each.length > 0);
    if (values.length < 2) return [];
    let sums: readonly number[] = [0];
    for (const each of values) {
      sums = [...new Set(sums.flatMap((sum) => each.map((value) => sum + value)))];
      if (sums.length > SUMS_MAX) return [];
    }
    return sums;
  });
}

/** The objects that have all the names, and most of them in their own fields. */
function bestOf(entries: readonly Entry[], names: readonly string[]): readonly Entry[] {
  const fitting = entries
    .filter(({ own, around, dates }) => dates.size > 0 && names.every((name) => own.has(name) || around.has(name)))
    .map((entry) => ({ entry, score: names.filter((name) => entry.own.has(name)).length }));
  const most = Math.max(1, ...fitting.map(({ score }) => score));
  return fitting.filter(({ score }) => score === most).map(({ entry }) => entry);
}

function leavesIn(value: Json, path: string): Fields<Json> {
  const data = structured(value);
  if (data === null || typeof data !== 'object') return [[path, data]];
  return Object.entries(data).flatMap(([key, each]) =>
    leavesIn(each, Array.isArray(data) ? `${path}[]` : `${path}.${key}`),
  );
}

/** One of the words names the field. */
function isField(path: string, words: readonly string[]): boolean {
  return (
    words.length > 0 && stemsIn(path.replaceAll('_', ' ')).some((each) => words.some((word) => isSameStem(each, word)))
  );
}

function once<T>(make: () => T): () => T {
  let made: { readonly value: T } | null = null;
  return () => (made ??= { value: make() }).value;
}

function namesOf(args: Json): readonly string[] {
  if (!isRecord(args)) return [];
  return Object.values(args).flatMap(nameOf);
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

function isIdentifier(word: string): boolean {
  const [stated, ...others] = valuesIn(word);
  return stated?.kind === 'id' && others.length === 0 && stated.text === word;
}

function wordsIn(text: string): readonly string[] {
  return (text.match(/[\p{L}\p{N}][\p{L}\p{N}_@.-]*/gu) ?? []).map((word) => word.replace(/[._-]+$/, ''));
}
