/** Data as CEL source text. Each function returns one complete operand, which is safe inside a larger expression. */
import type { Expr } from './evaluate.ts';
import type { Json } from './json.ts';

/**
 * A CEL string literal. Only characters that would end or change the literal are escaped. Lone surrogates have no escape and
 * stay.
 */
export function quote(text: string): Expr {
  const escaped = text.replace(/["\\\u0000-\u001f\u007f]/g, (char) => {
    if (char === '"' || char === '\\') return `\\${char}`;
    return char === '\n' ? '\\n' : `\\u${char.charCodeAt(0).toString(16).padStart(4, '0')}`;
  });
  return `"${escaped}"`;
}

/** Any JSON value. Its texts are plain text, unless `textOf` reads templates in them. */
export function literal(value: Json, textOf: (text: string) => Expr = quote): Expr {
  if (typeof value === 'string') return textOf(value);
  if (typeof value === 'number') return number(value);
  if (value === null || typeof value === 'boolean') return String(value);
  if (Array.isArray(value)) return `[${value.map((item) => literal(item, textOf)).join(', ')}]`;
  return object(Object.entries(value).map(([key, item]) => [key, literal(item, textOf)]));
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
  return IDENTIFIER.test(name) && !RESERVED.test(name);
}

const IDENTIFIER = /^[A-Za-z_][A-Za-z0-9_]*$/;
const RESERVED =
  /^(?:true|false|null|in|as|break|const|continue|else|for|function|if|import|let|loop|package|namespace|return|var|void|while)$/;

/** Whole numbers beyond what an int literal holds exactly are written as doubles. */
function number(value: number): Expr {
  if (Object.is(value, -0)) return '-0.0';
  return Number.isInteger(value) && !Number.isSafeInteger(value) ? `${BigInt(value)}.0` : String(value);
}
