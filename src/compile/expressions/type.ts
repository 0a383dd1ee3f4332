/**
 * What the compiler knows about a value before a run: its kind, and where a JSON Schema says so its fields, items and
 * allowed values. Whatever a schema leaves open is `any`, which every check lets pass.
 */
import type { Kind } from '../../expr/function.ts';
import type { Json } from '../../expr/json.ts';

export interface Type {
  readonly kind: Kind;
  /** The only values it can have, where they are known: an enum, a const, a literal. */
  readonly values?: readonly Json[];
  readonly items?: Type;
  readonly fields?: ReadonlyMap<string, Type>;
  /** The type of fields that are not listed; absent when there can be none. */
  readonly rest?: Type;
}

export const ANY: Type = { kind: 'any' };
export const BOOL: Type = { kind: 'bool' };
export const NUMBER: Type = { kind: 'number' };
export const STRING: Type = { kind: 'string' };

/**
 * A declared object has the fields it declares, unless `additionalProperties` says otherwise: an author who lists the
 * fields of an output wants to hear about a name that is not among them.
 */
export function typeFromSchema(schema: Json | undefined): Type {
  if (typeof schema !== 'object' || schema === null || Array.isArray(schema)) return ANY;
  if (COMBINATORS.some((key) => Object.hasOwn(schema, key))) return ANY;
  const values = schema['const'] !== undefined ? [schema['const']] : schema['enum'];
  if (Array.isArray(values)) return typeOfValues(values);
  const declared = schema['type'] ?? (schema['properties'] === undefined ? undefined : 'object');
  const kinds = (Array.isArray(declared) ? declared : [declared]).filter((each) => each !== 'null');
  switch (kinds.length === 1 ? kinds[0] : undefined) {
    case 'string':
      return STRING;
    case 'number':
    case 'integer':
      return NUMBER;
    case 'boolean':
      return BOOL;
    case 'array':
      return { kind: 'list', items: typeFromSchema(schema['items']) };
    case 'object':
      return objectType(schema);
    default:
      return ANY;
  }
}

export function kindOfJson(value: Json): Kind {
  if (value === null) return 'null';
  if (Array.isArray(value)) return 'list';
  switch (typeof value) {
    case 'string':
      return 'string';
    case 'number':
      return 'number';
    case 'boolean':
      return 'bool';
    default:
      return 'map';
  }
}

/** The type of something that is one or the other. */
export function unify(a: Type, b: Type): Type {
  if (a.kind === 'null') return b;
  if (b.kind === 'null' || a === b) return a;
  if (a.kind !== b.kind || a.kind === 'map') return ANY;
  if (a.kind === 'list') return { kind: 'list', items: unify(a.items ?? ANY, b.items ?? ANY) };
  return a.values !== undefined && b.values !== undefined
    ? { kind: a.kind, values: [...a.values, ...b.values] }
    : { kind: a.kind };
}

const COMBINATORS = ['$ref', '$dynamicRef', 'allOf', 'anyOf', 'oneOf', 'not', 'if'];

function typeOfValues(values: readonly Json[]): Type {
  const kinds = new Set(values.filter((value) => value !== null).map(kindOfJson));
  const [kind] = kinds;
  if (kind === undefined || kinds.size > 1 || kind === 'list' || kind === 'map') return ANY;
  return { kind, values };
}

function objectType(schema: { readonly [key: string]: Json }): Type {
  const properties = schema['properties'];
  const more = schema['additionalProperties'];
  const open = more === true || typeof more === 'object' || schema['patternProperties'] !== undefined;
  if (typeof properties !== 'object' || properties === null || Array.isArray(properties)) {
    return more === false ? { kind: 'map', fields: new Map() } : { kind: 'map', rest: typeFromSchema(more) };
  }
  const fields = new Map(Object.entries(properties).map(([name, field]) => [name, typeFromSchema(field)]));
  return open
    ? { kind: 'map', fields, rest: schema['patternProperties'] === undefined ? typeFromSchema(more) : ANY }
    : { kind: 'map', fields };
}
