/** The readings of a text reply: a JSON object, also inside one Markdown fence; the text; any other JSON value. */
import type { Json } from '../expr/json.ts';

/** A reply is stored as an object if its text is a JSON object, also inside one Markdown fence; otherwise as its text. */
export function reply(value: Json): Json {
  if (typeof value !== 'string') return value;
  const text = unfenced(value).trim();
  return text.startsWith('{') && text.endsWith('}') ? (parsedJson(text) ?? value) : value;
}

/** The readings in which a value may satisfy a schema. The first is the one that is stored. */
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

/** The value of a JSON text; null if it is not JSON. */
export function parsedJson(value: Json): Json {
  try {
    return typeof value === 'string' ? (JSON.parse(value) as Json) : null;
  } catch {
    return null;
  }
}
