/**
 * From computed values back to plain JSON. Values that are JSON already are returned as they are, not copied.
 */
import type { Json } from './json.ts';
import { base64 } from './bytes.ts';
import { EvalError } from './error.ts';
import { KeyedMap, isMap, putKey } from './map.ts';
import { Duration, Timestamp, durationText, timestampText } from './time.ts';
import { Bytes, TypeName, Uint, isList } from './value.ts';
import type { Value, ValueMap } from './value.ts';

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
