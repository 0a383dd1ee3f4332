/**
 * The canonical text of a JSON value (RFC 8785): keys in order, no white space. Equal values have the same text. Throws for a
 * number that is not finite and for half of a surrogate pair, which have no canonical form.
 */
import { sortedKeys } from './sorted-keys.ts';

export function canonical(value: unknown): string {
  if (typeof value === 'string') return quoted(value);
  if (Array.isArray(value)) return `[${value.map(canonical).join(',')}]`;
  if (value !== null && typeof value === 'object') return objectText(value as { readonly [key: string]: unknown });
  if (typeof value === 'number' && !Number.isFinite(value)) throw new Error(`${value} has no canonical form`);
  return JSON.stringify(value ?? null);
}

function objectText(object: { readonly [key: string]: unknown }): string {
  let text = '';
  for (const key of sortedKeys(object))
    if (object[key] !== undefined) text += `${text === '' ? '' : ','}${quoted(key)}:${canonical(object[key])}`;
  return `{${text}}`;
}

/** Printable ASCII without quotes and backslashes: most texts are, and need no escapes. */
const PLAIN = /^[ !#-[\]-~]*$/;

function quoted(text: string): string {
  if (PLAIN.test(text)) return `"${text}"`;
  if (!text.isWellFormed()) throw new Error('a text with half of a surrogate pair has no canonical form');
  return JSON.stringify(text);
}
