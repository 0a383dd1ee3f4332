/**
 * The operators. Equality is CEL's: total, across numeric types by value, deep for lists and maps, never an error.
 * Ordering is defined between numbers, strings, bools, bytes, timestamps and durations of the same kind. All other values,
 * null included, have no order, and every ordering operator over them is false.
 */
import { charge, chargeText } from './context.ts';
import type { Env, Eval } from './context.ts';
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
  return orderNumeric(a instanceof Uint ? a.value : a, b instanceof Uint ? b.value : b);
}

/** CEL orders an int and a double as doubles. */
function orderNumeric(x: Value, y: Value): number | undefined {
  if (typeof x !== 'number' && typeof x !== 'bigint') return undefined;
  if (typeof y !== 'number' && typeof y !== 'bigint') return undefined;
  return typeof x === typeof y ? orderNumbers(x, y) : orderNumbers(Number(x), Number(y));
}

/** As `order`, but values without an order are an error, unless one of them is null. */
export function strictOrder(env: Env, a: Value, b: Value): number | undefined {
  const result = order(env, a, b);
  if (result === undefined && a !== null && b !== null)
    throw new EvalError('type', `${typeOf(a)} and ${typeOf(b)} have no order`);
  return result;
}

/** As `order`, in a guard: a number and a text that spells a number are compared as numbers; other unlike types are an error. */
export function guardOrder(env: Env, a: Value, b: Value): number | undefined {
  const [x, y] = asNumbers(env, a, b);
  const result = order(env, x, y);
  if (result === undefined) throw new EvalError('type', `${typeOf(x)} and ${typeOf(y)} cannot be compared`);
  return result;
}

/** As `equals`, in a guard. Null can be compared with anything. */
export function guardEquals(env: Env, a: Value, b: Value): boolean {
  const [x, y] = asNumbers(env, a, b);
  if (x !== null && y !== null && kindOf(x) !== kindOf(y))
    throw new EvalError('type', `${typeOf(x)} and ${typeOf(y)} cannot be compared`);
  return equals(env, x, y);
}

/** If one value is a number and the other a text that spells a number, both as numbers. The change is noted. */
function asNumbers(env: Env, a: Value, b: Value): readonly [Value, Value] {
  if (typeof a === 'string' && isNumber(b)) return [numberIn(env, a), b];
  if (typeof b === 'string' && isNumber(a)) return [a, numberIn(env, b)];
  return [a, b];
}

function numberIn(env: Env, text: string): Value {
  if (!spellsNumber(text)) return text;
  env.notes?.coerced.push(`the text ${JSON.stringify(text)} was compared as the number ${Number(text)}`);
  return Number(text);
}

export function spellsNumber(text: string): boolean {
  return /^\s*[-+]?(\d+\.?\d*|\.\d+)([eE][-+]?\d+)?\s*$/.test(text);
}

function isNumber(value: Value): boolean {
  return typeof value === 'number' || typeof value === 'bigint' || value instanceof Uint;
}

function kindOf(value: Value): string {
  return isNumber(value) ? 'number' : typeOf(value);
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

/** By code point, as in CEL; UTF-16 order differs where a surrogate meets a character above U+DFFF. */
function orderText(env: Env, a: string, b: string): number {
  if (a === b) return 0;
  const length = Math.min(a.length, b.length);
  chargeText(env, length);
  for (let i = 0; i < length; i++) {
    const [x, y] = [a.charCodeAt(i), b.charCodeAt(i)];
    if (x !== y) return rankOf(x) - rankOf(y);
  }
  return a.length - b.length;
}

/** Surrogates, which are halves of the highest code points, come after all other units. */
function rankOf(unit: number): number {
  if (unit < 0xd800) return unit;
  return unit > 0xdfff ? unit - 0x800 : unit + 0x2000;
}

function orderBytes(env: Env, a: Uint8Array, b: Uint8Array): number {
  const length = Math.min(a.length, b.length);
  chargeText(env, length);
  for (let i = 0; i < length; i++) if (a[i] !== b[i]) return (a[i] ?? 0) - (b[i] ?? 0);
  return a.length - b.length;
}

export function truth(value: Value, where: string): boolean {
  if (typeof value === 'boolean') return value;
  if (value === null) return false;
  throw new EvalError('type', `${where} needs a bool, not ${typeOf(value)}`);
}

/**
 * `&&` and `||`, in either order, as in CEL: an error on one side is dropped if the other side decides alone. A limit is
 * never dropped.
 */
export function either(op: '&&' | '||', left: Eval, right: Eval): Eval {
  // The value of one side that decides the result.
  const decisive = op === '||';
  const where = `\`${op}\``;
  return (env: Env) => {
    let failure: EvalError;
    try {
      if (truth(left(env), where) === decisive) return decisive;
    } catch (cause) {
      failure = forgivable(cause);
      if (truth(right(env), where) === decisive) return decisive;
      throw failure;
    }
    return truth(right(env), where);
  };
}

/** Returns an error that the other operand can override; throws all others. */
export function forgivable(cause: unknown): EvalError {
  if (cause instanceof EvalError && cause.kind !== 'limit') return cause;
  throw cause;
}

export type ArithmeticOp = '+' | '-' | '*' | '/' | '%';

/**
 * Two ints give an int within 64 bits, as in CEL. If one side is a double, as every JSON number is, the result is a double.
 * `%` also takes whole doubles, because a JSON count is one.
 */
export function arithmetic(env: Env, op: ArithmeticOp, a: Value, b: Value): Value {
  if (typeof a === 'bigint' && typeof b === 'bigint') return toInt(onBigints(op, a, b));
  if (isPlainNumber(a) && isPlainNumber(b)) return onDoubles(op, Number(a), Number(b));
  if (a instanceof Uint || b instanceof Uint) return onUints(op, a, b);
  if (op === '+') return add(env, a, b);
  if (op === '-') return subtract(a, b);
  throw mismatch(op, a, b);
}

export function negate(a: Value): Value {
  if (typeof a === 'bigint') return toInt(-a);
  if (typeof a === 'number') return -a;
  throw new EvalError('type', `\`-\` needs a number, not ${typeOf(a)}`);
}

export function toInt(n: bigint): bigint {
  if (n !== BigInt.asIntN(64, n)) throw new EvalError('other', 'integer overflow');
  return n;
}

export function toUint(n: bigint): Uint {
  if (n !== BigInt.asUintN(64, n)) throw new EvalError('other', 'unsigned integer overflow');
  return new Uint(n);
}

function onBigints(op: ArithmeticOp, a: bigint, b: bigint): bigint {
  switch (op) {
    case '+':
      return a + b;
    case '-':
      return a - b;
    case '*':
      return a * b;
    default:
      if (b === 0n) throw new EvalError('other', 'division by zero');
      return op === '/' ? a / b : a % b;
  }
}

function onDoubles(op: ArithmeticOp, a: number, b: number): number {
  switch (op) {
    case '+':
      return a + b;
    case '-':
      return a - b;
    case '*':
      return a * b;
    case '/':
      return a / b;
    default:
      if (!Number.isInteger(a) || !Number.isInteger(b)) throw new EvalError('type', '`%` needs whole numbers');
      if (b === 0) throw new EvalError('other', 'division by zero');
      return a % b;
  }
}

function onUints(op: ArithmeticOp, a: Value, b: Value): Value {
  if (a instanceof Uint && b instanceof Uint) return toUint(onBigints(op, a.value, b.value));
  if (typeof a === 'number' && b instanceof Uint) return onDoubles(op, a, Number(b.value));
  if (a instanceof Uint && typeof b === 'number') return onDoubles(op, Number(a.value), b);
  throw mismatch(op, a, b);
}

function add(env: Env, a: Value, b: Value): Value {
  if (typeof a === 'string' && typeof b === 'string') {
    chargeText(env, a.length + b.length);
    return a + b;
  }
  if (isList(a) && isList(b)) {
    charge(env, a.length + b.length);
    return a.concat(b);
  }
  if (a instanceof Bytes && b instanceof Bytes) {
    chargeText(env, a.data.length + b.data.length);
    const data = new Uint8Array(a.data.length + b.data.length);
    data.set(a.data);
    data.set(b.data, a.data.length);
    return new Bytes(data);
  }
  if (a instanceof Duration && b instanceof Duration) return new Duration(a.ns + b.ns);
  if (a instanceof Timestamp && b instanceof Duration) return new Timestamp(a.ns + b.ns);
  if (a instanceof Duration && b instanceof Timestamp) return new Timestamp(a.ns + b.ns);
  throw mismatch('+', a, b);
}

function subtract(a: Value, b: Value): Value {
  if (a instanceof Duration && b instanceof Duration) return new Duration(a.ns - b.ns);
  if (a instanceof Timestamp && b instanceof Duration) return new Timestamp(a.ns - b.ns);
  if (a instanceof Timestamp && b instanceof Timestamp) return new Duration(a.ns - b.ns);
  throw mismatch('-', a, b);
}

function isPlainNumber(value: Value): value is number | bigint {
  return typeof value === 'number' || typeof value === 'bigint';
}

function mismatch(op: string, a: Value, b: Value): EvalError {
  return new EvalError('type', `\`${op}\` does not work between ${typeOf(a)} and ${typeOf(b)}`);
}
