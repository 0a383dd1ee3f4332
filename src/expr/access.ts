/**
 * Reading variables, fields and indexes. Access never fails: what is missing, or is asked of something that has no parts,
 * reads as null.
 */
import type { Env, Eval } from './env.ts';
import { isMap, mapGet } from './map.ts';
import { TYPE_NAMES, TypeName, Uint, isList } from './value.ts';
import type { Value } from './value.ts';

/** A path from the scope's root. Scope data is plain JSON, so the walk needs no checks for boxed values. */
export function readPath(scope: { readonly [name: string]: Value }, path: readonly string[]): Value {
  let value: Value = scope;
  for (const key of path) {
    if (typeof value !== 'object' || value === null || !Object.hasOwn(value, key) || isList(value)) return null;
    value = (value as { [name: string]: Value })[key] ?? null;
  }
  return value;
}

/** A root name that the scope lacks but CEL knows is a type, as in `type(x) == string`. */
export function typeNameOf(path: readonly string[]): TypeName | null {
  const [first = ''] = path;
  if (path.length === 1) return TYPE_NAMES.has(first) ? new TypeName(first) : null;
  const name = path.join('.');
  return name === 'google.protobuf.Timestamp' || name === 'google.protobuf.Duration' ? new TypeName(name) : null;
}

export function pathReader(path: readonly string[]): Eval {
  const type = typeNameOf(path);
  if (type === null) return (env: Env) => readPath(env.scope, path);
  const [root = ''] = path;
  return (env: Env) => (Object.hasOwn(env.scope, root) ? readPath(env.scope, path) : type);
}

export function select(value: Value, key: string): Value {
  return isMap(value) ? (mapGet(value, key) ?? null) : null;
}

export function index(value: Value, key: Value): Value {
  if (isList(value)) {
    const at = key instanceof Uint ? key.value : key;
    return typeof at === 'bigint' || typeof at === 'number' ? (value[Number(at)] ?? null) : null;
  }
  return isMap(value) ? (mapGet(value, key) ?? null) : null;
}
