/** Random values that fit a JSON Schema, preferring the values that the flow compares with. */
import { isRecord } from '@sluice-internal/kernel/expr';
import type { Json } from '@sluice-internal/kernel/expr';
import type { Chance } from '@sluice-internal/testing/chance';
import type { Literals, Wanted } from './literals.ts';

export interface Generator {
  readonly chance: Chance;
  readonly literals: Literals;
}

const WORDS = ['alpha', 'bravo', 'delta', 'order A-7', 'the report', 'done', 'unclear', '42'];
const FORMATS: { readonly [format: string]: string } = {
  date: '2026-03-01',
  'date-time': '2026-03-01T09:00:00Z',
  time: '09:00:00Z',
  email: 'ann@example.com',
  uri: 'https://example.com/a',
  uuid: '7f1c2f0e-3a5b-4c59-9d3e-2b8a6f0c1d2e',
};
const DEPTH_MAX = 5;
const ITEMS_MAX = 20;
const TEXT_MAX = 2000;

/** A value that fits a schema and the conditions of the flow. */
export function valueFor(given: Generator, schema: Json | undefined, wanted?: Wanted, depth = 0): Json {
  if (!isRecord(schema)) return freeValue(given, wanted, depth);
  if (schema['const'] !== undefined) return schema['const'];
  if (Array.isArray(schema['enum']) && schema['enum'].length > 0) return given.chance.pick(schema['enum']);
  for (const key of ['oneOf', 'anyOf']) {
    const options = schema[key];
    if (Array.isArray(options) && options.length > 0)
      return valueFor(given, given.chance.pick(options), wanted, depth + 1);
  }
  const { type } = schema;
  return ofType(given, Array.isArray(type) ? given.chance.pick(type) : (type ?? null), schema, wanted, depth);
}

type Schema = { readonly [key: string]: Json };

function ofType(given: Generator, type: Json, schema: Schema, wanted: Wanted | undefined, depth: number): Json {
  const { chance } = given;
  switch (type) {
    case 'string':
      return textFor(given, schema, wanted);
    case 'number':
    case 'integer':
      return numberFor(given, schema, wanted, type);
    case 'boolean':
      return chance.oneIn(2);
    case 'null':
      return null;
    case 'array':
      return listFor(given, schema, wanted, depth);
    default:
      return type === 'object' || schema['properties'] !== undefined
        ? objectFor(given, schema, wanted, depth)
        : freeValue(given, wanted, depth);
  }
}

function objectFor(given: Generator, schema: Schema, wanted: Wanted | undefined, depth: number): Json {
  const properties = isRecord(schema['properties']) ? schema['properties'] : {};
  const required = new Set(Array.isArray(schema['required']) ? schema['required'] : []);
  const free = [...required].flatMap((name) =>
    typeof name === 'string' && !Object.hasOwn(properties, name) ? [[name, true] as const] : [],
  );
  const entries = [...Object.entries(properties), ...free].flatMap(([name, each]) => {
    if (!required.has(name) && (depth >= DEPTH_MAX || given.chance.oneIn(5))) return [];
    return [[name, valueFor(given, each, fieldOf(given, wanted, name), depth + 1)] as const];
  });
  return Object.fromEntries(entries);
}

/** The conditions on this field, or else the conditions on any field of this name in the flow. */
function fieldOf({ literals }: Generator, wanted: Wanted | undefined, name: string): Wanted | undefined {
  const here = wanted?.fields.get(name);
  return here !== undefined && asksAnything(here) ? here : literals.named.get(name);
}

function asksAnything({ values, texts, lengths, fields, items }: Wanted): boolean {
  return values.size + texts.size + lengths.size + fields.size > 0 || items !== null;
}

function listFor(given: Generator, schema: Schema, wanted: Wanted | undefined, depth: number): Json {
  const least = typeof schema['minItems'] === 'number' ? schema['minItems'] : 0;
  const most = typeof schema['maxItems'] === 'number' ? schema['maxItems'] : Math.max(least, ITEMS_MAX);
  const usual = least + given.chance.below(Math.max(1, Math.min(most - least, 3) + 1));
  const length = lengthFor(given, wanted, least, most) ?? usual;
  return Array.from({ length }, () => valueFor(given, schema['items'], wanted?.items ?? undefined, depth + 1));
}

/** A length that the flow compares with. Null if it asks for none, and sometimes by chance. */
function lengthFor(given: Generator, wanted: Wanted | undefined, least: number, most: number): number | null {
  const fits = [...(wanted?.lengths ?? [])].filter((length) => length >= least && length <= most);
  return fits.length === 0 || given.chance.oneIn(3) ? null : given.chance.pick(fits);
}

function textFor(given: Generator, schema: Schema, wanted: Wanted | undefined): string {
  const least = typeof schema['minLength'] === 'number' ? schema['minLength'] : 0;
  const most = typeof schema['maxLength'] === 'number' ? schema['maxLength'] : Infinity;
  const length = lengthFor(given, wanted, least, Math.min(most, TEXT_MAX));
  const format = typeof schema['format'] === 'string' ? FORMATS[schema['format']] : undefined;
  const text = askedText(given, wanted) ?? format ?? given.chance.pick(WORDS);
  return length === null ? text.padEnd(least, 'x').slice(0, most) : text.padEnd(length, 'x').slice(0, length);
}

/** A text that the flow compares with or searches for. Null if it asks for none, and sometimes by chance. */
function askedText({ chance }: Generator, wanted: Wanted | undefined): string | null {
  const values = [...(wanted?.values ?? [])].filter((value) => typeof value === 'string');
  const texts = [...(wanted?.texts ?? [])];
  if (values.length + texts.length === 0 || chance.oneIn(6)) return null;
  const at = chance.below(values.length + texts.length);
  return values[at] ?? `Result: ${texts[at - values.length]}`;
}

function numberFor(given: Generator, schema: Schema, wanted: Wanted | undefined, type: string): number {
  const bound = (key: string): number | null => (typeof schema[key] === 'number' ? schema[key] : null);
  const low = bound('minimum') ?? bound('exclusiveMinimum');
  const high = bound('maximum') ?? bound('exclusiveMaximum');
  const fits = [...(wanted?.values ?? [])].filter(
    (value) => typeof value === 'number' && value >= (low ?? -Infinity) && value <= (high ?? Infinity),
  ) as number[];
  const from = low ?? Math.min(0, high ?? 0);
  const to = high ?? Math.max(from + 1, 100);
  const value =
    fits.length > 0 && !given.chance.oneIn(3)
      ? given.chance.pick(fits)
      : from + given.chance.below(1001) * ((to - from) / 1000);
  return type === 'integer' ? Math.round(value) : value;
}

/** Without a schema: a value of the shape that the flow reads, or anything. */
function freeValue(given: Generator, wanted: Wanted | undefined, depth: number): Json {
  const { chance } = given;
  if (wanted !== undefined && depth < DEPTH_MAX && !chance.oneIn(12)) {
    if (wanted.fields.size > 0) return freeObject(given, wanted.fields, depth);
    if (wanted.items !== null) return listFor(given, {}, wanted, depth);
    const text = wanted.texts.size > 0 || wanted.lengths.size > 0 ? textFor(given, {}, wanted) : null;
    if (wanted.values.size > 0 && (text === null || chance.oneIn(2))) return chance.pick([...wanted.values]);
    if (text !== null) return text;
  }
  return chance.pick<Json>([...WORDS, 0, 1, 100, true, false]);
}

function freeObject(given: Generator, fields: ReadonlyMap<string, Wanted>, depth: number): Json {
  const entries = [...fields].flatMap(([name, field]) =>
    given.chance.oneIn(10)
      ? []
      : [[name, freeValue(given, asksAnything(field) ? field : fieldOf(given, undefined, name), depth + 1)] as const],
  );
  return Object.fromEntries(entries);
}

/** An object with the fields that the flow compares. */
export function comparedObject(given: Generator): Json {
  return freeObject(given, compared(given), 0);
}

export function compared({ literals }: Generator): ReadonlyMap<string, Wanted> {
  return new Map([...literals.named].filter(([, { values }]) => values.size > 0));
}
