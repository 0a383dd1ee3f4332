/**
 * Checks a literal value of the document against the JSON Schema of its receiver. One problem per place, with the path to it.
 * Formats are checked only at run time.
 */
import { Ajv2020, type ErrorObject, type ValidateFunction } from 'ajv/dist/2020.js';
import { isRecord, schemaPattern } from '@sluice-internal/kernel/expr';
import type { Json } from '@sluice-internal/kernel/expr';
import type { DiagnosticCode } from '../../source/codes.ts';
import type { Path } from '../../source/located.ts';
import { TYPE_PHRASES } from './fault-words.ts';
import { pointerPath } from './meta-schema.ts';

export interface ArgumentProblem {
  readonly code: Extract<DiagnosticCode, 'type-mismatch' | 'missing-field' | 'unknown-key' | 'bad-value'>;
  readonly path: Path;
  /** The problem, as the rest of a sentence that begins with the name of the field. */
  readonly message: string;
  /** The type that it should have. */
  readonly wanted?: string;
}

/** `root` is the schema that the given one is part of, where its references lead. */
export function argumentProblems(value: Json, schema: Json, root: Json): readonly ArgumentProblem[] {
  if (!isRecord(schema)) return [];
  const { type } = schema;
  if (Object.keys(schema).every((key) => SIMPLE.has(key))) {
    const types = typeof type === 'string' ? [type] : Array.isArray(type) ? type.map(String) : null;
    return types === null || types.some((each) => isOfType(value, each)) ? [] : [mistyped([], types)];
  }
  const validate = validatorOf(schema, root);
  return validate === null || validate(value) === true ? [] : problemsOf(validate.errors ?? [], value);
}

/** The words for these types in messages. */
export function typePhrase(types: readonly string[]): string {
  return types.map((type) => TYPE_PHRASES[type] ?? type).join(' or ');
}

/** Keywords that only set the type. */
const SIMPLE: ReadonlySet<string> = new Set(['type', 'title', 'description', 'default', 'examples', '$comment']);

function isOfType(value: Json, type: string): boolean {
  switch (type) {
    case 'null':
      return value === null;
    case 'array':
      return Array.isArray(value);
    case 'object':
      return isRecord(value);
    case 'integer':
      return Number.isInteger(value);
    default:
      return typeof value === type;
  }
}

const known = new WeakMap<object, ValidateFunction | null>();
let ajv: Ajv2020 | undefined;

/** Null if a reference leads outside of this schema. */
function validatorOf(schema: { [key: string]: Json }, root: Json): ValidateFunction | null {
  const before = known.get(schema);
  if (before !== undefined) return before;
  ajv ??= new Ajv2020({
    allErrors: true,
    strict: false,
    logger: false,
    validateFormats: false,
    code: { regExp: schemaPattern },
  });
  const shared = isRecord(root) ? { $defs: root['$defs'] ?? {}, definitions: root['definitions'] ?? {} } : {};
  const { $id: _, ...rest } = schema;
  let validate: ValidateFunction | null;
  try {
    validate = ajv.compile({ ...shared, ...rest });
  } catch {
    validate = null;
  }
  known.set(schema, validate);
  return validate;
}

function problemsOf(errors: readonly ErrorObject[], value: Json): readonly ArgumentProblem[] {
  // "None of the choices fits" is clearer than the problems of each choice.
  const choices = errors.filter(({ keyword }) => keyword === 'anyOf' || keyword === 'oneOf');
  const own = errors.filter(
    ({ schemaPath }) => !choices.some((choice) => schemaPath.startsWith(`${choice.schemaPath}/`)),
  );
  const byPlace = new Map<string, ArgumentProblem>();
  for (const error of own) {
    const problem = problemOf(error, pointerPath(error.instancePath, value));
    const place = JSON.stringify(problem.path);
    if (!byPlace.has(place) || problem.code === 'type-mismatch') byPlace.set(place, problem);
  }
  return [...byPlace.values()];
}

function problemOf({ keyword, params, message = 'is not allowed' }: ErrorObject, path: Path): ArgumentProblem {
  const given = params as { readonly [key: string]: unknown };
  switch (keyword) {
    case 'type':
      return mistyped(path, [given['type']].flat().map(String));
    case 'required':
      return { code: 'missing-field', path, message: `lacks \`${String(given['missingProperty'])}\`` };
    case 'additionalProperties':
    case 'unevaluatedProperties': {
      const key = String(given['additionalProperty'] ?? given['unevaluatedProperty']);
      return { code: 'unknown-key', path: [...path, key], message: 'is not known here' };
    }
    case 'enum': {
      const allowed = (given['allowedValues'] as readonly unknown[]).map((each) => `\`${String(each)}\``);
      return { code: 'bad-value', path, message: `must be one of ${allowed.join(', ')}` };
    }
    case 'const':
      return { code: 'bad-value', path, message: `must be \`${JSON.stringify(given['allowedValue'])}\`` };
    case 'anyOf':
    case 'oneOf':
      return { code: 'bad-value', path, message: 'fits none of the allowed forms' };
    default:
      return { code: 'bad-value', path, message };
  }
}

function mistyped(path: Path, types: readonly string[]): ArgumentProblem {
  const wanted = types.length === 1 ? types[0] : undefined;
  const problem = { code: 'type-mismatch', path, message: `must be ${typePhrase(types)}` } as const;
  return wanted === undefined ? problem : { ...problem, wanted };
}
