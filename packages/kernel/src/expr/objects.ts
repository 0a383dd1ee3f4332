/** Finds the JSON objects in a text: the whole text, objects in fences, and objects in prose. */
import { jsonOr, parseJson } from './parse-json.ts';
import { sortedText } from './json.ts';

/** The texts of the different objects, in order. Objects with the same content count once. */
export function objectsIn(text: string): readonly string[] {
  const whole = text.trim();
  if (isObjectText(whole)) return [whole];
  const found = new Map<string, string>();
  // Limits the work on texts with many braces that open and never close.
  let work = 4 * text.length + 4096;
  for (let at = text.indexOf('{'); at >= 0 && work > 0;) {
    const end = endOf(text, at);
    work -= (end < 0 ? text.length : end) - at;
    const part = end < 0 ? '' : text.slice(at, end);
    const isObject = isObjectText(part);
    if (isObject) found.set(sortedText(parseJson(part)), part);
    at = text.indexOf('{', isObject ? end : at + 1);
  }
  return [...found.values()];
}

/** The text of the object that begins at this place, or null if none does; and the number of characters that were read. */
export function objectAt(text: string, start: number): { readonly object: string | null; readonly work: number } {
  const end = endOf(text, start);
  const part = end < 0 ? '' : text.slice(start, end);
  return { object: isObjectText(part) ? part : null, work: (end < 0 ? text.length : end) - start };
}

/** The index after the brace that closes the one at `start`; -1 if none does. Braces inside strings do not count. */
function endOf(text: string, start: number): number {
  let depth = 0;
  let isString = false;
  for (let at = start; at < text.length; at++) {
    const char = text[at];
    if (isString) {
      if (char === '\\') at++;
      else if (char === '"') isString = false;
    } else if (char === '"') isString = true;
    else if (char === '{') depth++;
    else if (char === '}' && --depth === 0) return at + 1;
  }
  return -1;
}

function isObjectText(text: string): boolean {
  return text.startsWith('{') && text.endsWith('}') && jsonOr(text, null) !== null;
}
