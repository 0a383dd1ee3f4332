/**
 * Parses JSON text. V8 reads a key with an escape wrongly after it has read a longer raw form of it: after `{"h":0,"\\":0}`,
 * the key of `{"h":0,"\n":0}` becomes a backslash (nodejs/node#63785). Such keys are replaced before the text is parsed.
 */
import { isRecord, type Json } from './json.ts';

export function parseJson(text: string): Json {
  const value = JSON.parse(text) as Json;
  return hasEscapedKey(text) ? withEscapedKeys(text) : value;
}

/** Looks at each text in quotation marks. The JSON is valid, so every one of them ends. */
function hasEscapedKey(text: string): boolean {
  if (!text.includes('\\')) return false;
  for (let start = text.indexOf('"'); start >= 0;) {
    const end = endOfText(text, start);
    if (isKey(text, end + 1) && text.slice(start, end).includes('\\')) return true;
    start = text.indexOf('"', end + 1);
  }
  return false;
}

/** A quotation mark after an odd number of backslashes does not end the text. */
function endOfText(text: string, start: number): number {
  let end = text.indexOf('"', start + 1);
  while (backslashesBefore(text, end) % 2 === 1) end = text.indexOf('"', end + 1);
  return end;
}

function isKey(text: string, after: number): boolean {
  let at = after;
  while (text[at] === ' ' || text[at] === '\n' || text[at] === '\t' || text[at] === '\r') at += 1;
  return text[at] === ':';
}

function backslashesBefore(text: string, end: number): number {
  let at = end;
  while (text[at - 1] === '\\') at -= 1;
  return end - at;
}

function withEscapedKeys(text: string): Json {
  let mark = '\uE000';
  while (text.includes(mark)) mark += '\uE000';
  const keys = new Map<string, string>();
  const replaced = text.replace(/"[^"\\]*(?:\\.[^"\\]*)*"(\s*:)?/g, (part, colon: string | undefined) => {
    if (colon === undefined || !part.includes('\\')) return part;
    const name = `${mark}${keys.size}`;
    keys.set(name, JSON.parse(part.slice(0, -colon.length)) as string);
    return `"${name}":`;
  });
  return renamed(JSON.parse(replaced) as Json, keys);
}

function renamed(value: Json, keys: ReadonlyMap<string, string>): Json {
  if (Array.isArray(value)) return value.map((each) => renamed(each, keys));
  if (!isRecord(value)) return value;
  return Object.fromEntries(Object.entries(value).map(([key, each]) => [keys.get(key) ?? key, renamed(each, keys)]));
}
