/**
 * Searchable texts. White space and case are normalized, invisible characters removed. A value occurs in a source only as a
 * whole token: `/home` does not occur in `/home/ann`, nor `lee@corp.com` in `anna-lee@corp.com`, nor 13 in `June 13`.
 */
import { parsedJson, unfenced } from '@sluice-internal/kernel/expr';
import type { Json } from '@sluice-internal/kernel/expr';

export interface TextSource {
  readonly name: string;
  /** The value occurs in the source, as text or as a number. */
  has(value: string | number): boolean;
}

export interface TaintSource extends TextSource {
  /** The names of the source that occur in one of these texts of letters and digits. */
  namesWithin(squeezed: readonly string[]): readonly string[];
}

/** A source that taints values: also by a part of a token, and for every number in it. */
export function taintOf(name: string, values: readonly Json[]): TaintSource {
  const written = values.map(flat).join('\n');
  const original = written.includes('\\') ? `${written}\n${unescaped(written)}` : written;
  const text = `\n${even(original)}\n`;
  const numbers = new Set<number>();
  let names: Names | null = null;
  for (const [match] of original.matchAll(/\d[\d,]*(?:\.\d+)?/g)) {
    numbers.add(Number(match.replaceAll(',', '')));
    for (const part of match.split(',')) if (part !== '') numbers.add(Number(part));
  }
  return {
    name,
    has: (value) => (typeof value === 'number' ? numbers.has(value) : contains(text, even(value), isWord)),
    namesWithin: (readings) => {
      names ??= namesIn(text);
      return occurring(names, readings);
    },
  };
}

/** The text with the escapes of JSON read: a value that stands after `\n` in JSON text is a word of its own. */
function unescaped(text: string): string {
  return text.replace(/\\(?:u([0-9a-f]{4})|[bfnrt])/gi, (_, code?: string) =>
    code === undefined ? ' ' : String.fromCharCode(Number.parseInt(code, 16)),
  );
}

/** Shorter names occur in other texts by chance. */
const NAME_MIN = 8;

/** Names by their letters and digits. The lengths of the names that begin alike make a search as fast as the text is long. */
interface Names {
  readonly words: ReadonlyMap<string, string>;
  readonly lengths: ReadonlyMap<string, ReadonlySet<number>>;
}

function namesIn(text: string): Names {
  const words = new Map<string, string>();
  const lengths = new Map<string, Set<number>>();
  for (const part of text.split(/[\s"'`<>()[\]{},;]+/)) {
    const word = bare(part);
    const plain = isName(word) ? squeezed(word) : '';
    if (plain.length < NAME_MIN) continue;
    words.set(plain, word);
    const start = plain.slice(0, NAME_MIN);
    const known = lengths.get(start);
    if (known === undefined) lengths.set(start, new Set([plain.length]));
    else known.add(plain.length);
  }
  return { words, lengths };
}

function occurring({ words, lengths }: Names, readings: readonly string[]): readonly string[] {
  const found = new Set<string>();
  for (const reading of readings)
    for (let at = 0; at + NAME_MIN <= reading.length; at++)
      for (const length of lengths.get(reading.slice(at, at + NAME_MIN)) ?? []) {
        const word = words.get(reading.slice(at, at + length));
        if (word !== undefined) found.add(word);
      }
  return [...found];
}

/** Only the letters and digits of a text. */
export function squeezed(text: string): string {
  return even(text).replace(/[^\p{L}\p{N}]+/gu, '');
}

/** A word without the marks around it. */
export function bare(word: string): string {
  return word.replace(/^[^\p{L}\p{N}]+|[^\p{L}\p{N}]+$/gu, '');
}

const NAME_DIGITS = 3;

/** True for an address, account, path or key; false for a plain word. */
export function isName(word: string): boolean {
  if (/^[\d.,]+$/.test(word)) return false;
  return /[\p{L}\p{N}][@/_:#\\.][\p{L}\p{N}]/u.test(word) || (word.match(/\d/g)?.length ?? 0) >= NAME_DIGITS;
}

/** The texts of a value, one per line, without the names of fields. */
export function flat(value: Json): string {
  if (typeof value === 'string') return value;
  if (value === null || typeof value !== 'object') return String(value);
  return (Array.isArray(value) ? value : Object.values(value)).map(flat).join('\n');
}

/** The value has a text. */
export function isFilled(value: Json): boolean {
  if (Array.isArray(value)) return value.some(isFilled);
  return value !== null && flat(value) !== '';
}

/** Parses JSON text, with or without a fence; other values are returned unchanged. */
export function structured(value: Json): Json {
  const text = typeof value === 'string' ? unfenced(value) : '';
  return /^\s*[{[]/.test(text) ? (parsedJson(text) ?? value) : value;
}

export const INVISIBLE = /\p{Cf}|\u034f|\u115f|\u1160|\u17b4|\u17b5|\u3164/gu;

export function even(text: string): string {
  return text.normalize('NFKC').replace(INVISIBLE, '').toLowerCase().replace(/\s+/g, ' ').trim();
}

type Fits = (text: string, at: number, part: string) => boolean;

function contains(text: string, part: string, fits: Fits): boolean {
  if (part === '') return false;
  for (let at = text.indexOf(part); at >= 0; at = text.indexOf(part, at + 1)) if (fits(text, at, part)) return true;
  return false;
}

/** The value occurs in a text that `even` made, as a whole token. */
export function hasToken(text: string, value: string): boolean {
  return contains(text, even(value), isToken);
}

const isToken: Fits = (text, at, part) => {
  const before = text.slice(Math.max(0, at - 2), at);
  const after = text.slice(at + part.length, at + part.length + 2);
  return (
    (startsToken(before) || isScriptChange(before.at(-1), part[0])) &&
    (endsToken(after) || isScriptChange(after[0], part.at(-1)))
  );
};

const UNSPACED = /[\p{Script=Han}\p{Script=Hiragana}\p{Script=Katakana}\p{Script=Thai}。、「」『』【】・]/u;

/** In a script without spaces, a Latin letter or a digit begins a new token. */
function isScriptChange(outside = '', edge = ''): boolean {
  return UNSPACED.test(outside) && /[a-z\d]/.test(edge);
}

const WORD = /[\p{L}\p{N}]/u;

/** Not inside a longer word. */
const isWord: Fits = (text, at, part) => {
  const joins = (a = '', b = ''): boolean => WORD.test(a) && WORD.test(b);
  return !joins(text[at - 1], part[0]) && !joins(text[at + part.length], part.at(-1));
};

/** The text before the value ends a token: a space, an opening bracket or quotation mark, or a mark such as `to:`. */
function startsToken(before: string): boolean {
  return /(?:^|[\s([{<"'`“‘„,;|=*_>]|[\s\p{L}\p{N}]:)$/u.test(before);
}

/** The text after the value begins another token. A full stop or colon counts only before a space or the end. */
function endsToken(after: string): boolean {
  return after === '' || /^(?:[\s)\]}>"'`”’,;|!?*_<]|[.:](?:[\s"')\]]|$))/u.test(after);
}
