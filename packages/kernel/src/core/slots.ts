/** Reads and writes slots by path. Values inside slots are never changed in place, because branches share them. */
import { rememberGrowth } from './digest.ts';
import { objectText, oneObject, reply } from '../expr/reply.ts';
import { isRecord, type Json } from '../expr/json.ts';
import type { Recorded, Slots, WriteRecord } from '../ir/events.ts';

/** Null if a step of the path is missing. */
export function readPath(root: Json | Slots, path: readonly string[], from = 0): Json {
  let value: Json = root;
  for (let index = from; index < path.length; index++) {
    const step = path[index] as string;
    if (value === null || typeof value !== 'object') return null;
    const next: Json | undefined = Array.isArray(value)
      ? value[Number(step)]
      : Object.hasOwn(value, step)
        ? value[step]
        : undefined;
    if (next === undefined) return null;
    value = next;
  }
  return value;
}

/** True if the path exists; its value may be null. */
export function hasPath(root: Slots, path: readonly string[]): boolean {
  const last = path.length - 1;
  const holder = readPath(root, path.slice(0, last));
  const step = path[last] as string;
  if (Array.isArray(holder)) return holder[Number(step)] !== undefined;
  return holder !== null && typeof holder === 'object' && Object.hasOwn(holder, step);
}

/** The value that an event recorded by reference or by value; `it` is the observation that is being committed. */
export function resolve(recorded: Recorded, slots: Slots, it: Json): Json {
  if ('value' in recorded) return recorded.value;
  if ('object' in recorded) {
    const built: { [field: string]: Json } = {};
    for (const field in recorded.object) built[field] = resolve(recorded.object[field] as Recorded, slots, it);
    return built;
  }
  const { ref } = recorded;
  return ref[0] === 'it' ? readPath(it, ref, 1) : readPath(slots, ref);
}

/**
 * Copies each changed object once: of a thousand writes into one object, the first makes the copy, and the others change it.
 * `isAlone`: no other thread has these slots, so a single write can go into them. Several writes read the slots as they were
 * before the first.
 */
export function applyWrites(slots: Slots, writes: readonly WriteRecord[], it: Json, isAlone = false): Slots {
  // For a few writes, a second copy costs less than a set of the copies already made.
  const own = writes.length > FEW ? new Set<object>() : null;
  let next: { [slot: string]: Json } | null = isAlone && writes.length === 1 ? slots : null;
  for (const { slot, path, mode, from } of writes) {
    const value = resolve(from, slots, it);
    const before = next ?? slots;
    const current = Object.hasOwn(before, slot) ? (before[slot] as Json) : null;
    const stored = mode === 'append' ? append(readPath(current, path ?? HERE), value) : READ[mode](value);
    next ??= { ...slots };
    assign(next, slot, path === undefined ? stored : setPath(current, path, 0, stored, own));
  }
  return next ?? slots;
}
const FEW = 4;
const READ: { readonly [mode in Exclude<WriteRecord['mode'], 'append'>]: (value: Json) => Json } = {
  set: (value) => value,
  reply,
  object: oneObject,
  object_text: objectText,
};
const HERE: readonly string[] = [];

function append(list: Json, value: Json): Json {
  if (!Array.isArray(list)) return list === null ? [value] : [list, value];
  const longer = [...list, value];
  rememberGrowth(list, longer);
  return longer;
}

function setPath(target: Json, path: readonly string[], depth: number, value: Json, own: Set<object> | null): Json {
  if (depth === path.length) return value;
  const step = path[depth] as string;
  const base = isRecord(target) ? target : {};
  const child = Object.hasOwn(base, step) ? base[step] : undefined;
  const stored = setPath(child ?? null, path, depth + 1, value, own);
  const next: { [key: string]: Json } = own?.has(base) === true ? base : { ...base };
  own?.add(next);
  assign(next, step, stored);
  return next;
}

/** Assigning to `__proto__` would change the prototype of the object instead of adding a property. */
function assign(target: { [key: string]: Json }, key: string, value: Json): void {
  if (key === '__proto__')
    Object.defineProperty(target, key, { value, enumerable: true, writable: true, configurable: true });
  else target[key] = value;
}
