/**
 * Searchable texts. White space and case are normalized. A value occurs in a source only as a whole, not as part of a longer
 * word.
 */
import { unfenced } from '../../core/reply.ts';
import type { Json } from '../../expr/json.ts';

export interface TextSource {
  readonly name: string;
  /** The value occurs in the source, as text or as a number. */
  has(value: string | number): boolean;
}

export function sourceOf(name: string, values: readonly Json[]): TextSource {
  const text = `\n${even(values.map(flat).join('\n'))}\n`;
  let numbers: ReadonlySet<number> | null = null;
  return {
    name,
    has: (value) => {
      if (typeof value === 'number') return (numbers ??= numbersIn(text)).has(value);
      return contains(text, even(value));
    },
  };
}

/** The texts of a value, one per line, without the names of fields. */
export function flat(value: Json): string {
  if (typeof value === 'string') return value;
  if (value === null || typeof value !== 'object') return String(value);
  return (Array.isArray(value) ? value : Object.values(value)).map(flat).join('\n');
}

/** Parses JSON text, with or without a fence; other values are returned unchanged. */
export function structured(said: Json): Json {
  const text = typeof said === 'string' ? unfenced(said) : '';
  if (!/^\s*[{[]/.test(text)) return said;
  try {
    return JSON.parse(text) as Json;
  } catch {
    return said;
  }
}

export function even(text: string): string {
  return text.normalize('NFKC').toLowerCase().replace(/\s+/g, ' ').trim();
}

function contains(text: string, part: string): boolean {
  if (part === '') return false;
  for (let at = text.indexOf(part); at >= 0; at = text.indexOf(part, at + 1))
    if (!joins(text[at - 1], part[0]) && !joins(text[at + part.length], part.at(-1))) return true;
  return false;
}

/** Two adjacent characters are part of one word. */
function joins(a: string | undefined, b: string | undefined): boolean {
  return a !== undefined && b !== undefined && WORD.test(a) && WORD.test(b);
}

const WORD = /[\p{L}\p{N}]/u;

/** `10,000.50` and `10000.5` are the same number. */
function numbersIn(text: string): ReadonlySet<number> {
  const found = new Set<number>();
  for (const [match] of text.matchAll(/\d[\d,]*(?:\.\d+)?/g)) {
    found.add(Number(match.replaceAll(',', '')));
    for (const part of match.split(',')) if (part !== '') found.add(Number(part));
  }
  return found;
}
