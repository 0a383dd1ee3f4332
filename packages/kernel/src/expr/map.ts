/**
 * Maps. One with string keys only is a plain object, as in JSON; a literal with int, uint or bool keys is a `KeyedMap`.
 * Reads see own properties only, so a key such as `constructor` never reaches a prototype.
 */
import { charge } from './context.ts';
import type { Env } from './context.ts';
import { EvalError } from './error.ts';
import { Boxed, Uint, isList, typeOf } from './value.ts';
import type { Value, ValueMap } from './value.ts';

type Key = string | bigint | boolean;

export class KeyedMap extends Boxed {
  readonly type = 'map';
  /** By canonical key, so that `1`, `1u` and `1.0` find the same entry; the key as written is kept. */
  readonly entries: ReadonlyMap<Key, readonly [Value, Value]>;
  constructor(entries: ReadonlyMap<Key, readonly [Value, Value]>) {
    super();
    this.entries = entries;
  }
}

export function isMap(value: Value): value is ValueMap | KeyedMap {
  if (typeof value !== 'object' || value === null || isList(value)) return false;
  return !(value instanceof Boxed) || value instanceof KeyedMap;
}

/** The value under the key, or undefined. */
export function mapGet(map: ValueMap | KeyedMap, key: Value): Value | undefined {
  if (map instanceof KeyedMap) {
    const canonical = canonicalKey(key);
    return canonical === undefined ? undefined : map.entries.get(canonical)?.[1];
  }
  return typeof key === 'string' && Object.hasOwn(map, key) ? map[key] : undefined;
}

export function mapKeys(env: Env, map: ValueMap | KeyedMap): Value[] {
  const keys = map instanceof KeyedMap ? [...map.entries.values()].map(([key]) => key) : Object.keys(map);
  charge(env, 1 + (keys.length >> 2));
  return keys;
}

export function makeMap(entries: readonly (readonly [Value, Value])[]): ValueMap | KeyedMap {
  if (entries.every(([key]) => typeof key === 'string'))
    return makeObject(entries as readonly (readonly [string, Value])[]);
  const byKey = new Map<Key, readonly [Value, Value]>();
  for (const entry of entries) {
    const key = typeof entry[0] === 'number' ? undefined : canonicalKey(entry[0]);
    if (key === undefined)
      throw new EvalError('type', `a map key must be a string, an integer or a bool, not ${typeOf(entry[0])}`);
    if (byKey.has(key)) throw repeated(String(key));
    byKey.set(key, entry);
  }
  return new KeyedMap(byKey);
}

/** `defineProperty` for `__proto__`: plain assignment would set the prototype instead of a key. */
export function putKey<T>(object: { [key: string]: T }, key: string, value: T): void {
  if (key === '__proto__')
    Object.defineProperty(object, key, { value, enumerable: true, configurable: true, writable: true });
  else object[key] = value;
}

function makeObject(entries: readonly (readonly [string, Value])[]): ValueMap {
  const object: ValueMap = {};
  for (const [key, value] of entries) {
    if (Object.hasOwn(object, key)) throw repeated(key);
    putKey(object, key, value);
  }
  return object;
}

function repeated(key: string): EvalError {
  return new EvalError('other', `the map has the key \`${key}\` twice`);
}

function canonicalKey(key: Value): Key | undefined {
  if (typeof key === 'string' || typeof key === 'bigint' || typeof key === 'boolean') return key;
  if (typeof key === 'number') return Number.isInteger(key) ? BigInt(key) : undefined;
  return key instanceof Uint ? key.value : undefined;
}
