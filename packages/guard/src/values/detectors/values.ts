/**
 * Values without a source: identifiers, dates, times and amounts that occur in no observation and in nothing that a person or
 * the author wrote. A neutral tool (a calculator) shows its result only if its arguments are known themselves.
 */
import type { Json } from '@sluice-internal/kernel/expr';
import { even, flat, hasToken, structured } from '../../text/sources.ts';
import type { Detector, Evidence, Finding, Known, Line, Observation } from '../detector.ts';
import { cachedRead } from '../../text/cached-read.ts';
import { linesFrom } from '../named-values.ts';
import { valuesIn, type Stated } from '../../text/read-values.ts';
import { calculatedIn, listTotals, shownSums, wrongResults } from '../sums.ts';
import type { ToolWords } from '../tool-words.ts';
import { READ_MAX, isKnown, isNextDay, keysIn } from '../../text/value-keys.ts';
import { isCommon } from '../words.ts';

const SHOWN_MAX = 5;
const longNote = (): string =>
  `; a long text is searched only for the value as written after its first ${READ_MAX.toLocaleString('en')} characters`;
/** Plain numbers from here on need a source, too. */
const LARGE = 100;

export const values: Detector = ({ text, answer, claims, values: strictness }, evidence) => {
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
      const arrives = isArrival(each, line);
      if (!evidence.known.isOdd(each, at, arrives) && evidence.known.has(each, arrives)) continue;
      (sums.has(each.key) ? derived : unknown).add(each.text);
    }
  }
  return {
    findings: [
      ...unsupported('states', [...unknown], ', ', evidence),
      ...(strictness === 'all' ? words(answer, evidence) : []),
    ],
    confirmed: [...derived],
  };
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

const SENTENCE_END = /(?<=\p{Ll}{2}[.!?])\s+(?=\p{Lu})|(?<=\d[.!?])\s+(?=\p{Lu}\p{Ll}+\s)/u;

/** The lines of a text, and the sentences of those that are no items. An item belongs to the last line above it that names one thing and is not indented more. */
function linesOf(text: string, known: Known): readonly Line[] {
  let above: readonly { readonly indent: number; readonly name: string }[] = [];
  const lines = text.split('\n').flatMap((line) => (ITEM.test(line) ? [line] : line.split(SENTENCE_END)));
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

/** The words between the date before it and this date, or right behind it, are about an arrival. */
function isArrival({ kind, text }: Stated, line: string): boolean {
  if (kind !== 'date' || !ARRIVES.test(line)) return false;
  const at = line.indexOf(text);
  if (at < 0) return true;
  const before = line.slice(0, at);
  const last = valuesIn(before).findLast((each) => each.kind === 'date')?.text ?? '';
  const between = last === '' ? before : before.slice(before.lastIndexOf(last) + last.length);
  return (
    ARRIVES.test(between) ||
    ARRIVES.test(/^[^,;.\p{L}]*\p{L}*(?: \p{L}+)?/u.exec(line.slice(at + text.length))?.[0] ?? '')
  );
}

/** Small numbers come from counting, round numbers are manners of speaking, and a year comes from the date of today. */
function isJudged(stated: Stated, strictness: 'names' | 'all'): boolean {
  if (strictness === 'all') return !isSmall(stated);
  const number = Number(stated.key);
  const isYear = Number.isInteger(number) && number >= 1900 && number < 2100;
  return number >= LARGE && !isYear && !/^\d0*$/.test(stated.key);
}

/** An answer of which half the words are unknown. */
function words(answer: string, evidence: Evidence): readonly Finding[] {
  const { known } = evidence;
  const all = [...wordsIn(answer)].filter((word) => !isCommon(word) && !/^\d$/.test(word));
  const unknown = all.filter((word) => !known.hasWord(word) && !known.has({ kind: 'number', key: word, text: word }));
  return unknown.length * 2 >= all.length ? unsupported('says', unknown, ' ', evidence) : [];
}

function unsupported(
  verb: string,
  unknown: readonly string[],
  separator: string,
  { known }: Evidence,
): readonly Finding[] {
  if (unknown.length === 0) return [];
  const text = unknown.slice(0, SHOWN_MAX).join(separator);
  const reason = `${verb} ${text}, which occurs in no observation and was not given${known.isComplete ? '' : longNote()}`;
  return [{ kind: 'value', text, reason }];
}

/** The material of a run: texts by the author and by people, and observations. */
interface Material {
  readonly given: readonly string[];
  readonly userTexts: readonly string[];
  readonly observations: readonly Observation[];
  readonly tools: readonly ToolWords[];
}

export function knownFrom({ given, userTexts, observations, tools }: Material): Known {
  const keys = new Set<string>();
  const numbers = new Set<number>();
  const totals = new Set<number>();
  const calculated = new Set<string>();
  const seen = new Set<string>();
  const long = new Set<string>();
  const learn = (text: string): void => {
    if (text.length > READ_MAX) long.add(even(text));
    for (const key of keysIn(text)) {
      keys.add(key);
      if (key.startsWith('number ')) numbers.add(Number(key.slice(7)));
    }
  };
  const read = (text: string): void => {
    learn(text);
    for (const word of wordsIn(text)) seen.add(word);
  };
  const knows = (stated: Stated, arrives = false): boolean =>
    isKnown(stated, keys) ||
    isRounded(stated, numbers) ||
    (nights && arrives && isNextDay(stated, keys)) ||
    isWrittenIn(stated, long);
  const nights = observations.some(({ result = null }) => NEXT_DAY.test(flat(result)));
  const isOperand = (stated: Stated): boolean => knows(stated) || isSmall(stated) || totals.has(Number(stated.key));
  const isNumber = (value: number): boolean => keys.has(`number ${value}`) || totals.has(value);
  [...given, ...userTexts].forEach(read);
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
  const days = daysWithoutMonth(userTexts, keys);
  for (const key of days) keys.add(key);
  return {
    has: knows,
    isNear: (stated) => isNear(stated, numbers),
    isTotal: (value) => totals.has(value),
    hasWord: (word) => seen.has(word),
    isComplete: long.size === 0,
    ...linesFrom({ given, userTexts, observations, nights, calculated, days }),
  };
}

/** After the characters that are read, a long text makes a value known only as it is written in the answer, or in its normal form. */
function isWrittenIn({ text, key }: Stated, long: ReadonlySet<string>): boolean {
  return [...long].some((each) => hasToken(each, text) || hasToken(each, key));
}

/** `the 6th` in a text of a person means that day of each month that the run knows. */
function daysWithoutMonth(userTexts: readonly string[], known: ReadonlySet<string>): ReadonlySet<string> {
  const days = userTexts.flatMap((text) => [...text.matchAll(DAY_ALONE)].map(({ groups }) => Number(groups?.['d'])));
  const months = new Set([...known].flatMap((key) => /^date (\d{1,2})\/\d/.exec(key)?.[1] ?? []));
  return new Set(days.flatMap((day) => [...months].map((month) => `date ${month}/${day}`)));
}

const DAY_ALONE = /\b(?:the|am) (?<d>\d{1,2})(?:(?:st|nd|rd|th)\b|\.(?!\d))/giu;

/** An observation that shows the next day: `07:05+1`. */
const NEXT_DAY = /\d:\d{2}(?::\d{2})?\s?\+1\b|\bnext[- ]day\b/i;

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

/** The words of a text, each once, in the form in which they are compared. */
const wordsIn: (text: string) => ReadonlySet<string> = cachedRead((text) => {
  const words = even(text)
    .normalize('NFKD')
    .replace(/\p{M}/gu, '')
    .replace(/(\d),(?=\d{3})/g, '$1')
    .match(/[\p{L}\d]+(?:\.\d+)?/gu);
  return new Set(words ?? []);
});

const SMALL_MAX = 12;

/** A number that comes from counting. */
function isSmall({ kind, key }: Stated): boolean {
  return kind === 'number' && Number(key) <= SMALL_MAX;
}

function isEmpty(result: Json): boolean {
  return (
    flat(result).trim() === '' ||
    result === null ||
    (typeof result === 'string' && /^\s*(?:\[\s*\]|\{\s*\})\s*$/.test(result))
  );
}
