/**
 * The values that stand in one record with an identifier: in the smallest object that has it, in the plain fields around that
 * object, and in the arguments of the call. A line about one identifier may only give it values of its own records.
 */
import type { Json } from '../../expr/json.ts';
import { flat, structured } from '../policy/sources.ts';
import type { Observation } from './detector.ts';
import { valuesIn } from './read-values.ts';
import type { Stated } from './read-values.ts';

export type Records = ReadonlyMap<string, ReadonlySet<string>>;

/** `keysTaughtBy` gives the keys that a value makes known. */
export function recordsIn(
  observations: readonly Observation[],
  keysTaughtBy: (stated: Stated) => readonly string[],
): Records {
  const records = new Map<string, Set<string>>();
  const keysIn = (text: string): readonly string[] => valuesIn(text).flatMap(keysTaughtBy);
  const walk = (value: Json, around: readonly string[]): void => {
    const data = structured(value);
    if (data === null || typeof data !== 'object') return;
    const fields = Array.isArray(data) ? data : Object.values(data);
    const plain = fields.filter((each) => each === null || typeof structured(each) !== 'object');
    const ids = Array.isArray(data) ? [] : plain.flatMap((each) => idOf(each));
    if (ids.length > 0) {
      const keys = [...keysIn(flat(data)), ...around];
      for (const id of ids) for (const key of keys) setOf(records, id).add(key);
    }
    const within = Array.isArray(data) ? around : [...around, ...plain.flatMap((each) => keysIn(flat(each)))];
    for (const each of fields) walk(each, within);
  };
  for (const { args, result = null, ok } of observations) if (ok) walk(result, keysIn(flat(args)));
  return records;
}

/** The identifier that a field holds, if it holds nothing else. */
function idOf(value: Json): readonly string[] {
  if (typeof value !== 'string' || value.length > 60) return [];
  const [stated, ...others] = valuesIn(value);
  return stated?.kind === 'id' && others.length === 0 && stated.text === value.trim() ? [stated.key] : [];
}

function setOf(records: Map<string, Set<string>>, id: string): Set<string> {
  const known = records.get(id) ?? new Set<string>();
  records.set(id, known);
  return known;
}
