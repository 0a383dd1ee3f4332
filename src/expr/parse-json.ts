/**
 * Parses JSON text. V8 reads a key with an escape wrongly after it has read a longer raw form of it: after `{"h":0,"\\":0}`,
 * the key of `{"h":0,"\n":0}` becomes a backslash (nodejs/node#63785). Such keys are replaced before the text is parsed.
 */
import { isRecord, type Json } from './json.ts';

export function parseJson(text: string): Json {
  const value = JSON.parse(text) as Json;
  return hasEscapedKey(text) ? withEscapedKeys(text) : value;
}

/** Looks at each text with an escape, from its first backslash. The JSON is valid, so every text ends. */
function hasEscapedKey(text: string): boolean {
  let end = 0;
  for (let at = text.indexOf('\\'); at >= 0; at = text.indexOf('\\', end)) {
    end = text.indexOf('"', at);
    while (isEscaped(text, end)) end = text.indexOf('"', end + 1);
    if (isKey(text, end + 1)) return true;
  }
  return false;
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
