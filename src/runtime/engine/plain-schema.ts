/**
 * Recognises JSON Schemas that are certainly valid: each keyword is one of those below and has a value of its kind. To check
 * any other schema Ajv compiles the schema of schemas first, which takes longer than the rest of the start of a short run.
 */
import type { Json } from '../../expr/json.ts';

export function isPlainSchema(schema: Json): boolean {
  if (typeof schema === 'boolean') return true;
  return isObject(schema) && Object.entries(schema).every(([key, value]) => KEYWORDS.get(key)?.(value) === true);
}

type Kind = (value: Json) => boolean;

const TYPES: ReadonlySet<Json> = new Set(['array', 'boolean', 'integer', 'null', 'number', 'object', 'string']);

const isText: Kind = (value) => typeof value === 'string';
const isNumber: Kind = (value) => typeof value === 'number';
const isSize: Kind = (value) => Number.isSafeInteger(value) && Number(value) >= 0;
const isType: Kind = (value) =>
  Array.isArray(value) ? value.length > 0 && isSet(value) && value.every((each) => TYPES.has(each)) : TYPES.has(value);
const isNames: Kind = (value) => Array.isArray(value) && value.every(isText) && isSet(value);
const isSchemas: Kind = (value) => Array.isArray(value) && value.length > 0 && value.every(isPlainSchema);
const isNamedSchemas: Kind = (value) => isObject(value) && Object.values(value).every(isPlainSchema);

function isObject(value: Json): value is { [key: string]: Json } {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

function isSet(values: readonly Json[]): boolean {
  return new Set(values).size === values.length;
}

const KEYWORDS: ReadonlyMap<string, Kind> = new Map([
  ['type', isType],
  ...['title', 'description'].map((key) => [key, isText] as const),
  ...['const', 'default'].map((key) => [key, () => true] as const),
  ...['enum', 'examples'].map((key) => [key, Array.isArray] as const),
  ['required', isNames],
  ['properties', isNamedSchemas],
  ...['items', 'additionalProperties', 'not'].map((key) => [key, isPlainSchema] as const),
  ...['anyOf', 'allOf', 'oneOf'].map((key) => [key, isSchemas] as const),
  ...['minimum', 'maximum', 'exclusiveMinimum', 'exclusiveMaximum'].map((key) => [key, isNumber] as const),
  ...['minLength', 'maxLength', 'minItems', 'maxItems'].map((key) => [key, isSize] as const),
]);
