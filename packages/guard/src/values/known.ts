/**
 * The values that a run knows: those of the observations, the input, the instructions and the texts of people. A neutral tool
 * (a calculator) makes its result known only if its arguments are known themselves.
 */
import type { Json } from '@sluice-internal/kernel/expr';
import { even, flat, hasToken, structured } from '../text/sources.ts';
import type { Stated } from '../text/read-values.ts';
import { valuesIn } from '../text/read-values.ts';
import { READ_MAX, isKnown, keysIn, keysKnownFrom, type Keys } from '../text/value-keys.ts';
import { calculatedIn, lengthsIn, listTotals } from './calculations.ts';
import type { Material, Observation } from './evidence.ts';
import { objectsIn, type Objects } from './objects.ts';

export interface Known {
  has(stated: Stated): boolean;
  hasNumber(value: number): boolean;
  /** The total of one list in an observation, by one field. */
  isTotal(value: number): boolean;
  /** The lengths of the lists in arguments and results. */
  readonly lengths: ReadonlySet<number>;
  readonly objects: Objects;
  /** False if a text was too long to be read as a whole. */
  readonly isComplete: boolean;
  /** A person wrote the value, or a calculator computed it: it belongs to no object. */
  isFree(stated: Stated): boolean;
}

export function knownFrom(material: Material): Known {
  const store = storeOf(material.given);
  for (const text of material.userTexts) learn(store, text, true);
  for (const { name } of material.tools) learn(store, name);
  const neutral = new Set(material.tools.flatMap((tool) => (tool.neutral ? [tool.name] : [])));
  for (const each of material.observations)
    if (neutral.has(each.tool)) learnCalculation(store, each);
    else learnObservation(store, each);
  for (const key of daysWithoutMonth(material.userTexts, new Set([...store.keys, ...store.authored])))
    for (const keys of [store.keys, store.free]) keys.add(key);
  const objects = objectsIn(material.observations.filter(({ tool }) => !neutral.has(tool)));
  for (const key of objects.nextDays) store.keys.add(key);
  const { free, authoredAmounts } = store;
  return {
    has: (stated) => has(store, stated),
    hasNumber: (value) => hasNumber(store, value),
    isTotal: (value) => store.totals.has(value),
    lengths: new Set(
      material.observations.flatMap(({ args, result = null }) => [args, structured(result)].flatMap(lengthsIn)),
    ),
    objects,
    isComplete: store.long.size === 0,
    isFree: (stated) => isKnown(stated, free) || (stated.kind === 'amount' && isKnown(stated, authoredAmounts)),
  };
}

/** What was read so far. */
interface Store {
  readonly keys: Set<string>;
  readonly numbers: Set<number>;
  readonly totals: Set<number>;
  readonly free: Set<string>;
  readonly long: Set<string>;
  /** A plain number in the text of the author, such as a limit of hours, is no amount of money. */
  readonly authored: Keys;
  readonly authoredAmounts: Keys;
}

function storeOf(given: readonly string[]): Store {
  return {
    keys: new Set(),
    numbers: new Set(),
    totals: new Set(),
    free: new Set(),
    long: new Set(given.filter((text) => text.length > READ_MAX).map(even)),
    authored: new Set(given.flatMap(keysIn)),
    authoredAmounts: new Set(given.flatMap((text) => valuesIn(text).flatMap(amountKeys))),
  };
}

function learn({ keys, numbers, free, long }: Store, text: string, isFree = false): void {
  if (text.length > READ_MAX) long.add(even(text));
  for (const key of keysIn(text)) {
    keys.add(key);
    if (isFree) free.add(key);
    if (key.startsWith('number ')) numbers.add(Number(key.slice(7)));
  }
}

function learnCalculation(store: Store, { args, result = null }: Observation): void {
  const text = flat(args);
  const isSound = valuesIn(text).every(
    (each) => has(store, each) || isSmall(each) || store.totals.has(Number(each.key)),
  );
  if (isSound) learn(store, flat(result), true);
  for (const value of calculatedIn(text, (each) => hasNumber(store, each))) learn(store, String(value), true);
}

function learnObservation(store: Store, { args, ok, result = null, error = null }: Observation): void {
  for (const text of [flat(result), flat(error)]) learn(store, text);
  for (const total of listTotals(result)) store.totals.add(total);
  // A successful answer confirms that the things named in the arguments exist.
  if (ok && !isEmpty(result)) learn(store, flat(args));
}

function has({ keys, numbers, long, authored, authoredAmounts }: Store, stated: Stated): boolean {
  return (
    isKnown(stated, keys) ||
    isKnown(stated, stated.kind === 'amount' ? authoredAmounts : authored) ||
    isRounded(stated, numbers) ||
    isWritten(stated, long)
  );
}

function hasNumber({ numbers, totals }: Store, value: number): boolean {
  return numbers.has(value) || totals.has(value);
}

function amountKeys(stated: Stated): readonly string[] {
  return stated.kind === 'amount' ? keysKnownFrom(stated) : [];
}

const SMALL_MAX = 12;

/** A number that comes from counting. */
export function isSmall({ kind, key }: Stated): boolean {
  return kind === 'number' && Number(key) <= SMALL_MAX;
}

/** After the characters that are read, a long text makes a value known only as it is written in the answer, or in its normal form. */
function isWritten({ text, key }: Stated, long: ReadonlySet<string>): boolean {
  return [...long].some((each) => hasToken(each, text) || hasToken(each, key));
}

/** `12.5M` is known if a known number rounds to it. */
function isRounded({ key, within }: Stated, numbers: ReadonlySet<number>): boolean {
  if (within === undefined) return false;
  const value = Number(key);
  for (const each of numbers) if (Math.abs(each - value) <= within * 1.0001) return true;
  return false;
}

/** `the 6th` in a text of a person means that day of each month that the run knows. */
function daysWithoutMonth(userTexts: readonly string[], known: ReadonlySet<string>): ReadonlySet<string> {
  const days = userTexts.flatMap((text) => [...text.matchAll(DAY_ALONE)].map(({ groups }) => Number(groups?.['d'])));
  const months = new Set([...known].flatMap((key) => /^date (\d{1,2})\/\d/.exec(key)?.[1] ?? []));
  return new Set(days.flatMap((day) => [...months].map((month) => `date ${month}/${day}`)));
}

const DAY_ALONE = /\b(?<d>\d{1,2})(?:(?:st|nd|rd|th)\b|\.(?=\s|$))/giu;

function isEmpty(result: Json): boolean {
  return (
    flat(result).trim() === '' ||
    result === null ||
    (typeof result === 'string' && /^\s*(?:\[\s*\]|\{\s*\})\s*$/.test(result))
  );
}
