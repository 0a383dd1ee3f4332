/**
 * Functions on lists, and the search for data inside a text. They return null for null, except that a part of null is an
 * empty list.
 */
import { jsonOr, parseJson } from './parse-json.ts';
import { charge, chargeText } from './context.ts';
import type { Env } from './context.ts';
import { equals } from './operators.ts';
import { wrongType } from './function.ts';
import type { Fn, FnTable } from './function.ts';
import { isMap, mapGet, mapKeys } from './map.ts';
import { objectsIn } from './objects.ts';
import { Uint, isList } from './value.ts';
import type { Value } from './value.ts';

export const LIST_FUNCTIONS: FnTable = {
  /** The elements up to and including the first one whose field has that value; all of them where none has. */
  upTo: {
    params: [['list'], ['string'], ['any']],
    forms: 'both',
    returns: 'list',
    run: (env, list, key = null, value = null) => {
      const items = itemsOf(env, 'upTo', list);
      const at = items.findIndex((item) => equals(env, fieldOf(item, key), value));
      return at < 0 ? items : items.slice(0, at + 1);
    },
  },
  /** The elements from one index up to, but not including, another. A negative index counts from the end. */
  slice: {
    params: [['list'], ['number'], ['number']],
    required: 2,
    forms: 'both',
    returns: 'list',
    run: (env, list, from = null, to = null) => {
      const items = itemsOf(env, 'slice', list);
      return items.slice(indexOf('slice', from), to === null ? undefined : indexOf('slice', to));
    },
  },
  /** Merges two objects. If both have a field, the value of the second counts. */
  merge: {
    params: [['map'], ['map']],
    forms: 'both',
    returns: 'map',
    run: (env, a, b = null) => {
      const entries = [a, b].flatMap((each) => entriesOf(env, each));
      return Object.fromEntries(entries);
    },
  },
  /** The last elements, at most that many. */
  tail: {
    params: [['list'], ['number']],
    forms: 'both',
    returns: 'list',
    run: (env, list, count = null) => {
      const items = itemsOf(env, 'tail', list);
      const n = Math.max(0, indexOf('tail', count));
      return n === 0 ? [] : items.slice(-n);
    },
  },
  /** The element that occurs more often than every other; null for an empty list or a tie. */
  majority: {
    params: [['list']],
    forms: 'both',
    returns: 'any',
    run: (env, list) => {
      const items = itemsOf(env, 'majority', list);
      const counts: { readonly value: Value; count: number }[] = [];
      for (const item of items) {
        charge(env, counts.length);
        const known = counts.find(({ value }) => equals(env, value, item));
        if (known === undefined) counts.push({ value: item, count: 1 });
        else known.count += 1;
      }
      const most = Math.max(0, ...counts.map(({ count }) => count));
      const first = counts.filter(({ count }) => count === most);
      return first.length === 1 ? (first[0]?.value ?? null) : null;
    },
  },
  /** The elements without those that are equal to an earlier one. */
  distinct: {
    params: [['list']],
    forms: 'both',
    returns: 'list',
    run: (env, list) => {
      const found: Value[] = [];
      for (const item of itemsOf(env, 'distinct', list)) {
        charge(env, found.length);
        if (!found.some((each) => equals(env, each, item))) found.push(item);
      }
      return found;
    },
  },
  /** Every object inside a value, at any depth. JSON text is parsed. */
  records: {
    params: [['any']],
    forms: 'both',
    returns: 'list',
    run: (env, value) => {
      const found: Value[] = [];
      addRecords(env, value, found);
      return found;
    },
  },
  /** The one JSON object in a text, also inside a fence or prose; null if there is none, or if there are different ones. */
  jsonIn: searching('jsonIn', (text) => parseJson(text)),
  /** The same, but a number with too many digits stays text. */
  exactIn: searching('exactIn', (text) => JSON.parse(text, asWritten as Reviver) as Value),
};

function searching(name: string, parse: (text: string) => Value): Fn {
  return {
    params: [['string']],
    forms: 'both',
    returns: 'any',
    run: (env, text) => {
      if (text === null) return null;
      if (typeof text !== 'string') throw wrongType(name, 'a string', text);
      chargeText(env, text.length * 5);
      const [only, ...more] = objectsIn(text);
      return only === undefined || more.length > 0 ? null : parse(only);
    },
  };
}

function addRecords(env: Env, value: Value, found: Value[]): void {
  charge(env, 1);
  if (typeof value === 'string') {
    const data = dataIn(env, value);
    if (data !== null) addRecords(env, data, found);
  } else if (isList(value)) {
    for (const each of value) addRecords(env, each, found);
  } else if (isMap(value)) {
    found.push(value);
    for (const key of mapKeys(env, value)) addRecords(env, mapGet(value, key) ?? null, found);
  }
}

/** The object or list that a whole text spells; null for any other text. */
function dataIn(env: Env, text: string): Value {
  if (!/^\s*[{[]/.test(text)) return null;
  chargeText(env, text.length * 5);
  return jsonOr(text, null);
}

function itemsOf(env: Env, name: string, list: Value): Value[] {
  if (list === null) return [];
  if (!isList(list)) throw wrongType(name, 'a list', list);
  charge(env, 1 + list.length);
  return list;
}

function entriesOf(env: Env, value: Value): [string, Value][] {
  if (value === null) return [];
  if (!isMap(value)) throw wrongType('merge', 'a map', value);
  const keys = mapKeys(env, value);
  charge(env, 1 + keys.length);
  return keys.map((key) => [String(key), mapGet(value, key) ?? null]);
}

function indexOf(name: string, value: Value): number {
  const n = value instanceof Uint ? value.value : value;
  if (typeof n !== 'number' && typeof n !== 'bigint') throw wrongType(name, 'a number', value);
  return Math.trunc(Number(n));
}

function fieldOf(item: Value, key: Value): Value {
  return isMap(item) && typeof key === 'string' ? (mapGet(item, key) ?? null) : null;
}

type Reviver = (key: string, value: unknown) => unknown;

/** More of them than any number keeps without loss. */
const DIGITS_KEPT = 15;

function asWritten(_: string, value: unknown, { source }: { readonly source?: string }): unknown {
  if (typeof value !== 'number' || source === undefined || String(value) === source) return value;
  return source.replace(/e.*$/i, '').replace(/\D/g, '').length > DIGITS_KEPT ? source : value;
}
