/**
 * Removes secrets from everything that is recorded or shown (L10): the secrets in use, in the encodings in which a server
 * can repeat them, and text that looks like a key.
 */
import type { Json } from '../expr/json.ts';

const KEY_LIKE = /\b(?:sk|pk|rk|gsk|xai|AIza)[-_]?[A-Za-z0-9_-]*[A-Za-z0-9*_-]{12,}/g;
const REDACTED = '[redacted]';
/** A shorter key could be part of ordinary text. */
const LENGTH_MIN = 8;
/** Levels of JSON text inside JSON text in which a secret is recognised. */
const QUOTED_MAX = 2;
const KNOWN_MAX = 1_000;

/** One secret, or several. */
type Secrets = string | readonly string[] | undefined;

export function redactText(text: string, secrets: Secrets): string {
  return without(text, formsOfAll(secrets)).replace(KEY_LIKE, REDACTED);
}

/** Removes the secrets from every text of a value. Text that only looks like a key stays. */
export function redactValue<Value>(value: Value, secrets: Secrets): Value {
  const forms = formsOfAll(secrets);
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

const known = new Map<string, readonly string[]>();

function formsOfAll(secrets: Secrets): readonly string[] {
  if (secrets === undefined || typeof secrets === 'string') return formsOf(secrets);
  return secrets.length === 1 ? formsOf(secrets[0]) : secrets.flatMap(formsOf).toSorted((a, b) => b.length - a.length);
}

/** The key as it can occur in text. The longest form comes first, because it can contain the others. */
function formsOf(key: string | undefined): readonly string[] {
  if (key === undefined || key.length < LENGTH_MIN) return [];
  let forms = known.get(key);
  if (forms === undefined) {
    const all = [key, ...jsonForms(key), ...urlForms(key), ...hexForms(key), ...base64Forms(key)];
    forms = [...new Set(all)].toSorted((a, b) => b.length - a.length);
    if (known.size >= KNOWN_MAX) known.clear();
    known.set(key, forms);
  }
  return forms;
}

function jsonForms(key: string): string[] {
  const forms = [key];
  for (let depth = 0; depth < QUOTED_MAX; depth++) forms.push(quoted(forms.at(-1) as string));
  return forms;
}

/** As in a path or a query, and as in the body of a form, where a space is `+`. */
function urlForms(key: string): string[] {
  const encoded = encodeURIComponent(key.toWellFormed());
  const form = new URLSearchParams({ k: key }).toString().slice(2);
  return [encoded, form].flatMap((text) => [text, text.replace(/%[0-9A-F]{2}/g, (escape) => escape.toLowerCase())]);
}

function hexForms(key: string): string[] {
  const hex = Buffer.from(key).toString('hex');
  return [hex, hex.toUpperCase()];
}

/**
 * Base64 of a text that contains the key, such as `user:key`, depends on the position of the key modulo 3. Each form has the
 * characters that the key alone determines.
 */
function base64Forms(key: string): string[] {
  const bytes = Buffer.from(key);
  return [0, 1, 2].flatMap((offset) => {
    const text = Buffer.concat([Buffer.alloc(offset), bytes]).toString('base64');
    const start = Math.ceil((offset * 8) / 6);
    const end = Math.floor(((offset + bytes.length) * 8) / 6);
    const inner = text.slice(start, end);
    const whole = offset === 0 ? [text] : [];
    return [...whole, inner].flatMap((form) => [form, form.replaceAll('+', '-').replaceAll('/', '_')]);
  });
}

function quoted(text: string): string {
  return JSON.stringify(text).slice(1, -1);
}

function without(text: string, forms: readonly string[]): string {
  return forms.reduce((rest, form) => rest.replaceAll(form, REDACTED), text);
}
