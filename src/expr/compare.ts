/**
 * Equality and ordering. Equality is CEL's: total, across numeric types by value, deep for lists and maps, never an error.
 * Ordering is defined between numbers, strings, bools, bytes, timestamps and durations of the same kind; anything else,
 * null above all, is unordered, and every ordering operator over it is false.
 */
import { charge, chargeText } from './env.ts';
import type { Env } from './env.ts';
import { EvalError } from './error.ts';
import { isMap, mapGet, mapKeys } from './map.ts';
import type { KeyedMap } from './map.ts';
import { Duration, Timestamp } from './time.ts';
import { Boxed, Bytes, TypeName, Uint, isList, typeOf } from './value.ts';
import type { Value, ValueMap } from './value.ts';

export function equals(env: Env, a: Value, b: Value): boolean {
  if (a === b) return true;
  if (typeof a === 'string' || typeof a === 'boolean' || a === null || b === null) return false;
  if (typeof a === 'number' || typeof a === 'bigint') return numericEquals(a, b);
  if (isList(a)) return isList(b) && listEquals(env, a, b);
  if (isMap(a)) return isMap(b) && mapEquals(env, a, b);
  return a instanceof Boxed && boxedEquals(a, b);
}

/** Below zero, zero or above; undefined where the two are not ordered. */
export function order(env: Env, a: Value, b: Value): number | undefined {
  if (typeof a === 'string') return typeof b === 'string' ? orderText(env, a, b) : undefined;
  if (typeof a === 'boolean') return typeof b === 'boolean' ? Number(a) - Number(b) : undefined;
  if (a instanceof Timestamp) return b instanceof Timestamp ? orderNumbers(a.ns, b.ns) : undefined;
  if (a instanceof Duration) return b instanceof Duration ? orderNumbers(a.ns, b.ns) : undefined;
  if (a instanceof Bytes) return b instanceof Bytes ? orderBytes(env, a.data, b.data) : undefined;
  const x = a instanceof Uint ? a.value : a;
  const y = b instanceof Uint ? b.value : b;
  if ((typeof x === 'number' || typeof x === 'bigint') && (typeof y === 'number' || typeof y === 'bigint')) {
    // CEL orders an int and a double as doubles.
    return typeof x === typeof y ? orderNumbers(x, y) : orderNumbers(Number(x), Number(y));
  }
  return undefined;
}

/** As `order`, but what has no order is an error; what is missing has none to begin with and stays undefined. */
export function strictOrder(env: Env, a: Value, b: Value): number | undefined {
  const result = order(env, a, b);
  if (result === undefined && a !== null && b !== null)
    throw new EvalError('type', `${typeOf(a)} and ${typeOf(b)} have no order`);
  return result;
}

export function contains(env: Env, container: Value, item: Value): boolean | undefined {
  if (container === null) return false;
  if (isList(container)) {
    charge(env, container.length);
    return container.some((each) => equals(env, each, item));
  }
  return isMap(container) ? mapGet(container, item) !== undefined : undefined;
}

function numericEquals(a: number | bigint, b: Value): boolean {
  const y = b instanceof Uint ? b.value : b;
  // Loose equality compares a number with a bigint exactly, by value.
  // oxlint-disable-next-line eqeqeq
  return (typeof y === 'number' || typeof y === 'bigint') && a == y;
}

function listEquals(env: Env, a: readonly Value[], b: readonly Value[]): boolean {
  if (a.length !== b.length) return false;
  charge(env, a.length);
  return a.every((item, i) => equals(env, item, b[i] ?? null));
}

function mapEquals(env: Env, a: ValueMap | KeyedMap, b: ValueMap | KeyedMap): boolean {
  const keys = mapKeys(env, a);
  if (keys.length !== mapKeys(env, b).length) return false;
  charge(env, keys.length);
  return keys.every((key) => {
    const other = mapGet(b, key);
    return other !== undefined && equals(env, mapGet(a, key) ?? null, other);
  });
}

function boxedEquals(a: Boxed, b: Value): boolean {
  if (a instanceof Uint)
    return typeof b === 'number' || typeof b === 'bigint'
      ? numericEquals(b, a)
      : b instanceof Uint && a.value === b.value;
  if (a instanceof Timestamp) return b instanceof Timestamp && a.ns === b.ns;
  if (a instanceof Duration) return b instanceof Duration && a.ns === b.ns;
  if (a instanceof TypeName) return b instanceof TypeName && a.name === b.name;
  return (
    a instanceof Bytes &&
    b instanceof Bytes &&
    a.data.length === b.data.length &&
    a.data.every((byte, i) => byte === b.data[i])
  );
}

function orderNumbers(a: number | bigint, b: number | bigint): number | undefined {
  if (a < b) return -1;
  if (a > b) return 1;
  // NaN is neither, and not equal to anything either.
  // oxlint-disable-next-line eqeqeq
  return a == b ? 0 : undefined;
}

/** By code point, as CEL says; UTF-16 order differs where a surrogate meets a character above U+DFFF. */
function orderText(env: Env, a: string, b: string): number {
  if (a === b) return 0;
  const length = Math.min(a.length, b.length);
  chargeText(env, length);
  for (let i = 0; i < length; i++) {
    const x = a.charCodeAt(i);
    const y = b.charCodeAt(i);
    if (x !== y)
      return isSurrogate(x) === isSurrogate(y)
        ? x - y
        : isSurrogate(x)
          ? y > 0xdfff
            ? 1
            : x - y
          : x > 0xdfff
            ? -1
            : x - y;
  }
  return a.length - b.length;
}

function isSurrogate(unit: number): boolean {
  return unit >= 0xd800 && unit <= 0xdfff;
}

function orderBytes(env: Env, a: Uint8Array, b: Uint8Array): number {
  const length = Math.min(a.length, b.length);
  chargeText(env, length);
  for (let i = 0; i < length; i++) if (a[i] !== b[i]) return (a[i] ?? 0) - (b[i] ?? 0);
  return a.length - b.length;
}
