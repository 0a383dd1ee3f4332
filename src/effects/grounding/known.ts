/**
 * What can be known: the words of the user, the author and the flow, and what was observed, failures included. A tool that only
 * works on its arguments knows what they know and no more. Amounts may also be worked out from known numbers.
 */
import type { Json } from '../../expr/json.ts';
import type { Known, Observation } from './material.ts';
import type { ToolWords } from './tools.ts';
import { numberKey, valuesIn } from './values.ts';
import type { Stated } from './values.ts';
import { even, flat } from '../policy/sources.ts';

export function knownFrom(
  given: readonly string[],
  observations: readonly Observation[],
  tools: readonly ToolWords[],
): Known {
  const keys = new Set<string>();
  const words = new Set<string>();
  let whole = true;
  const learn = (text: string): void => {
    whole &&= text.length <= LONG;
    for (const each of valuesIn(text.slice(0, LONG))) for (const key of taught(each)) keys.add(key);
  };
  const read = (text: string): void => {
    learn(text);
    for (const word of wordsIn(text.slice(0, LONG))) words.add(word);
  };
  const sums = sumsOver(keys);
  // What is too long to be read may hold anything.
  const knows = (stated: Stated): boolean =>
    !whole || asked(stated).some((key) => keys.has(key)) || isNextDay(stated, keys) || sums.make(stated);
  given.forEach(read);
  for (const { name } of tools) learn(name);
  for (const { tool, args, ok, result = null, error = null } of observations) {
    const neutral = tools.some((each) => each.name === tool && each.neutral);
    if (neutral && valuesIn(flat(args)).every((each) => knows(each) || isSmall(each))) learn(flat(result));
    if (neutral) continue;
    for (const text of [flat(result), flat(error)]) read(text);
    // Who asks for something and is given it has named something that is there.
    if (ok && !isEmpty(result)) read(flat(args));
  }
  return { has: knows, hasWord: (word) => !whole || words.has(word) };
}

/** The words of a text as they are compared. */
export function wordsIn(text: string): readonly string[] {
  return (
    even(text)
      .normalize('NFKD')
      .replace(/\p{M}/gu, '')
      .replace(/(\d),(?=\d{3})/g, '$1')
      .match(/[\p{L}\d]+(?:\.\d+)?/gu) ?? []
  );
}

/** Numbers that come with counting. */
export function isSmall({ kind, key }: Stated): boolean {
  return kind === 'number' && Number(key) <= SMALL;
}

const SMALL = 12;

/** What can be known a value by. An amount is a number like any other. */
function asked({ kind, key }: Stated): readonly string[] {
  if (kind === 'amount' || kind === 'number') return [`number ${key}`, `id ${key}`];
  return kind === 'id' && /^\d+$/.test(key) ? [`id ${key}`, `number ${numberKey(key)}`] : [`${kind} ${key}`];
}

/** What is known with a value: with an identifier its numbered parts, with an address the name in it. */
function taught(stated: Stated): readonly string[] {
  if (stated.kind !== 'id') return asked(stated);
  const parts = stated.key.split(/[_@-]/).filter((part) => /\d/.test(part));
  const name = stated.key.split('@')[0] ?? '';
  return [stated.key, name, ...parts].flatMap((key) => asked({ ...stated, key }));
}

/** What leaves late arrives on the next day. */
function isNextDay({ kind, key }: Stated, keys: ReadonlySet<string>): boolean {
  if (kind !== 'date') return false;
  const [month = 0, day = 0] = key.split('/').map(Number);
  return keys.has(`date ${month}/${day - 1}`);
}

/** Sums and differences of up to four known numbers, and a known number times a count. With too many to choose from, all are. */
function sumsOver(keys: ReadonlySet<string>): { make(stated: Stated): boolean } {
  const cents = (value: number): number => Math.round(value / CENT);
  let [size, usable, pairs]: [number, readonly number[], ReadonlySet<number>] = [-1, [], new Set()];
  const refresh = (): void => {
    size = keys.size;
    const numbers = [...keys].filter((each) => each.startsWith('number ')).map((each) => Number(each.slice(7)));
    usable = numbers.filter((each) => each >= 1 && each < HUGE);
    const few = usable.length > MANY ? [] : usable;
    pairs = new Set(few.flatMap((a) => few.flatMap((b) => [cents(a + b), cents(a - b), cents(a)])));
  };
  return {
    make: ({ kind, key }) => {
      if (kind !== 'amount') return false;
      if (size !== keys.size) refresh();
      const wanted = cents(Number(key));
      if (usable.length > MANY || usable.some((each) => COUNTS.some((count) => cents(each * count) === wanted)))
        return true;
      for (const pair of pairs) if (pairs.has(wanted - pair)) return true;
      return false;
    },
  };
}

/** Characters of one text that are read. */
const LONG = 500_000;
const HUGE = 1e7;
const MANY = 300;
const CENT = 0.01;
const COUNTS = [1, 2, 3, 4, 5, 6, 7, 8, 9];

function isEmpty(result: Json): boolean {
  return (
    flat(result).trim() === '' ||
    result === null ||
    (typeof result === 'string' && /^\s*(?:\[\s*\]|\{\s*\})\s*$/.test(result))
  );
}
