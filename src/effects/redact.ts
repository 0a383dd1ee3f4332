/** Takes secrets out of whatever is about to be recorded or shown: the ones in use, and whatever looks like one (L10). */
import type { Json } from '../expr/json.ts';

const KEY_LIKE = /\b(?:sk|pk|rk|gsk|xai|AIza)[-_]?[A-Za-z0-9_-]*[A-Za-z0-9*_-]{12,}/g;
const REDACTED = '[redacted]';
/** What is shorter is too common to be told from ordinary text. */
const LENGTH_MIN = 8;
/** JSON that is quoted in JSON that is quoted: deeper than that nobody repeats what they were sent. */
const QUOTED_MAX = 2;

export function redactText(text: string, key: string | undefined): string {
  return without(text, formsOf(key)).replace(KEY_LIKE, REDACTED);
}

/** A server that sends the key back must not get it into the journal. Text that merely looks like a key is left alone. */
export function redactValue<Value>(value: Value, key: string | undefined): Value {
  const forms = formsOf(key);
  const text = forms.length === 0 ? undefined : JSON.stringify(value);
  if (text === undefined || !forms.some((form) => text.includes(quoted(form)))) return value;
  // Each part by itself: in the text as a whole, the key could also be half of an escape, or a number.
  return JSON.parse(text, (_, part: Json) => cleaned(part, forms)) as Value;
}

function cleaned(part: Json, forms: readonly string[]): Json {
  if (typeof part === 'string') return without(part, forms);
  if (typeof part === 'number') return forms.some((form) => String(part).includes(form)) ? REDACTED : part;
  if (part === null || typeof part !== 'object' || Array.isArray(part)) return part;
  return Object.fromEntries(Object.entries(part).map(([name, each]) => [without(name, forms), each]));
}

/** The key as it is, and as it stands in JSON that is passed on as text; the longest first, since it can hold the others. */
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
