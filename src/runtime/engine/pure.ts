/** Pure functions that the core gets from the platform: SHA-256, JSON Schema, an upper bound on tokens. */
import { hash } from 'node:crypto';
import { Ajv2020 } from 'ajv/dist/2020.js';
import type { ErrorObject, ValidateFunction } from 'ajv';
import addFormats from 'ajv-formats';
import type { Json } from '../../expr/json.ts';
import { schemaPattern } from '../../expr/text-search.ts';
import type { Pure } from '../../core/program.ts';
import { isPlainSchema } from './plain-schema.ts';

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
