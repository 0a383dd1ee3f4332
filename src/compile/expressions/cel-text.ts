/** Data as CEL source text. What these functions return is always one complete operand, safe to put into a larger expression. */
import type { Expr } from '../../ir/nodes.ts';
import type { Json } from '../../expr/json.ts';
import { stringLiteral } from './template.ts';

export function quote(text: string): Expr {
  return stringLiteral(text);
}

/** Any JSON value as it is; nothing in it is taken for a template. */
export function literal(value: Json): Expr {
  if (typeof value === 'string') return quote(value);
  if (typeof value === 'number') return number(value);
  if (value === null || typeof value === 'boolean') return String(value);
  if (Array.isArray(value)) return `[${value.map(literal).join(', ')}]`;
  return object(Object.entries(value).map(([key, item]) => [key, literal(item)]));
}

export function object(entries: readonly (readonly [string, Expr])[]): Expr {
  return `{${entries.map(([key, value]) => `${quote(key)}: ${value}`).join(', ')}}`;
}

/** A read of a slot and of fields below it. */
export function path(slot: string, ...fields: readonly string[]): Expr {
  return slot + fields.map((field) => (isIdentifier(field) ? `.${field}` : `[${quote(field)}]`)).join('');
}

/** True if the name can be written in an expression as it is. */
export function isIdentifier(name: string): boolean {
  return IDENTIFIER.test(name) && !KEYWORDS.has(name);
}

const IDENTIFIER = /^[A-Za-z_][A-Za-z0-9_]*$/;
const KEYWORDS: ReadonlySet<string> = new Set([
  'true',
  'false',
  'null',
  'in',
  'as',
  'break',
  'const',
  'continue',
  'else',
  'for',
  'function',
  'if',
  'import',
  'let',
  'loop',
  'package',
  'namespace',
  'return',
  'var',
  'void',
  'while',
]);

/** Whole numbers beyond what an int literal holds exactly are written as doubles. */
function number(value: number): Expr {
  if (Object.is(value, -0)) return '-0.0';
  return Number.isInteger(value) && !Number.isSafeInteger(value) ? `${BigInt(value)}.0` : String(value);
}
