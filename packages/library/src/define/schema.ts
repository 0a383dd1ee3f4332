/** Schemas of any library that follows Standard Schema (zod, valibot, arktype, …), converted to JSON Schema. */
import { reasonOf } from '@sluice-internal/kernel/expr';
import type { Json } from '@sluice-internal/kernel/expr';
import { SluiceError } from '@sluice-internal/engine/ports';
import { createRequire } from 'node:module';

/**
 * The part of the Standard Schema interface that is used here.
 * @example
 * const schema: StandardSchema<{ name: string }> = z.object({ name: z.string() });
 */
export interface StandardSchema<Input = unknown, Output = Input> {
  readonly '~standard': {
    readonly version: 1;
    readonly vendor: string;
    readonly validate: (value: unknown) => Validated<Output> | Promise<Validated<Output>>;
    readonly types?: { readonly input: Input; readonly output: Output } | undefined;
    /** Standard JSON Schema: libraries that can convert their schemas. */
    readonly jsonSchema?: {
      readonly input: (options: { readonly target: 'draft-2020-12' }) => Record<string, unknown>;
    };
  };
}
type Validated<Output> =
  | { readonly value: Output; readonly issues?: undefined }
  | { readonly issues: readonly Issue[] };
interface Issue {
  readonly message: string;
  readonly path?: readonly (PropertyKey | { readonly key: PropertyKey })[] | undefined;
}

/** The type that a caller passes in. */
export type InputOf<Schema> = Schema extends StandardSchema<infer Input, unknown> ? Input : unknown;
/** The type after validation, with defaults and transformations. */
export type OutputOf<Schema> = Schema extends StandardSchema<unknown, infer Output> ? Output : unknown;

/**
 * A JSON Schema (2020-12).
 * @example
 * const schema: JsonSchema = { type: 'object', properties: { order: { type: 'string' } }, required: ['order'] };
 */
export type JsonSchema = { readonly [keyword: string]: Json };

/**
 * A JSON Schema as a schema with a type of your own.
 * @example
 * agent('triage', { instructions: '…', output: jsonSchema<{ kind: string }>({ type: 'object', properties: { kind: { type: 'string' } } }) })
 */
export function jsonSchema<T>(schema: JsonSchema): StandardSchema<T, T> {
  return {
    '~standard': {
      version: 1,
      vendor: 'json-schema',
      validate: (value) => ({ value: value as T }),
      jsonSchema: { input: () => schema },
    },
  };
}

/** The JSON Schema of the values that a caller or a model may write. */
export function toJsonSchema(schema: StandardSchema, about: string): JsonSchema {
  if (schema?.['~standard']?.version !== 1)
    throw new SluiceError(
      'unknown-schema',
      `the schema of ${about} does not follow Standard Schema`,
      'Use zod, valibot, arktype or `jsonSchema(…)`.',
    );
  let converted: Record<string, unknown>;
  try {
    converted = convert(schema);
  } catch (error) {
    if (error instanceof SluiceError) throw error;
    const reason = reasonOf(error);
    throw new SluiceError(
      'unknown-schema',
      `the schema of ${about} has no JSON Schema: ${reason}`,
      'Use types that JSON has, or `jsonSchema(…)`.',
      error,
    );
  }
  const { $schema: _, ...rest } = converted;
  return JSON.parse(JSON.stringify(rest)) as JsonSchema;
}

function convert(schema: StandardSchema): Record<string, unknown> {
  const { vendor, jsonSchema: standard } = schema['~standard'];
  if (standard !== undefined) return standard.input({ target: 'draft-2020-12' });
  if (vendor === 'valibot') return valibot().toJsonSchema(schema, { typeMode: 'input', target: 'draft-2020-12' });
  const own = (schema as { readonly toJsonSchema?: unknown }).toJsonSchema;
  if (typeof own === 'function') return own.call(schema) as Record<string, unknown>;
  throw new SluiceError(
    'unknown-schema',
    `schemas of ${vendor} cannot be converted to JSON Schema`,
    'Use a release that supports Standard JSON Schema, or `jsonSchema(…)`.',
  );
}

interface ValibotConverter {
  toJsonSchema(schema: unknown, options: object): Record<string, unknown>;
}

/** Valibot converts with a package of its own, which the user installs. */
function valibot(): ValibotConverter {
  for (const from of [`${process.cwd()}/`, import.meta.url]) {
    try {
      return createRequire(from)('@valibot/to-json-schema') as ValibotConverter;
    } catch {
      continue;
    }
  }
  throw new SluiceError(
    'unknown-schema',
    'schemas of valibot need the package `@valibot/to-json-schema`',
    'Install it: `npm install @valibot/to-json-schema`.',
  );
}

/** The validated value, or the problems with their places. */
export async function validate<Output>(
  schema: StandardSchema<unknown, Output>,
  value: unknown,
): Promise<{ readonly value: Output; readonly problem?: undefined } | { readonly problem: string }> {
  const result = await schema['~standard'].validate(value);
  if (result.issues === undefined) return { value: result.value };
  const problems = result.issues.map(({ message, path = [] }) => {
    const place = path.map((part) => String(typeof part === 'object' ? part.key : part)).join('.');
    return place === '' ? message : `${place}: ${message}`;
  });
  return { problem: problems.join('; ') };
}
