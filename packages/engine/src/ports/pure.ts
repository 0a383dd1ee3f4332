/** Pure functions that the core gets from the platform: SHA-256, JSON Schema, an upper bound on tokens. */
import { hash } from 'node:crypto';
import { Ajv2020 } from 'ajv/dist/2020.js';
import type { ErrorObject, ValidateFunction } from 'ajv';
import addFormats from 'ajv-formats';
import { isRecord, schemaPattern } from '@sluice-internal/kernel/expr';
import type { Json } from '@sluice-internal/kernel/expr';
import type { Pure } from '@sluice-internal/kernel/core';

export const pure: Pure = {
  // 132 bits are enough for a fingerprint, and every request stores one.
  hash: (text) => hash('sha256', text, 'base64url').slice(0, 22),
  validate: (schema, value) => {
    const check = compiled(schema);
    return check(value) === true ? null : sentence(check);
  },
  // Real text has at least three bytes per token.
  countTokens: (text) => Math.ceil(Buffer.byteLength(text) / 3),
};

/** Checks schemas before it compiles them, or takes them as valid. */
function createAjv(validateSchema: boolean): Ajv2020 {
  const code = { regExp: schemaPattern };
  const made = new Ajv2020({ strict: false, allErrors: false, logger: false, verbose: true, code, validateSchema });
  (addFormats as unknown as (target: Ajv2020) => void)(made);
  return made;
}

let careful: Ajv2020 | undefined;
let trusting: Ajv2020 | undefined;
const validators = new Map<string, ValidateFunction>();
const VALIDATORS_MAX = 1000;

function compiled(schema: Json): ValidateFunction {
  const key = JSON.stringify(schema);
  let check = validators.get(key);
  if (check === undefined) {
    if (validators.size >= VALIDATORS_MAX) validators.clear();
    const ajv = isPlainSchema(schema) ? (trusting ??= createAjv(false)) : (careful ??= createAjv(true));
    check = ajv.compile(schema as object);
    validators.set(key, check);
  }
  return check;
}

/** The first problem. A rule whose description is a sentence with `must` explains itself. */
function sentence({ errors }: ValidateFunction): string {
  const explained = errors?.find((error) => ruleOf(error) !== null);
  const first = explained ?? errors?.[0];
  if (first === undefined) return 'does not satisfy its schema';
  const where = first.instancePath === '' ? 'the value' : `\`${first.instancePath.slice(1).replaceAll('/', '.')}\``;
  return `${where} ${ruleOf(first) ?? first.message ?? 'does not satisfy its schema'}`;
}

function ruleOf({ parentSchema }: ErrorObject): string | null {
  const { description } = (parentSchema ?? {}) as { readonly description?: unknown };
  return typeof description === 'string' && description.startsWith('must ') ? description : null;
}

/**
 * Recognises JSON Schemas that are certainly valid: each keyword is one of those below and has a value of its kind. To check
 * any other schema Ajv compiles the schema of schemas first, which takes longer than the rest of the start of a short run.
 */
export function isPlainSchema(schema: Json): boolean {
  if (typeof schema === 'boolean') return true;
  return isRecord(schema) && Object.entries(schema).every(([key, value]) => KEYWORDS.get(key)?.(value) === true);
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
const isNamedSchemas: Kind = (value) => isRecord(value) && Object.values(value).every(isPlainSchema);

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
