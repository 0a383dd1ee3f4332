/**
 * Arithmetic. Two ints stay an int within 64 bits, as in CEL; as soon as one side is a double, as every JSON number is,
 * the result is a double. `%` also takes doubles that are whole, because a JSON count is one.
 */
import { charge, chargeText } from './env.ts';
import type { Env } from './env.ts';
import { EvalError } from './error.ts';
import { Duration, Timestamp } from './time.ts';
import { Bytes, Uint, isList, typeOf } from './value.ts';
import type { Value } from './value.ts';

export type ArithmeticOp = '+' | '-' | '*' | '/' | '%';

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
