/** The readings of a text reply: the JSON object in it, the text, and any other JSON value. */
import { jsonOr } from './parse-json.ts';
import type { Json } from './json.ts';
import { objectsIn } from './objects.ts';

/** A reply is stored as an object if its text is a JSON object, also inside one Markdown fence; otherwise as its text. */
export function reply(value: Json): Json {
  if (typeof value !== 'string') return value;
  const text = unfenced(value).trim();
  return text.startsWith('{') && text.endsWith('}') ? (parsedJson(text) ?? value) : value;
}

/** The one JSON object in a text, also inside a fence or prose. Without one, or with different ones, the value itself. */
export function oneObject(value: Json): Json {
  const [only, ...more] = typeof value === 'string' ? objectsIn(value) : [];
  return only === undefined || more.length > 0 ? value : parsedJson(only);
}

/** The text of the one JSON object in a text; otherwise the value itself. */
export function objectText(value: Json): Json {
  const [only, ...more] = typeof value === 'string' ? objectsIn(value) : [];
  return only === undefined || more.length > 0 ? value : only;
}

/** The sentence for a text with different JSON objects; null for any other text. */
export function ambiguity(value: Json): string | null {
  const count = typeof value === 'string' ? objectsIn(value).length : 0;
  return count < 2 ? null : `the reply contains ${count} different JSON objects, and one is expected`;
}

/** The readings of a value that may fit a schema. The first is stored. */
export function* readingsOf(value: Json): Iterable<Json> {
  yield reply(value);
  if (typeof value !== 'string') return;
  yield value;
  const parsed = parsedJson(unfenced(value));
  if (parsed !== null) yield parsed;
}

/** The content of the one Markdown fence that surrounds a text, or the text itself. */
export function unfenced(text: string): string {
  const whole = text.trim();
  if (whole.length < 2 * FENCE.length || !whole.startsWith(FENCE) || !whole.endsWith(FENCE)) return text;
  // The word after the opening fence names the language.
  return whole.slice(FENCE.length, -FENCE.length).replace(/^\w*/, '');
}
const FENCE = '```';

/** The value of a JSON text; null if it is not JSON, or too deep to be walked through. */
export function parsedJson(value: Json): Json {
  return typeof value === 'string' && !isTooDeep(value) ? jsonOr(value, null) : null;
}

/** Results of tools and inputs of runs have the same limit. */
const DEPTH_MAX = 1000;

function isTooDeep(text: string): boolean {
  let depth = 0;
  let isQuoted = false;
  for (let at = 0; at < text.length; at++) {
    const char = text[at];
    if (isQuoted && char === '\\') at += 1;
    else if (char === '"') isQuoted = !isQuoted;
    else if (!isQuoted && (char === '[' || char === '{') && (depth += 1) > DEPTH_MAX) return true;
    else if (!isQuoted && (char === ']' || char === '}')) depth -= 1;
  }
  return false;
}
