/**
 * The type of a value, as far as it is known before a run: its kind and, from a JSON Schema, its fields, items and allowed
 * values. A part that the schema leaves open has the type `any`, which passes every check.
 */
import { isRecord } from '@sluice-internal/kernel/expr';
import type { Json, Kind } from '@sluice-internal/kernel/expr';

export interface Type {
  readonly kind: Kind;
  /** The only possible values, where they are known: an enum, a const or a literal. */
  readonly values?: readonly Json[];
  readonly items?: Type;
  readonly fields?: ReadonlyMap<string, Type>;
  /** The type of fields that are not listed. Absent where the object has no other fields. */
  readonly rest?: Type;
}

export const ANY: Type = { kind: 'any' };
export const BOOL: Type = { kind: 'bool' };
export const NUMBER: Type = { kind: 'number' };
export const STRING: Type = { kind: 'string' };

/**
 * An object has only the fields that its schema declares, unless `additionalProperties` allows more. A misspelt field is
 * therefore reported, although JSON Schema itself would allow it.
 */
export function typeFromSchema(schema: Json | undefined): Type {
  if (!isRecord(schema)) return ANY;
  if (COMBINATORS.some((key) => Object.hasOwn(schema, key))) return ANY;
  const values = schema['const'] !== undefined ? [schema['const']] : schema['enum'];
  if (Array.isArray(values)) return typeOfValues(values);
  const declared = schema['type'] ?? (schema['properties'] === undefined ? undefined : 'object');
  const [kind, ...others] = [declared].flat().filter((each) => each !== 'null');
  if (others.length > 0) return ANY;
  if (kind === 'array') return { kind: 'list', items: typeFromSchema(schema['items']) };
  return kind === 'object' ? objectType(schema) : (SCALARS.get(kind) ?? ANY);
}

const SCALARS: ReadonlyMap<unknown, Type> = new Map([
  ['string', STRING],
  ['number', NUMBER],
  ['integer', NUMBER],
  ['boolean', BOOL],
]);

/** The type of a literal, as the parser gives its value. */
export function literalType(value: unknown): Type {
  if (typeof value === 'bigint') return { kind: 'number', values: [Number(value)] };
  if (value === null || typeof value === 'boolean' || typeof value === 'number' || typeof value === 'string')
    return { kind: kindOfJson(value), values: [value] };
  return value instanceof Uint8Array ? { kind: 'bytes' } : NUMBER;
}

function kindOfJson(value: Json): Kind {
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

/** The type of a value that has one type or the other. */
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
  if (!isRecord(properties))
    return more === false ? { kind: 'map', fields: new Map() } : { kind: 'map', rest: typeFromSchema(more) };
  const fields = new Map(Object.entries(properties).map(([name, field]) => [name, typeFromSchema(field)]));
  return open
    ? { kind: 'map', fields, rest: schema['patternProperties'] === undefined ? typeFromSchema(more) : ANY }
    : { kind: 'map', fields };
}
