/**
 * Values without a source: identifiers, dates, times and amounts that occur in no observation and in nothing that a person or
 * the author wrote. A neutral tool (a calculator) shows its result only if its arguments are known themselves.
 */
import type { Json } from '../../expr/json.ts';
import { even, flat, structured } from '../policy/sources.ts';
import type { Detector, Evidence, Finding, Known, Line, Observation } from './detector.ts';
import { numberKey } from './numbers.ts';
import { valuesIn } from './read-values.ts';
import { recordsIn } from './records.ts';
import type { Records } from './records.ts';
import { calculatedIn, listTotals, shownSums, wrongResults } from './sums.ts';
import type { Stated } from './read-values.ts';
import type { ToolWords } from './tool-words.ts';
import { isCommon, stemsIn } from './words.ts';

const SHOWN_MAX = 5;
/** Plain numbers from here on need a source, too. */
const LARGE = 100;

export const values: Detector = {
  detect: ({ text, answer, claims, values: strictness }, evidence) => {
    if (!claims || strictness === 'off' || evidence.tools.length === 0) return { findings: [] };
    const unknown = new Set<string>();
    const derived = new Set<string>();
    const lines = linesOf(text, evidence.known);
    const sums = shownSums(lines, evidence.known);
    for (const at of lines) {
      const { line } = at;
      for (const each of [...namedTwice(line), ...wrongResults(line)]) unknown.add(each);
      for (const each of valuesIn(line)) {
        if (each.kind === 'number' && !isJudged(each, strictness) && !evidence.known.isNear(each)) continue;
        const arrives = ARRIVES.test(line);
        if (!evidence.known.isOdd(each, at, arrives) && evidence.known.has(each, arrives)) continue;
        (sums.has(each.key) ? derived : unknown).add(each.text);
      }
    }
    return {
      findings: [
        ...unsupported('states', [...unknown], ', '),
        ...(strictness === 'all' ? words(answer, evidence) : []),
      ],
      confirmed: [...derived],
    };
  },
};

/** `on May 14 and May 14`: one of the two dates is wrong. */
function namedTwice(line: string): readonly string[] {
  const parts = line.split(/\s(?:and|und|et|en)\s/i);
  const dates = parts.map((part) => valuesIn(part).filter(({ kind }) => kind === 'date'));
  return parts.slice(1).flatMap((part, at) => {
    const before = dates[at]?.find(({ text }) => parts[at]?.endsWith(text) === true);
    const after = dates[at + 1]?.find(({ text }) => part.startsWith(text));
    return before !== undefined && before.key === after?.key ? [after.text] : [];
  });
}

const ITEM = /^\s*(?:[-*•–]|\d+[.)])\s|^\s{2,}\S/;

/** The lines of a text. An item belongs to the last line above it that names one thing and is not indented more. */
function linesOf(text: string, known: Known): readonly Line[] {
  let above: readonly { readonly indent: number; readonly name: string }[] = [];
  const lines = text.split('\n');
  return lines.map((line, at) => {
    const [subject, ...others] = known.subjectsIn(line);
    const isItem = ITEM.test(line);
    const indent = line.length - line.trimStart().length;
    if (line.trim() === '') return { line, heading: null, below: [] };
    above = isItem ? above.filter((each) => each.indent <= indent) : [];
    const heading = isItem ? (above.at(-1)?.name ?? null) : null;
    if (subject !== undefined && others.length === 0)
      above = [...above.filter((each) => each.indent < indent), { indent, name: subject }];
    const below =
      isItem || subject !== undefined ? [] : itemsAfter(lines, at).flatMap((each) => known.subjectsIn(each));
    return { line, heading, below };
  });
}

/** The items of the list that follows a line. */
function itemsAfter(lines: readonly string[], at: number): readonly string[] {
  const rest = lines.slice(at + 1);
  const end = rest.findIndex((line) => line.trim() !== '' && !ITEM.test(line));
  return end < 0 ? rest : rest.slice(0, end);
}

/** A line about an arrival, which may be on the next day. */
const ARRIVES = /\barriv|\bland(?:s|ing)?\b|next day|overnight|ankunft|arrivée|llegada|arrivo|chegada|aankomst/i;

/** Small numbers come from counting, round numbers are manners of speaking, and a year comes from the date of today. */
function isJudged(stated: Stated, strictness: 'names' | 'all'): boolean {
  if (strictness === 'all') return !isSmall(stated);
  const number = Number(stated.key);
  const isYear = Number.isInteger(number) && number >= 1900 && number < 2100;
  return number >= LARGE && !isYear && !/^\d0*$/.test(stated.key);
}

/** An answer of which half the words are unknown. */
function words(answer: string, { known }: Evidence): readonly Finding[] {
  const all = [...new Set(wordsIn(answer))].filter((word) => !isCommon(word) && !/^\d$/.test(word));
  const unknown = all.filter((word) => !known.hasWord(word) && !known.has({ kind: 'number', key: word, text: word }));
  return unknown.length * 2 >= all.length ? unsupported('says', unknown, ' ') : [];
}

function unsupported(verb: string, unknown: readonly string[], separator: string): readonly Finding[] {
  if (unknown.length === 0) return [];
  const text = unknown.slice(0, SHOWN_MAX).join(separator);
  const reason = `${verb} ${text}, which occurs in no observation and was not given`;
  return [{ kind: 'value', text, reason }];
}

/** Characters of one text that are read. */
const READ_MAX = 500_000;

/** The material of a run: texts by the author and by people, and observations. */
export interface Material {
  readonly given: readonly string[];
  readonly told: readonly string[];
  readonly observations: readonly Observation[];
  readonly tools: readonly ToolWords[];
}

type Keys = ReadonlySet<string>;

export function knownFrom({ given, told, observations, tools }: Material): Known {
  const keys = new Set<string>();
  const numbers = new Set<number>();
  const totals = new Set<number>();
  const calculated = new Set<string>();
  const seen = new Set<string>();
  let complete = true;
  const learn = (text: string): void => {
    complete &&= text.length <= READ_MAX;
    for (const key of keysIn(text)) {
      keys.add(key);
      if (key.startsWith('number ')) numbers.add(Number(key.slice(7)));
    }
  };
  const read = (text: string): void => {
    learn(text);
    for (const word of wordsIn(text.slice(0, READ_MAX))) seen.add(word);
  };
  // A text that was cut may contain any value.
  const knows = (stated: Stated, arrives = false): boolean =>
    !complete || isKnown(stated, keys) || isRounded(stated, numbers) || (nights && arrives && isNextDay(stated, keys));
  const nights = observations.some(({ result = null }) => NEXT_DAY.test(flat(result)));
  const isOperand = (stated: Stated): boolean => knows(stated) || isSmall(stated) || totals.has(Number(stated.key));
  const isNumber = (value: number): boolean => keys.has(`number ${value}`) || totals.has(value);
  [...given, ...told].forEach(read);
  for (const { name } of tools) learn(name);
  for (const { tool, args, ok, result = null, error = null } of observations) {
    if (tools.some((each) => each.name === tool && each.neutral)) {
      const results = valuesIn(flat(args)).every(isOperand) ? [flat(result)] : [];
      for (const text of [...results, ...calculatedIn(flat(args), isNumber).map(String)]) {
        learn(text);
        for (const key of keysIn(text)) calculated.add(key);
      }
      continue;
    }
    for (const text of [flat(result), flat(error), ...centsIn(structured(result))]) read(text);
    for (const total of listTotals(result)) totals.add(total);
    // A successful answer confirms that the things named in the arguments exist.
    if (ok && !isEmpty(result)) read(flat(args));
  }
  return {
    has: knows,
    isNear: (stated) => isNear(stated, numbers),
    isTotal: (value) => totals.has(value),
    hasWord: (word) => !complete || seen.has(word),
    ...linesFrom({ given, told, observations, nights, calculated }),
  };
}

function keysIn(text: string): readonly string[] {
  return valuesIn(text.slice(0, READ_MAX)).flatMap(keysTaughtBy);
}

/** Which things a line is about, and whether a date in it is another thing's. */
function linesFrom({
  given,
  told,
  observations,
  nights,
  calculated,
}: Omit<Material, 'tools'> & { readonly nights: boolean; readonly calculated: Keys }): Pick<
  Known,
  'subjectsIn' | 'isOdd' | 'isMultiple' | 'isFare'
> {
  const records = recordsIn(observations, keysTaughtBy);
  const byPeople: Keys = new Set(told.flatMap(keysIn));
  const authored: Keys = new Set(given.flatMap(keysIn));
  const byAnyone: Keys = new Set([...byPeople, ...authored]);
  const observed: Keys = new Set(
    observations.flatMap(({ args, result = null }) => keysIn(`${flat(args)}\n${flat(result)}`)),
  );
  const counts = new Set(observations.flatMap(({ args }) => lengthsIn(args)));
  const lengths = new Set([...counts, ...observations.flatMap(({ result = null }) => lengthsIn(structured(result)))]);
  return {
    isMultiple: (value, line) => {
      if (isRated(value, line, given, lengths)) return true;
      const [subject, ...others] = records.namesIn(line).filter((name) => records.isSubject(name));
      if (subject === undefined || others.length > 0) return false;
      const prices = records.numbersOf(subject);
      return [...counts].some((count) => prices.some((price) => Math.abs(price * count - value) < CENT));
    },
    isFare: (value, text) => {
      const sums = records.sumsOf(records.namesIn(text).filter((name) => records.isSubject(name)));
      return [1, ...counts].some((count) => sums.some((sum) => Math.abs(sum * count - value) < CENT));
    },
    subjectsIn: (line) => records.namesIn(line).filter((name) => records.isSubject(name)),
    isOdd: (stated, { line, heading, below }, arrives) => {
      if (stated.kind === 'amount') {
        const [subject, ...others] = records.namesIn(line).filter((name) => records.isSubject(name));
        const name = subject === undefined ? heading : others.length > 0 ? null : subject;
        if (name === null || isKnown(stated, byPeople) || isKnown(stated, calculated)) return false;
        const readings = [stated.key, ...(stated.others ?? [])].map(Number);
        // An amount of the instructions is not the price of an object that has prices.
        if (isKnown(stated, authored) && !isKnown(stated, observed) && stated.within === undefined)
          return records.hasNumber(name, stemsIn(line)) && !isGivenFor(stated, line, given);
        return readings.every((value) => records.isOthers(name, value));
      }
      if (stated.kind !== 'date') return false;
      // A line that describes an object by several names may not borrow a date from the instructions, such as today's.
      const borrowed = records.namesIn(line).length > 1 ? byPeople : byAnyone;
      if (isKnown(stated, borrowed)) return false;
      if (isForeign(stated, datesNamed(records, line, heading, stated), nights && arrives)) return true;
      return below.length > 0 && isForeign(stated, datesBelow(records, line, below), nights && arrives);
    },
  };
}

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
  if (subjects.length > 1 || names.length === 0) return null;
  const alone = names.length > 1 ? records.datesOf(names, undefined, label) : null;
  return alone ?? (subjects.length === 1 ? records.datesOf(subjects, undefined, label) : null);
}

/** The words of `Flight date: 2024-05-21`, a line of one label and its value. */
function labelOf(line: string, { text }: Stated): readonly string[] {
  const [label = '', value = ''] = line.replace(/[*`]/g, '').split(/:\s+/);
  return value.startsWith(text) ? stemsIn(label).filter((word) => !DATING.has(word)) : [];
}

/** Words that fit the name of any field with a date. */
const DATING: ReadonlySet<string> = new Set(stemsIn('date time day'));

/** The dates of the things in the list that a line announces. */
function datesBelow(records: Records, line: string, below: readonly string[]): ReadonlySet<string> | null {
  const names = records.namesIn(line);
  const all = below.map((each) => records.datesOf([...names, each]) ?? records.datesOf([each]));
  return all.some((dates) => dates === null) ? null : new Set(all.flatMap((dates) => [...(dates ?? [])]));
}

/** The date is not among these dates. */
function isForeign(stated: Stated, dates: ReadonlySet<string> | null, nextDay: boolean): boolean {
  return dates !== null && !isKnown(stated, dates) && !(nextDay && isNextDay(stated, dates));
}

/** An observation that shows the next day: `07:05+1`. */
const NEXT_DAY = /\d:\d{2}(?::\d{2})?\s?\+1\b|\bnext[- ]day\b/i;

function isKnown(stated: Stated, keys: ReadonlySet<string>): boolean {
  if (stated.kind === 'date' && stated.year !== undefined) {
    const dated = datesOf(stated);
    if (dated.some((key) => keys.has(`date ${stated.year}-${key}`))) return true;
    // The year counts where an observation or a person gave one for that day.
    return dated.some((key) => keys.has(`date ${key}`) && !keys.has(`dated ${key}`));
  }
  return keysOf(stated).some((key) => keys.has(key));
}

/** `12.5M` is known if a known number rounds to it. */
function isRounded({ key, within }: Stated, numbers: ReadonlySet<number>): boolean {
  if (within === undefined) return false;
  const value = Number(key);
  for (const each of numbers) if (Math.abs(each - value) <= within * 1.0001) return true;
  return false;
}

/** `8.54` beside a known 8.45: two decimals, of which one digit or the order of two digits is wrong. */
function isNear({ text, key, within }: Stated, numbers: ReadonlySet<number>): boolean {
  if (!/^\d+[.,]\d{2}$/.test(text) || within !== undefined || numbers.has(Number(key))) return false;
  const digits = Number(key).toFixed(2);
  for (const each of numbers) if (!Number.isInteger(each) && differsByOne(each.toFixed(2), digits)) return true;
  return false;
}

function differsByOne(a: string, b: string): boolean {
  if (a.length !== b.length) return false;
  const at = [...a].flatMap((char, index) => (char === b[index] ? [] : [index]));
  const [first = 0, second = 0] = at;
  if (at.length === 1) return true;
  return at.length === 2 && second - first <= 2 && a[first] === b[second] && a[second] === b[first];
}

/** The amounts of fields that count cents. */
function centsIn(value: Json): readonly string[] {
  if (value === null || typeof value !== 'object') return [];
  return Object.entries(value).flatMap(([key, each]) =>
    typeof each === 'number' && /(?:^|_)cents$|Cents$/.test(key)
      ? [(each / 100).toFixed(2)]
      : centsIn(structured(each)),
  );
}

/** The words of a text in the form in which they are compared. */
function wordsIn(text: string): readonly string[] {
  return (
    even(text)
      .normalize('NFKD')
      .replace(/\p{M}/gu, '')
      .replace(/(\d),(?=\d{3})/g, '$1')
      .match(/[\p{L}\d]+(?:\.\d+)?/gu) ?? []
  );
}

const SMALL_MAX = 12;

/** A number that comes from counting. */
function isSmall({ kind, key }: Stated): boolean {
  return kind === 'number' && Number(key) <= SMALL_MAX;
}

/** The keys under which a value may be known. An amount is also a number. */
function keysOf({ kind, key, others = [] }: Stated): readonly string[] {
  const all = [key, ...others];
  if (kind === 'amount' || kind === 'number' || kind === 'quantity')
    return all.flatMap((each) => [`number ${each}`, `id ${each}`]);
  if (kind === 'date') return all.map((each) => `date ${each}`);
  return kind === 'id' && /^\d+$/.test(key) ? [`id ${key}`, `number ${numberKey(key)}`] : [`${kind} ${key}`];
}

function datesOf({ key, others = [] }: Stated): readonly string[] {
  return [key, ...others];
}

/** The keys that a value makes known: an identifier also its numbered parts, an e-mail address also its name. */
function keysTaughtBy(stated: Stated): readonly string[] {
  if (stated.kind === 'date' && stated.year !== undefined)
    return datesOf(stated).flatMap((key) => [
      `date ${key}`,
      `dated ${key}`,
      `date ${stated.year}-${key}`,
      `date ${stated.year}-${key.split('/')[0]}`,
    ]);
  if (stated.kind !== 'id') return keysOf(stated);
  const parts = stated.key.split(/[_@-]/).filter((part) => /\d/.test(part));
  const name = stated.key.split('@')[0] ?? '';
  return [stated.key, name, ...parts].flatMap((key) => keysOf({ ...stated, key }));
}

/** The day after a known day, where an observation shows that something arrives on the next day. */
function isNextDay(stated: Stated, keys: ReadonlySet<string>): boolean {
  if (stated.kind !== 'date') return false;
  const [month = 0, day = 0] = stated.key.split('/').map(Number);
  return isKnown({ ...stated, key: `${month}/${day - 1}` }, keys);
}

function isEmpty(result: Json): boolean {
  return (
    flat(result).trim() === '' ||
    result === null ||
    (typeof result === 'string' && /^\s*(?:\[\s*\]|\{\s*\})\s*$/.test(result))
  );
}
