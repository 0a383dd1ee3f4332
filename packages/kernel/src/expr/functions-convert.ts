/**
 * Functions on a whole value: its size, its type, its conversion. They return null for null, except that
 * `size(null)` is 0 and `type(null)` is a type.
 */
import { jsonOr } from './parse-json.ts';
import { toInt, toUint } from './operators.ts';
import { fromUtf8, toJson as jsonOf, utf8 } from './output.ts';
import { chargeText } from './context.ts';
import type { Env } from './context.ts';
import { EvalError } from './error.ts';
import { wrongType } from './function.ts';
import type { Fn, FnTable, Kind } from './function.ts';
import { isMap, mapKeys } from './map.ts';
import { Duration, Timestamp, calendarOf, durationText, parseDuration, parseTimestamp, timestampText } from './time.ts';
import { Bytes, TypeName, Uint, isList, typeOf } from './value.ts';
import type { Value } from './value.ts';
import type { Calendar } from './time.ts';

const ANY: readonly Kind[] = ['any'];
const INT_BOUND = 2 ** 63;

export const CONVERT_FUNCTIONS: FnTable = {
  size: { params: [['string', 'bytes', 'list', 'map']], forms: 'both', returns: 'number', run: size },
  type: { params: [ANY], forms: 'global', returns: 'type', run: (_env, a) => new TypeName(typeOf(a)) },
  dyn: { params: [ANY], forms: 'global', returns: 'any', run: (_env, a) => a },
  bool: convert(['bool', 'string'], 'bool', toBool),
  int: convert(['number', 'string', 'timestamp'], 'number', toIntValue),
  uint: convert(['number', 'string'], 'number', toUintValue),
  double: convert(['number', 'string'], 'number', toDouble),
  string: convert(['string', 'number', 'bool', 'bytes', 'timestamp', 'duration'], 'string', toText),
  bytes: convert(['string', 'bytes'], 'bytes', (a) =>
    a instanceof Bytes ? a : typeof a === 'string' ? new Bytes(utf8(a)) : undefined,
  ),
  timestamp: convert(['string', 'number', 'timestamp'], 'timestamp', toTimestamp),
  duration: convert(['string', 'duration'], 'duration', (a) =>
    a instanceof Duration ? a : typeof a === 'string' ? parseDuration(a) : undefined,
  ),
  /** The value as JSON text. */
  toJson: {
    params: [ANY],
    forms: 'both',
    returns: 'string',
    run: (env, a) => {
      const text = JSON.stringify(jsonOf(a));
      chargeText(env, text.length);
      return text;
    },
  },
  json: {
    params: [ANY],
    forms: 'both',
    returns: 'any',
    run: (env, a) => {
      if (typeof a !== 'string') return a;
      chargeText(env, a.length);
      return jsonOr(a, null);
    },
  },
};

/** `change` returns undefined if the type has no conversion. */
function convert(from: readonly Kind[], returns: Kind, change: (value: Value) => Value | undefined): Fn {
  const wanted = `a ${from.join(' or ')}`;
  return {
    params: [from],
    forms: 'global',
    returns,
    run: (env, a) => {
      if (a === null) return null;
      if (typeof a === 'string') chargeText(env, a.length);
      const result = change(a);
      if (result === undefined) throw wrongType(returns, wanted, a);
      return result;
    },
  };
}

function size(env: Env, value: Value): bigint {
  if (value === null) return 0n;
  if (isList(value)) return BigInt(value.length);
  if (typeof value === 'string') {
    chargeText(env, value.length);
    let count = 0;
    for (const _ of value) count++;
    return BigInt(count);
  }
  if (isMap(value)) return BigInt(mapKeys(env, value).length);
  if (value instanceof Bytes) return BigInt(value.data.length);
  throw wrongType('size', 'a string, list or map', value);
}

function toBool(value: Value): boolean | undefined {
  if (typeof value === 'boolean') return value;
  if (typeof value !== 'string') return undefined;
  if (/^(1|t|true|TRUE|True)$/.test(value)) return true;
  if (/^(0|f|false|FALSE|False)$/.test(value)) return false;
  throw new EvalError('other', `\`${value.slice(0, 40)}\` is not a bool`);
}

function toIntValue(value: Value): bigint | undefined {
  if (typeof value === 'bigint') return value;
  if (value instanceof Uint) return toInt(value.value);
  if (value instanceof Timestamp)
    return (value.ns - (((value.ns % 1_000_000_000n) + 1_000_000_000n) % 1_000_000_000n)) / 1_000_000_000n;
  if (typeof value === 'string') return toInt(digits(value, /^[+-]?\d+$/));
  if (typeof value !== 'number') return undefined;
  if (!(Math.abs(value) < INT_BOUND)) throw new EvalError('other', 'integer overflow');
  return BigInt(Math.trunc(value));
}

function toUintValue(value: Value): Uint | undefined {
  if (value instanceof Uint) return value;
  if (typeof value === 'bigint') return toUint(value);
  if (typeof value === 'string') return toUint(digits(value, /^\+?\d+$/));
  if (typeof value !== 'number') return undefined;
  if (!Number.isFinite(value) || value < 0) throw new EvalError('other', 'unsigned integer overflow');
  return toUint(BigInt(Math.trunc(value)));
}

function toDouble(value: Value): number | undefined {
  if (typeof value === 'number') return value;
  if (typeof value === 'bigint') return Number(value);
  if (value instanceof Uint) return Number(value.value);
  if (typeof value !== 'string') return undefined;
  if (/^[+-]?(\d+\.?\d*|\.\d+)([eE][+-]?\d+)?$/.test(value)) return Number(value);
  if (/^[+-]?inf(inity)?$/i.test(value)) return value.startsWith('-') ? -Infinity : Infinity;
  if (/^nan$/i.test(value)) return Number.NaN;
  throw notANumber(value);
}

function toText(value: Value): string | undefined {
  if (typeof value === 'string') return value;
  if (typeof value === 'boolean' || typeof value === 'number' || typeof value === 'bigint') return String(value);
  if (value instanceof Uint) return String(value.value);
  if (value instanceof Bytes) return fromUtf8(value.data);
  if (value instanceof Timestamp) return timestampText(value);
  return value instanceof Duration ? durationText(value) : undefined;
}

function toTimestamp(value: Value): Timestamp | undefined {
  if (value instanceof Timestamp) return value;
  if (typeof value === 'string') return parseTimestamp(value);
  if (typeof value === 'bigint') return new Timestamp(value * 1_000_000_000n);
  return typeof value === 'number' && Number.isInteger(value)
    ? new Timestamp(BigInt(value) * 1_000_000_000n)
    : undefined;
}

function digits(text: string, shape: RegExp): bigint {
  if (text.length > 21 || !shape.test(text)) throw notANumber(text);
  return BigInt(text.replace('+', ''));
}

function notANumber(text: string): EvalError {
  return new EvalError('other', `\`${text.slice(0, 40)}\` is not a number of that type`);
}

const SECOND = 1_000_000_000n;

/** The parts of a timestamp, in UTC or at a fixed offset, and of a duration. */
export const TIME_FUNCTIONS: FnTable = {
  getFullYear: part('getFullYear', (c) => c.year),
  getMonth: part('getMonth', (c) => c.month - 1),
  getDate: part('getDate', (c) => c.day),
  getDayOfMonth: part('getDayOfMonth', (c) => c.day - 1),
  getDayOfWeek: part('getDayOfWeek', (c) => c.dayOfWeek),
  getDayOfYear: part('getDayOfYear', (c) => c.dayOfYear),
  getHours: part(
    'getHours',
    (c) => c.hours,
    (ns) => ns / (3600n * SECOND),
  ),
  getMinutes: part(
    'getMinutes',
    (c) => c.minutes,
    (ns) => ns / (60n * SECOND),
  ),
  getSeconds: part(
    'getSeconds',
    (c) => c.seconds,
    (ns) => ns / SECOND,
  ),
  getMilliseconds: part(
    'getMilliseconds',
    (c) => Math.trunc(c.nanos / 1_000_000),
    (ns) => (ns % SECOND) / 1_000_000n,
  ),
};

function part(name: string, of: (calendar: Calendar) => number, ofDuration?: (ns: bigint) => bigint): Fn {
  return {
    params: [ofDuration === undefined ? ['timestamp'] : ['timestamp', 'duration'], ['string']],
    required: 1,
    forms: 'method',
    returns: 'number',
    run: (_env, time, zone) => {
      if (time === null) return null;
      if (time instanceof Duration && ofDuration !== undefined && zone === undefined) return ofDuration(time.ns);
      if (!(time instanceof Timestamp)) throw wrongType(name, 'a timestamp', time);
      if (zone !== undefined && typeof zone !== 'string') throw wrongType(name, 'an offset', zone);
      return BigInt(of(calendarOf(time, zone)));
    },
  };
}
