/**
 * Values without a source: identifiers, dates, times and amounts that occur in no observation and in nothing that a person or
 * the author wrote. A neutral tool (a calculator) shows its result only if its arguments are known themselves.
 */
import type { Json } from '../../expr/json.ts';
import { even, flat } from '../policy/sources.ts';
import type { Detector, Evidence, Finding, Known, Observation } from './detector.ts';
import { numberKey, valuesIn } from './read-values.ts';
import type { Stated } from './read-values.ts';
import type { ToolWords } from './tool-words.ts';
import { isCommon } from './words.ts';

const SHOWN_MAX = 5;

export const values: Detector = {
  detect: ({ text, answer, claims, values: strictness }, evidence) => {
    if (!claims || strictness === 'off' || evidence.tools.length === 0) return { findings: [] };
    const stated = valuesIn(text).filter((each) =>
      each.kind === 'number' ? strictness === 'all' && !isSmall(each) : true,
    );
    const unknown = [...new Set(stated.filter((each) => !evidence.known.has(each)).map((each) => each.text))];
    return {
      findings: [...unsupported('states', unknown, ', '), ...(strictness === 'all' ? words(answer, evidence) : [])],
    };
  },
};

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

export function knownFrom(
  given: readonly string[],
  observations: readonly Observation[],
  tools: readonly ToolWords[],
): Known {
  const keys = new Set<string>();
  const seen = new Set<string>();
  let complete = true;
  const learn = (text: string): void => {
    complete &&= text.length <= READ_MAX;
    for (const each of valuesIn(text.slice(0, READ_MAX))) for (const key of keysTaughtBy(each)) keys.add(key);
  };
  const read = (text: string): void => {
    learn(text);
    for (const word of wordsIn(text.slice(0, READ_MAX))) seen.add(word);
  };
  const sums = sumsOver(keys);
  // A text that was cut may contain any value.
  const knows = (stated: Stated): boolean =>
    !complete || keysOf(stated).some((key) => keys.has(key)) || isNextDay(stated, keys) || sums.make(stated);
  given.forEach(read);
  for (const { name } of tools) learn(name);
  for (const { tool, args, ok, result = null, error = null } of observations) {
    const neutral = tools.some((each) => each.name === tool && each.neutral);
    if (neutral && valuesIn(flat(args)).every((each) => knows(each) || isSmall(each))) learn(flat(result));
    if (neutral) continue;
    for (const text of [flat(result), flat(error)]) read(text);
    // A successful answer confirms that the things named in the arguments exist.
    if (ok && !isEmpty(result)) read(flat(args));
  }
  return { has: knows, hasWord: (word) => !complete || seen.has(word) };
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
function keysOf({ kind, key }: Stated): readonly string[] {
  if (kind === 'amount' || kind === 'number') return [`number ${key}`, `id ${key}`];
  return kind === 'id' && /^\d+$/.test(key) ? [`id ${key}`, `number ${numberKey(key)}`] : [`${kind} ${key}`];
}

/** The keys that a value makes known: an identifier also its numbered parts, an e-mail address also its name. */
function keysTaughtBy(stated: Stated): readonly string[] {
  if (stated.kind !== 'id') return keysOf(stated);
  const parts = stated.key.split(/[_@-]/).filter((part) => /\d/.test(part));
  const name = stated.key.split('@')[0] ?? '';
  return [stated.key, name, ...parts].flatMap((key) => keysOf({ ...stated, key }));
}

/** The day after a known day: a night flight arrives on it. */
function isNextDay({ kind, key }: Stated, keys: ReadonlySet<string>): boolean {
  if (kind !== 'date') return false;
  const [month = 0, day = 0] = key.split('/').map(Number);
  return keys.has(`date ${month}/${day - 1}`);
}

const SUMMAND_MAX = 1e7;
const NUMBERS_MAX = 300;
const CENT = 0.01;
const COUNTS = [1, 2, 3, 4, 5, 6, 7, 8, 9];

/** Amounts that are sums or differences of up to four known numbers, or a small multiple of one. */
function sumsOver(keys: ReadonlySet<string>): { make(stated: Stated): boolean } {
  const cents = (value: number): number => Math.round(value / CENT);
  let [size, usable, pairs]: [number, readonly number[], ReadonlySet<number>] = [-1, [], new Set()];
  const refresh = (): void => {
    size = keys.size;
    const numbers = [...keys].filter((each) => each.startsWith('number ')).map((each) => Number(each.slice(7)));
    usable = numbers.filter((each) => each >= 1 && each < SUMMAND_MAX);
    const few = usable.length > NUMBERS_MAX ? [] : usable;
    pairs = new Set(few.flatMap((a) => few.flatMap((b) => [cents(a + b), cents(a - b), cents(a)])));
  };
  return {
    make: ({ kind, key }) => {
      if (kind !== 'amount') return false;
      if (size !== keys.size) refresh();
      const wanted = cents(Number(key));
      if (usable.length > NUMBERS_MAX || usable.some((each) => COUNTS.some((count) => cents(each * count) === wanted)))
        return true;
      for (const pair of pairs) if (pairs.has(wanted - pair)) return true;
      return false;
    },
  };
}

function isEmpty(result: Json): boolean {
  return (
    flat(result).trim() === '' ||
    result === null ||
    (typeof result === 'string' && /^\s*(?:\[\s*\]|\{\s*\})\s*$/.test(result))
  );
}
