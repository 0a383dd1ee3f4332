/** Removes secrets from text that is recorded or shown: the keys in use, and text that looks like a key (L10). */
import type { Json } from '../expr/json.ts';

const KEY_LIKE = /\b(?:sk|pk|rk|gsk|xai|AIza)[-_]?[A-Za-z0-9_-]*[A-Za-z0-9*_-]{12,}/g;
const REDACTED = '[redacted]';
/** A shorter key could be part of ordinary text. */
const LENGTH_MIN = 8;
/** A key is also found in JSON text inside JSON text, to this depth. */
const QUOTED_MAX = 2;

export function redactText(text: string, key: string | undefined): string {
  return without(text, formsOf(key)).replace(KEY_LIKE, REDACTED);
}

/** Removes the key from a value that is recorded. Text that only looks like a key stays. */
export function redactValue<Value>(value: Value, key: string | undefined): Value {
  const forms = formsOf(key);
  const text = forms.length === 0 ? undefined : JSON.stringify(value);
  if (text === undefined || !forms.some((form) => text.includes(quoted(form)))) return value;
  // Part by part: in the JSON text as a whole, a match could cut an escape sequence or a number.
  return JSON.parse(text, (_, part: Json) => cleaned(part, forms)) as Value;
}

function cleaned(part: Json, forms: readonly string[]): Json {
  if (typeof part === 'string') return without(part, forms);
  if (typeof part === 'number') return forms.some((form) => String(part).includes(form)) ? REDACTED : part;
  if (part === null || typeof part !== 'object' || Array.isArray(part)) return part;
  return Object.fromEntries(Object.entries(part).map(([name, each]) => [without(name, forms), each]));
}

/** The key, and the key as quoted JSON text. The longest form comes first because it can contain the others. */
function formsOf(key: string | undefined): readonly string[] {
  if (key === undefined || key.length < LENGTH_MIN) return [];
  const forms = [key];
  for (let depth = 0; depth < QUOTED_MAX; depth++) forms.unshift(quoted(forms[0] as string));
  return [...new Set(forms)];
}

function quoted(text: string): string {
  return JSON.stringify(text).slice(1, -1);
}

function without(text: string, forms: readonly string[]): string {
  return forms.reduce((rest, form) => rest.replaceAll(form, REDACTED), text);
}
