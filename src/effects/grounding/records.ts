/**
 * The objects that tools returned or took, each with the names in it and its dates. A line of an answer names some of them: a
 * reservation, a route, a flight. A date of the line must belong to the objects that the line names.
 */
import type { Json } from '../../expr/json.ts';
import { flat, structured } from '../policy/sources.ts';
import type { Observation } from './detector.ts';
import { valuesIn } from './read-values.ts';
import type { Stated } from './read-values.ts';

export interface Records {
  /** The names in a line: whole values of plain fields that have a capital letter or a digit. */
  namesIn(line: string): readonly string[];
  /** The name is an identifier of an object. */
  isSubject(name: string): boolean;
  /**
   * The keys of the dates of the objects that these names fit best, and of the objects around them that the line names itself;
   * null if no object with a date has all the names. `heading` is a name from a line above.
   */
  datesOf(names: readonly string[], heading?: string): ReadonlySet<string> | null;
  /** The numbers of the objects that have this name in a field of their own. */
  numbersOf(name: string): readonly number[];
}

interface Entry {
  /** Names in the plain fields of the object, and names in the fields around it. */
  readonly own: ReadonlySet<string>;
  readonly around: ReadonlySet<string>;
  readonly dates: ReadonlySet<string>;
  readonly data: Json;
}

const NAME_MAX = 40;
const ENTRIES_MAX = 5_000;
const ID_FIELD = /(?:^|[_-])(?:id|number|no|code|key|ref|reference)$|(?:Id|Number|Code|Key|Ref)$/;

/** `keysTaughtBy` gives the keys that a value makes known. */
export function recordsIn(
  observations: readonly Observation[],
  keysTaughtBy: (stated: Stated) => readonly string[],
): Records {
  const entries: Entry[] = [];
  const subjects = new Set<string>();
  const datesIn = (text: string): readonly string[] =>
    valuesIn(text).flatMap((each) => (each.kind === 'date' ? keysTaughtBy(each) : []));
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
      data,
    });
    const outer = [...dates, ...plain.flatMap((each) => datesIn(flat(each)))];
    for (const each of fields) walk(each, [...names, ...own], outer);
  };
  for (const { args, result = null, ok } of observations) {
    if (!ok) continue;
    walk(args, [], []);
    walk(result, namesOf(args), datesIn(flat(args)));
  }
  const all = new Set(entries.flatMap(({ own }) => [...own]));
  return {
    namesIn: (line) => [...new Set(wordsIn(line))].filter((word) => all.has(word)),
    isSubject: (name) => subjects.has(name),
    numbersOf: (name) => entries.flatMap(({ own, data }) => (own.has(name) ? numbersIn(data) : [])),
    datesOf: (names, heading) => {
      const best = bestOf(entries, heading === undefined ? names : [...names, heading]);
      const outer = names.filter((name) => subjects.has(name) && !best.some(({ own }) => own.has(name)));
      const dates = [...best, ...outer.flatMap((name) => bestOf(entries, [name]))].flatMap((each) => [...each.dates]);
      return best.length === 0 ? null : new Set(dates);
    },
  };
}

/** Of the objects that have all the names, those that have most of them in their own fields. */
function bestOf(entries: readonly Entry[], names: readonly string[]): readonly Entry[] {
  const fitting = entries
    .filter(({ own, around, dates }) => dates.size > 0 && names.every((name) => own.has(name) || around.has(name)))
    .map((entry) => ({ entry, score: names.filter((name) => entry.own.has(name)).length }));
  const most = Math.max(1, ...fitting.map(({ score }) => score));
  return fitting.filter(({ score }) => score === most).map(({ entry }) => entry);
}

function numbersIn(value: Json): readonly number[] {
  if (typeof value === 'number') return [value];
  if (value === null || typeof value !== 'object') return [];
  return (Array.isArray(value) ? value : Object.values(value)).flatMap(numbersIn);
}

function namesOf(args: Json): readonly string[] {
  if (args === null || typeof args !== 'object' || Array.isArray(args)) return [];
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
