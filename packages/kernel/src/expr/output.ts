/** Computed values as JSON, as text and as bytes. Values that are JSON already are returned as they are, not copied. */
import type { Json } from './json.ts';
import { EvalError } from './error.ts';
import { KeyedMap, isMap, putKey } from './map.ts';
import { Duration, Timestamp, durationText, timestampText } from './time.ts';
import { Bytes, TypeName, Uint, isList } from './value.ts';
import type { Value, ValueMap } from './value.ts';
import { chargeText } from './context.ts';
import type { Env } from './context.ts';

export function toJson(value: Value): Json {
  switch (typeof value) {
    case 'string':
    case 'boolean':
      return value;
    case 'number':
      if (!Number.isFinite(value)) throw new EvalError('other', `the result ${value} has no JSON form`);
      return value;
    case 'bigint':
      return exact(value);
    default:
      if (value === null) return null;
      if (isList(value)) return listToJson(value);
      if (isMap(value)) return value instanceof KeyedMap ? keyedToJson(value) : mapToJson(value);
      if (value instanceof Uint) return exact(value.value);
      if (value instanceof Timestamp) return timestampText(value);
      if (value instanceof Duration) return durationText(value);
      if (value instanceof TypeName) return value.name;
      if (value instanceof Bytes) return base64(value.data);
      throw new EvalError('other', 'the result has no JSON form');
  }
}

function exact(value: bigint): number {
  const number = Number(value);
  if (!Number.isSafeInteger(number)) throw new EvalError('other', `the integer ${value} is too large for JSON`);
  return number;
}

function listToJson(list: Value[]): Json {
  let copy: Json[] | undefined;
  list.forEach((item, i) => {
    const json = toJson(item);
    if (json !== item) (copy ??= list.slice() as Json[])[i] = json;
  });
  return copy ?? (list as Json[]);
}

function mapToJson(map: ValueMap): Json {
  let copy: { [key: string]: Json } | undefined;
  for (const key of Object.keys(map)) {
    const json = toJson(map[key] ?? null);
    if (json !== map[key]) putKey((copy ??= { ...(map as { [key: string]: Json }) }), key, json);
  }
  return copy ?? (map as { [key: string]: Json });
}

function keyedToJson(map: KeyedMap): Json {
  const object: { [key: string]: Json } = {};
  for (const [key, [, value]] of map.entries) {
    if (Object.hasOwn(object, String(key)))
      throw new EvalError('other', `the map has two keys that read \`${String(key)}\` in JSON`);
    putKey(object, String(key), toJson(value));
  }
  return object;
}

/** The text of a value in a template: strings as they are, null empty, lists and maps as JSON. */
export function textOf(env: Env, value: Value): string {
  const text = plain(value);
  chargeText(env, text.length);
  return text;
}

function plain(value: Value): string {
  if (typeof value === 'string') return value;
  if (value === null) return '';
  if (typeof value !== 'object') return String(value);
  if (value instanceof Uint) return String(value.value);
  const json = toJson(value);
  return typeof json === 'string' ? json : JSON.stringify(json);
}

/** UTF-8 and base64 without the encoders of the host, which pure code does not have. Percent-encoding gives the bytes of UTF-8. */
export function utf8(text: string): Uint8Array {
  const pieces = encodeURIComponent(text.toWellFormed()).match(/%..|./g) ?? [];
  return Uint8Array.from(pieces, (piece) => (piece.length > 1 ? Number(`0x${piece.slice(1)}`) : piece.charCodeAt(0)));
}

export function fromUtf8(data: Uint8Array): string {
  try {
    return decodeURIComponent(Array.from(data, (byte) => `%${byte.toString(16).padStart(2, '0')}`).join(''));
  } catch {
    throw new EvalError('other', 'the bytes are not valid UTF-8');
  }
}

const ALPHABET = 'ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/';

function base64(data: Uint8Array): string {
  let text = '';
  for (let at = 0; at < data.length; at += 3) {
    const bits = ((data[at] ?? 0) << 16) | ((data[at + 1] ?? 0) << 8) | (data[at + 2] ?? 0);
    for (let i = 0; i < 4; i++) text += at + i > data.length ? '=' : (ALPHABET[(bits >> (18 - 6 * i)) & 63] ?? '');
  }
  return text;
}
