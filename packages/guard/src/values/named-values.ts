/**
 * Values that belong to another thing. A line of an answer names things by their identifiers, or stands below a line that does.
 * Its dates and amounts must be theirs; an amount may also be a sum over the things that the text names.
 */
import type { Json } from '@sluice-internal/kernel/expr';
import { flat, structured } from '../text/sources.ts';
import type { Evidence, Known, Line } from './detector.ts';
import type { Stated } from '../text/read-values.ts';
import { recordsIn, type Records } from './records.ts';
import { TOTAL } from './sums.ts';
import { isKnown, isNextDay, keysIn, keysKnownFrom, type Keys } from '../text/value-keys.ts';
import { stemsIn } from './words.ts';

interface Sources extends Pick<Evidence, 'given' | 'userTexts' | 'observations'> {
  /** An observation shows that something arrives on the next day. */
  readonly nights: boolean;
  /** Keys of the results of calculators. */
  readonly calculated: Keys;
  /** Keys of the days that people named without their month. */
  readonly days: Keys;
}

/** The sources with the keys of their values. */
interface Sorted extends Sources {
  readonly records: Records;
  readonly byPeople: Keys;
  readonly byAuthor: Keys;
  readonly observed: Keys;
  /** From the arguments of calls. */
  readonly asked: Keys;
}

export function linesFrom(sources: Sources): Pick<Known, 'subjectsIn' | 'isOdd' | 'isMultiple' | 'isFare'> {
  const { given, userTexts, observations } = sources;
  const records = recordsIn(observations, keysKnownFrom);
  const sorted: Sorted = {
    ...sources,
    records,
    byPeople: new Set([...userTexts.flatMap(keysIn), ...sources.days]),
    asked: new Set(observations.flatMap(({ args }) => keysIn(flat(args)))),
    byAuthor: new Set(given.flatMap(keysIn)),
    observed: new Set(observations.flatMap(({ args, result = null }) => keysIn(`${flat(args)}\n${flat(result)}`))),
  };
  const counts = new Set(observations.flatMap(({ args }) => lengthsIn(args)));
  const lengths = new Set([...counts, ...observations.flatMap(({ result = null }) => lengthsIn(structured(result)))]);
  const subjectsIn = (text: string): readonly string[] =>
    records.namesIn(text).filter((name) => records.isSubject(name));
  const isTimes = (value: number, amounts: readonly number[], times: readonly number[]): boolean =>
    times.some((count) => amounts.some((amount) => Math.abs(amount * count - value) < CENT));
  return {
    isMultiple: (value, line) => {
      if (isRated(value, line, given, lengths)) return true;
      const [subject, ...others] = subjectsIn(line);
      return subject !== undefined && others.length === 0 && isTimes(value, records.numbersOf(subject), [...counts]);
    },
    isFare: (value, text) => isTimes(value, records.sumsOf(subjectsIn(text)), [1, ...counts]),
    subjectsIn,
    isOdd: (stated, line, arrives) => {
      if (stated.kind === 'amount') return isOddAmount(stated, line, subjectsIn(line.line), sorted);
      return stated.kind === 'date' && isOddDate(stated, line, arrives, sorted);
    },
  };
}

/** The amount is the price of another thing, or an amount of the instructions in the place of a price. */
function isOddAmount(stated: Stated, { line, heading }: Line, named: readonly string[], sorted: Sorted): boolean {
  const { records, byPeople, byAuthor, observed, calculated, given } = sorted;
  const subjects = named.length > 0 || heading === null ? named : [heading];
  if (subjects.length === 0 || isKnown(stated, byPeople) || isKnown(stated, calculated)) return false;
  if (isKnown(stated, byAuthor) && !isKnown(stated, observed) && stated.within === undefined)
    return records.hasNumber(subjects, stemsIn(line)) && !isGivenFor(stated, line, given);
  const readings = [stated.key, ...(stated.others ?? [])].map(Number);
  // `Economy price: $174` below a flight: one of its own prices.
  const label = TOTAL.test(line) ? [] : labelOf(line, stated);
  const own = label.length === 0 ? [] : records.labelled(subjects, label);
  if (own.length > 0) return !readings.some((value) => own.includes(value));
  return readings.every((value) => records.isOthers(subjects, value));
}

function isOddDate(stated: Stated, { line, heading, below }: Line, arrives: boolean, sorted: Sorted): boolean {
  const { records, byPeople, byAuthor, observed, asked, nights, given } = sorted;
  if (isKnown(stated, byPeople)) return false;
  // No result for a date that a person named or a call asked for.
  if (isMissing(stated, line) && !isKnown(stated, byAuthor) && !isKnown(stated, asked)) return true;
  // A date of the instructions, such as today's, is neither a date of an object that the line describes by several names, nor
  // the value of a label (`Departure: May 15`).
  if (isKnown(stated, byAuthor) && records.namesIn(line).length <= 1)
    return LABELLED.test(line) && !isKnown(stated, observed) && !isGivenFor(stated, line, given);
  const isForeignTo = (dates: Keys | null): boolean => isForeign(stated, dates, nights && arrives);
  return (
    isForeignTo(datesNamed(records, line, heading, stated)) ||
    (below.length > 0 && isForeignTo(datesOfAny(records, below, records.namesIn(line))))
  );
}

/** The words before the value say that nothing was found for it. */
function isMissing({ text }: Stated, line: string): boolean {
  const before = line.slice(0, Math.max(0, line.indexOf(text)));
  return NOT_FOUND.test(before.split(/\b(?:but|however|aber)\b/iu).at(-1) ?? '');
}

const NOT_FOUND =
  /\b(?:could|can|did|was|were)(?:n['’]t|not| not)\b.{0,12}\b(?:find|found|locate|see)\b|\bunable to (?:find|locate)\b|\bthere (?:is|are|was|were) no\b|\bno\b.{0,40}\b(?:found|available)\b|\bkeine?n? .{0,40}gefunden\b/iu;

/** An amount of the author times the length of an observed list: `$50 per bag`, and two bags. */
function isRated(value: number, line: string, given: readonly string[], lengths: ReadonlySet<number>): boolean {
  if (RATE.test(line)) return false;
  return [...lengths].some((length) => {
    const key = String(Number((value / length).toFixed(2)));
    return isGivenFor({ kind: 'amount', key, text: key }, line, given);
  });
}

/** A line that states the price of one. */
const RATE = /\b(?:per|each|every|pro|je|par|chaque|por|cada|ogni|elk)\b/i;

/** A sentence of the author names the amount, and shares a word with the line. */
function isGivenFor(stated: Stated, line: string, given: readonly string[]): boolean {
  const words = stemsIn(line);
  return given
    .flatMap((text) => text.split(/\n|(?<=[.!?])\s/))
    .some(
      (sentence) =>
        isKnown(stated, new Set(keysIn(sentence))) && stemsIn(sentence).some((each) => words.includes(each)),
    );
}

const CENT = 0.005;
const COUNT_MAX = 9;

/** The lengths of the lists in the arguments of a call: two passengers, three items. */
function lengthsIn(args: Json): readonly number[] {
  if (args === null || typeof args !== 'object') return [];
  const inner = (Array.isArray(args) ? args : Object.values(args)).flatMap(lengthsIn);
  return Array.isArray(args) && args.length > 1 && args.length <= COUNT_MAX ? [args.length, ...inner] : inner;
}

/** The dates of the objects that a line names, with the line above it, alone, or by its one identifier. */
function datesNamed(
  records: Records,
  line: string,
  heading: string | null,
  stated: Stated,
): ReadonlySet<string> | null {
  const names = records.namesIn(line);
  const label = labelOf(line, stated);
  const subjects = names.filter((name) => records.isSubject(name));
  const above = heading === null ? null : records.datesOf(names, heading, label);
  if (above !== null) return above;
  if (names.length === 0) return null;
  if (subjects.length > 1) return datesOfAny(records, subjects);
  const alone = names.length > 1 ? records.datesOf(names, undefined, label) : null;
  return alone ?? (subjects.length === 1 ? records.datesOf(subjects, undefined, label) : null);
}

/** The words of `Flight date: 2024-05-21`, a line of one label and its value. */
function labelOf(line: string, { text }: Stated): readonly string[] {
  const [label = '', value = ''] = line.replace(/[*`]/g, '').split(/:\s+/);
  return value.startsWith(text) ? stemsIn(label).filter((word) => !DATING.has(word)) : [];
}

/** A short label with its value. */
const LABELLED = /^[\s\d.)*•–-]*\p{L}[\p{L} ]{2,30}\*{0,2}:\*{0,2}\s+\S/u;
/** Words that fit the name of any field with a date. */
const DATING: ReadonlySet<string> = new Set(stemsIn('date time day'));

/** The dates of all of these things; null if one of them has no date. */
function datesOfAny(
  records: Records,
  subjects: readonly string[],
  names: readonly string[] = [],
): ReadonlySet<string> | null {
  const all = subjects.map((each) => records.datesOf([...names, each]) ?? records.datesOf([each]));
  return all.some((dates) => dates === null) ? null : new Set(all.flatMap((dates) => [...(dates ?? [])]));
}

/** The date is not among these dates. */
function isForeign(stated: Stated, dates: ReadonlySet<string> | null, nextDay: boolean): boolean {
  return dates !== null && !isKnown(stated, dates) && !(nextDay && isNextDay(stated, dates));
}
