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

/** UTF-8 and base64 without the encoders of the host, which pure code does not have. */
export function utf8(text: string): Uint8Array {
  const out: number[] = [];
  for (const char of text) {
    const code = char.codePointAt(0) ?? 0;
    if (code < 0x80) out.push(code);
    else if (code < 0x800) out.push(0xc0 | (code >> 6), low(code));
    else if (code < 0x10000) out.push(0xe0 | (code >> 12), low(code >> 6), low(code));
    else out.push(0xf0 | (code >> 18), low(code >> 12), low(code >> 6), low(code));
  }
  return Uint8Array.from(out);
}

export function fromUtf8(data: Uint8Array): string {
  let text = '';
  for (let at = 0; at < data.length;) {
    const extra = followers(data[at] ?? 0);
    text += String.fromCodePoint(codePointAt(data, at, extra));
    at += extra + 1;
  }
  return text;
}

/** How many bytes follow the first byte of a character. */
function followers(first: number): number {
  if (first < 0x80) return 0;
  if (first < 0xc2 || first > 0xf4) throw invalid();
  return first >= 0xf0 ? 3 : first >= 0xe0 ? 2 : 1;
}

function codePointAt(data: Uint8Array, at: number, extra: number): number {
  const first = data[at] ?? 0;
  let code = extra === 0 ? first : first & (0x3f >> extra);
  for (let i = 1; i <= extra; i++) {
    const next = data[at + i];
    if (next === undefined || (next & 0xc0) !== 0x80) throw invalid();
    code = (code << 6) | (next & 0x3f);
  }
  const least = [0, 0x80, 0x800, 0x10000][extra] ?? 0;
  if (code < least || code > 0x10ffff || (code >= 0xd800 && code <= 0xdfff)) throw invalid();
  return code;
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

function low(code: number): number {
  return 0x80 | (code & 0x3f);
}

function invalid(): EvalError {
  return new EvalError('other', 'the bytes are not valid UTF-8');
}
