/** Random values that fit a JSON Schema, preferring the values that the flow compares with. */
import type { Json } from '../../../expr/json.ts';
import type { Chance } from '../../testing/chance.ts';
import { isRecord } from '../journal/record.ts';
import type { Literals } from './literals.ts';

export interface Generator {
  readonly chance: Chance;
  readonly literals: Literals;
}

const WORDS = ['alpha', 'bravo', 'delta', 'order A-7', 'the report', 'done', 'unclear', '42'];
const DEPTH_MAX = 5;

/** A value for a schema. `name` is the field that the value is for. */
export function valueFor(given: Generator, schema: Json | undefined, name = '', depth = 0): Json {
  if (!isRecord(schema)) return free(given, name);
  if (schema['const'] !== undefined) return schema['const'];
  if (Array.isArray(schema['enum']) && schema['enum'].length > 0) return given.chance.pick(schema['enum']);
  for (const key of ['oneOf', 'anyOf']) {
    const options = schema[key];
    if (Array.isArray(options) && options.length > 0)
      return valueFor(given, given.chance.pick(options), name, depth + 1);
  }
  const { type } = schema;
  return ofType(given, Array.isArray(type) ? given.chance.pick(type) : (type ?? null), schema, name, depth);
}

type Schema = { readonly [key: string]: Json };

function ofType(given: Generator, type: Json, schema: Schema, name: string, depth: number): Json {
  const { chance } = given;
  switch (type) {
    case 'string':
      return textFor(given, schema, name);
    case 'number':
    case 'integer':
      return numberFor(given, schema, name, type);
    case 'boolean':
      return chance.oneIn(2);
    case 'null':
      return null;
    case 'array':
      return listFor(given, schema, name, depth);
    default:
      return type === 'object' || schema['properties'] !== undefined
        ? objectFor(given, schema, depth)
        : free(given, name);
  }
}

function objectFor(given: Generator, schema: Schema, depth: number): Json {
  const properties = isRecord(schema['properties']) ? schema['properties'] : {};
  const required = new Set(Array.isArray(schema['required']) ? schema['required'] : []);
  const entries = Object.entries(properties).flatMap(([name, each]) => {
    if (!required.has(name) && (depth >= DEPTH_MAX || given.chance.oneIn(5))) return [];
    return [[name, valueFor(given, each, name, depth + 1)] as const];
  });
  return Object.fromEntries(entries);
}

function listFor(given: Generator, schema: Schema, name: string, depth: number): Json {
  const least = typeof schema['minItems'] === 'number' ? schema['minItems'] : 0;
  const most = typeof schema['maxItems'] === 'number' ? schema['maxItems'] : least + 3;
  const length = least + given.chance.below(Math.max(1, Math.min(most - least, 3) + 1));
  return Array.from({ length }, () => valueFor(given, schema['items'], name, depth + 1));
}

function textFor(given: Generator, schema: Schema, name: string): string {
  const known = (given.literals.fields.get(name) ?? []).filter((value) => typeof value === 'string');
  const text = known.length > 0 && !given.chance.oneIn(6) ? given.chance.pick(known) : given.chance.pick(WORDS);
  const least = typeof schema['minLength'] === 'number' ? schema['minLength'] : 0;
  const most = typeof schema['maxLength'] === 'number' ? schema['maxLength'] : Infinity;
  return text.padEnd(least, 'x').slice(0, most);
}

function numberFor(given: Generator, schema: Schema, name: string, type: string): number {
  const bound = (key: string, usual: number): number => (typeof schema[key] === 'number' ? schema[key] : usual);
  const low = bound('minimum', Math.min(0, bound('maximum', 0)));
  const high = bound('maximum', Math.max(low + 1, 100));
  const known = (given.literals.fields.get(name) ?? []).filter((value) => typeof value === 'number');
  const fits = known.filter((value) => value >= low && value <= high);
  if (fits.length > 0 && !given.chance.oneIn(3))
    return type === 'integer' ? Math.round(given.chance.pick(fits)) : given.chance.pick(fits);
  const value = low + given.chance.below(1001) * ((high - low) / 1000);
  return type === 'integer' ? Math.round(value) : value;
}

/** Without a schema: a value that the flow compares this field with, or anything. */
function free(given: Generator, name: string): Json {
  const known = given.literals.fields.get(name) ?? [];
  if (known.length > 0 && !given.chance.oneIn(6)) return given.chance.pick(known);
  return given.chance.pick<Json>([...WORDS, 0, 1, 100, true, false]);
}

/** An object with the fields that the flow compares. */
export function comparedObject(given: Generator): Json {
  return Object.fromEntries([...given.literals.fields.keys()].map((name) => [name, free(given, name)]));
}
