/**
 * Parses JSON text. V8 reads a key with an escape wrongly after it has read a longer raw form of it: after `{"h":0,"\\":0}`,
 * the key of `{"h":0,"\n":0}` becomes a backslash (nodejs/node#63785). If a text has such a key, all its keys are
 * replaced before it is parsed.
 */
import { isRecord, type Json } from './json.ts';

export function parseJson(text: string): Json {
  const value = JSON.parse(text) as Json;
  return hasEscapedKey(text) ? withOtherKeys(text) : value;
}

/**
 * Parses a text from outside. A number that is too large for JavaScript would become `Infinity`, which the journal cannot store, so the
 * text is refused.
 */
export function checkedJson(text: string): Json {
  const value = parseJson(text);
  if (MAYBE_HUGE.test(text) && !isFinite(value)) throw new SyntaxError('a number is too large');
  return value;
}

/** An exponent of three digits, or 309 digits. */
const MAYBE_HUGE = /\d[eE]\+?\d{3}|(?<!\d)\d{309}/;

function isFinite(value: Json): boolean {
  if (typeof value === 'number') return Number.isFinite(value);
  return value === null || typeof value !== 'object' || Object.values<Json>(value).every(isFinite);
}

/** The value of a JSON text, or `otherwise` if it is not JSON. */
export function jsonOr<Otherwise>(text: string, otherwise: Otherwise): Json | Otherwise {
  try {
    return checkedJson(text);
  } catch {
    return otherwise;
  }
}

/** Looks at each text with an escape, from its first backslash. The JSON is valid, so every text ends. */
function hasEscapedKey(text: string): boolean {
  let end = 0;
  for (let at = text.indexOf('\\'); at >= 0; at = text.indexOf('\\', end)) {
    end = endOfText(text, at);
    if (isKey(text, end + 1)) return true;
  }
  return false;
}

/** The place of the closing quotation mark, from a place inside the text. */
function endOfText(text: string, from: number): number {
  let end = text.indexOf('"', from);
  while (isEscaped(text, end)) end = text.indexOf('"', end + 1);
  return end;
}

/** After an odd number of backslashes. */
function isEscaped(text: string, at: number): boolean {
  let before = at - 1;
  while (text.charCodeAt(before) === BACKSLASH) before -= 1;
  return (at - before) % 2 === 0;
}
const BACKSLASH = 92;

function isKey(text: string, after: number): boolean {
  let at = after;
  while (text[at] === ' ' || text[at] === '\n' || text[at] === '\t' || text[at] === '\r') at += 1;
  return text[at] === ':';
}

/**
 * Each key gets one internal name for all its spellings. The name is never a number, so the keys of an object keep their
 * order.
 */
function withOtherKeys(text: string): Json {
  const names = new Map<string, string>();
  const spellings = new Map<string, string>();
  const parts: string[] = [];
  let done = 0;
  let end = 0;
  for (let start = text.indexOf('"'); start >= 0; start = text.indexOf('"', end)) {
    end = endOfText(text, start + 1) + 1;
    if (!isKey(text, end)) continue;
    const spelling = text.slice(start, end);
    let name = spellings.get(spelling);
    if (name === undefined) {
      const key = JSON.parse(spelling) as string;
      name = names.get(key) ?? `k${names.size}`;
      names.set(key, name);
      spellings.set(spelling, name);
    }
    parts.push(text.slice(done, start), `"${name}"`);
    done = end;
  }
  const keys = new Map([...names].map(([key, name]) => [name, key]));
  return renamed(JSON.parse(`${parts.join('')}${text.slice(done)}`) as Json, keys);
}

function renamed(value: Json, keys: ReadonlyMap<string, string>): Json {
  if (Array.isArray(value)) return value.map((each) => renamed(each, keys));
  if (!isRecord(value)) return value;
  return Object.fromEntries(Object.entries(value).map(([key, each]) => [keys.get(key) ?? key, renamed(each, keys)]));
}
