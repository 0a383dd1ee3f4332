/**
 * The building blocks of the schemas of notations. They are zod schemas: one definition reads documents and gives editors
 * their JSON Schema. They add the phrase of an error: "must be <phrase>, but is …".
 */
import * as z from 'zod';
import type { Json } from '@sluice-internal/kernel/expr';
import type { DiagnosticCode } from '../../source/codes.ts';
import { NOTE } from './fault-words.ts';

export function text(options: { min?: number; max?: number } = {}) {
  const { min = 0, max = 1_000_000 } = options;
  return new z.ZodString({ type: 'string', error: kind('text'), checks: [z.minLength(min), z.maxLength(max)] });
}

/** A text of at least one character. */
export function name() {
  return text({ min: 1, max: 1_000 });
}

declare const NAMES: unique symbol;
/** A text that names an agent or a tool. The builders for TypeScript accept only declared names there. */
export type AgentName = string & { readonly [NAMES]: 'agent' };
export type ToolName = string & { readonly [NAMES]: 'tool' };

export function agentName(): z.ZodType<string, AgentName> {
  return name() as z.ZodType<string, string> as z.ZodType<string, AgentName>;
}

/** `verifier:` in every notation. */
export function verifierField() {
  return z
    .union([
      z.literal(false),
      agentName(),
      record({
        model: name().optional().describe('The model. Default: that of the agent whose answer is judged.'),
        agent: agentName()
          .optional()
          .describe('An agent of the document that judges, instead of the engine’s own prompt.'),
        instructions: text({ min: 1 }).optional().describe('What the verifier looks for besides.'),
        confidence: number({ min: 0, max: 1 })
          .optional()
          .describe('The least confidence that lets an answer pass, from 0 to 1.'),
      }),
    ])
    .optional();
}

export function toolName(): z.ZodType<string, ToolName> {
  return name() as z.ZodType<string, string> as z.ZodType<string, ToolName>;
}

/** A length of time, such as `30m`, `12h` or `90d`. */
export function duration() {
  return name().regex(/^\d{1,6}[mhd]$/, { error: expects('a time such as `12h` or `30d`') });
}

/** The milliseconds of a length of time. */
export function durationMs(written: string): number {
  const unit = written.at(-1) as keyof typeof UNITS_MS;
  return Number(written.slice(0, -1)) * UNITS_MS[unit];
}
const UNITS_MS = { m: 60_000, h: 3_600_000, d: 86_400_000 };

/** A text to search for: one line, trimmed. */
export function phrase() {
  return text({ max: 1_000 })
    .trim()
    .min(1)
    .refine((value) => !/[\r\n]/.test(value), { error: expects('text on one line') });
}

export function int(options: { min?: number; max?: number } = {}) {
  const { min = Number.MIN_SAFE_INTEGER, max = Number.MAX_SAFE_INTEGER } = options;
  // The largest exact integer bounds every field. The message mentions it only if it is exceeded.
  const error = (issue: { readonly code?: string }): string =>
    expects(`a whole number${boundsPhrase(issue.code === 'too_big' ? { ...options, max } : options)}`);
  const checks = [z.gte(min, { error }), z.lte(max, { error })];
  return new z.ZodNumberFormat({
    type: 'number',
    check: 'number_format',
    format: 'safeint',
    abort: false,
    error,
    checks,
  });
}

export function number(options: { min?: number; max?: number; above?: number } = {}) {
  // Seconds and dollars are multiplied later, which must not overflow. As with integers, only a larger number mentions it.
  const { above, min, max = Number.MAX_SAFE_INTEGER } = options;
  const error = (issue: { readonly code?: string }): string =>
    expects(`a number${boundsPhrase(issue.code === 'too_big' ? { ...options, max } : options)}`);
  const checks = [
    ...(above === undefined ? [] : [z.gt(above, { error })]),
    ...(min === undefined ? [] : [z.gte(min, { error })]),
    z.lte(max, { error }),
  ];
  return new z.ZodNumber({ type: 'number', error, checks });
}

/** A number to compare with. */
export function anyNumber() {
  return z.number({ error: expects('a number') });
}

export function bool() {
  return z.boolean({ error: expects('true or false') });
}

export function oneOf<const Values extends readonly [string, ...string[]]>(values: Values) {
  return z.enum(values);
}

/** `few` replaces the error of a list that is shorter than `min`; make it with `fault`. */
export function list<Item extends z.ZodType>(item: Item, options: { min?: number; max?: number; few?: string } = {}) {
  const { min = 0, max = 100_000, few } = options;
  const checks = [z.minLength(min, few), z.maxLength(max)];
  const error = (issue: { readonly code?: string; readonly input?: unknown }): string | undefined => {
    if (issue.code !== 'invalid_type') return undefined;
    // The note lets the help line show the value as the only item of the list.
    return expects('a list') + (item.safeParse(issue.input).success ? `${NOTE}item` : '');
  };
  return new z.ZodArray({ type: 'array', element: item, error, checks }) as z.ZodArray<Item>;
}

/** An optional list. An empty list counts as missing. */
export function some<Item extends z.ZodType>(item: Item) {
  return list(item)
    .optional()
    .transform((items) => (items?.length === 0 ? undefined : items));
}

/** A map with keys that the author chooses. */
export function map<Value extends z.ZodType>(value: Value, key: z.ZodString = name()) {
  return z.record(key, value, { error: kind('a map') });
}

/** A map of HTTP headers, whose names do not depend on letter case. */
export function headers<Value extends z.ZodType>(value: Value) {
  return map(value).superRefine((written, context) => {
    if (context.issues.length > 0) return;
    const seen = new Map<string, string>();
    for (const key of Object.keys(written)) {
      const first = seen.get(key.toLowerCase());
      if (first !== undefined)
        context.addIssue({ code: 'custom', message: sameButCase(first, key), path: [key], params: { on: 'key' } });
      seen.set(key.toLowerCase(), key);
    }
  });
}

function sameButCase(first: string, second: string): string {
  const message = `\`${first}\` and \`${second}\` are the same header: letter case does not count`;
  return fault('duplicate-key', message, 'Keep one of them.');
}

const NOTHING = z.never();

type Strict<Shape extends z.ZodRawShape> = ReturnType<typeof z.strictObject<Shape>>;

/**
 * A map with exactly these keys; any other is an `unknown-key`. The fields of a function are made when a document has such a
 * map: a start needs few of all schemas.
 */
export function record<Shape extends z.ZodRawShape>(shape: Shape | (() => Shape)): Strict<Shape> {
  if (typeof shape !== 'function') return z.strictObject(shape);
  let fields: Shape | undefined;
  return new z.ZodObject({
    type: 'object',
    get shape() {
      return (fields ??= shape());
    },
    catchall: NOTHING,
  }) as unknown as Strict<Shape>;
}

/** Makes fields when they are first needed. All maps that have them share them. */
export function once<Value>(make: () => Value): () => Value {
  let made: { readonly value: Value } | undefined;
  return () => (made ??= { value: make() }).value;
}

/**
 * A rule about a whole map, such as "one of two keys is there". It returns the `fault` of a map that breaks it. If the map has
 * other mistakes, only they are reported.
 */
export function ruled<Schema extends z.ZodType>(
  schema: Schema,
  rule: (value: z.output<Schema>) => string | null,
): Schema {
  return schema.superRefine((value, context) => {
    const message = context.issues.length === 0 ? rule(value) : null;
    if (message !== null) context.addIssue({ code: 'custom', message });
  });
}

/** The fault of a map that does not have exactly one of its keys, which `keys` lists. */
export function oneOfKeys(value: object, what: string, keys: string): string | null {
  const given = Object.keys(value).length;
  if (given === 1) return null;
  return fault(
    'bad-value',
    given === 0
      ? `${what} is one of ${keys}, but none is given`
      : `${what} is only one of ${keys}, but ${given} are given`,
    'Write exactly one of them.',
  );
}

/** Any JSON value. */
export function json(): z.ZodType<Json, Json> {
  return z.unknown() as unknown as z.ZodType<Json, Json>;
}

/** A map of any JSON values, as in `params`. */
export function jsonMap() {
  return map(json());
}

/**
 * The phrase about the expected value, for `error:` of any zod schema. The name of the field and the given value are added
 * later.
 */
export function expects(phrase: string): string {
  return `~${phrase}`;
}

/** An error with a code of its own, for `error:` of any zod schema or check, and for `addIssue` with code `custom`. */
export function fault(code: DiagnosticCode, message: string, help?: string): string {
  return `[${code}] ${message}${help === undefined ? '' : `\n${help}`}`;
}

/** The phrase for a value of another type. Other problems of the value have their own words. */
function kind(phrase: string): (issue: { readonly code?: string }) => string | undefined {
  return (issue) => (issue.code === 'invalid_type' ? expects(phrase) : undefined);
}

function boundsPhrase(options: { min?: number; max?: number; above?: number }): string {
  const { min, max, above } = options;
  if (min !== undefined && max !== undefined) return ` from ${min} to ${max}`;
  if (above !== undefined) return ` above ${above}${max === undefined ? '' : ` and at most ${max}`}`;
  if (min !== undefined) return ` of at least ${min}`;
  return max === undefined ? '' : ` of at most ${max}`;
}
