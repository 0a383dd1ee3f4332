/**
 * Removes secrets from everything that is recorded or shown (L10): the secrets in use, in the encodings in which a server
 * can repeat them (`secret-forms.ts`), and text that looks like a key.
 */
import type { Json } from '@sluice-internal/kernel/expr';
import { formsOf, type Form } from './secret-forms.ts';

const KEY_LIKE = /\b(?:sk|pk|rk|gsk|xai|AIza)[-_]?[A-Za-z0-9_-]*[A-Za-z0-9*_-]{12,}/g;
const REDACTED = '[redacted]';

/** One secret, or several. */
type Secrets = string | readonly string[] | undefined;

export function redactText(text: string, secrets: Secrets): string {
  return without(text, formsOfAll(secrets)).replace(KEY_LIKE, REDACTED);
}

/** Removes the secrets from every text of a value. Text that only looks like a key stays. */
export function redactValue<Value>(value: Value, secrets: Secrets): Value {
  const forms = formsOfAll(secrets);
  return forms.length === 0 || value === undefined ? value : (cleaned(value as Json, forms) as Value);
}

/** True if the bytes contain a secret, in one of its forms. Compressed content is not searched. */
export function holdsSecret(data: Uint8Array, secrets: Secrets): boolean {
  const forms = formsOfAll(secrets);
  if (forms.length === 0) return false;
  const text = Buffer.from(data.buffer, data.byteOffset, data.byteLength).toString('latin1');
  return without(text, forms) !== text;
}

/** A value without secrets is returned as it is. */
function cleaned(value: Json, forms: readonly Form[]): Json {
  if (typeof value === 'string') return without(value, forms);
  if (typeof value === 'number') return without(String(value), forms) === String(value) ? value : REDACTED;
  if (value === null || typeof value !== 'object') return value;
  if (Array.isArray(value)) {
    const items = value.map((item: Json) => cleaned(item, forms));
    return items.every((item, index) => item === value[index]) ? value : items;
  }
  const entries = Object.entries(value).map(([name, each]) => [without(name, forms), cleaned(each, forms)] as const);
  const isSame = Object.entries(value).every(
    ([name, each], at) => entries[at]?.[0] === name && entries[at][1] === each,
  );
  return isSame ? value : Object.fromEntries(entries);
}

function formsOfAll(secrets: Secrets): readonly Form[] {
  const all = secrets === undefined ? [] : typeof secrets === 'string' ? [secrets] : secrets;
  // A longer secret can contain a shorter one.
  return all.toSorted((a, b) => b.length - a.length).flatMap(formsOf);
}

function without(text: string, forms: readonly Form[]): string {
  return forms.reduce((rest, form) => form.replaceIn(rest, REDACTED), text);
}

/** Removes secrets from streamed text. The end of a piece that could be the start of a secret is kept for the next piece. */
export class StreamRedactor<Part extends string> {
  readonly #forms: readonly Form[];
  readonly #kept = new Map<Part, string>();

  constructor(secrets: Secrets) {
    this.#forms = formsOfAll(secrets);
  }

  /** The text that can be shown now. */
  push(delta: string, part: Part): string {
    const text = without((this.#kept.get(part) ?? '') + delta, this.#forms);
    const starts = this.#forms.map((form) => form.startIn(text)).filter((at) => at >= 0);
    const from = Math.min(text.length, ...starts);
    this.#kept.set(part, text.slice(from));
    return text.slice(0, from);
  }

  /** The text that was kept. */
  end(): readonly (readonly [text: string, part: Part])[] {
    const rest = [...this.#kept].map(([part, text]) => [text, part] as const).filter(([text]) => text !== '');
    this.#kept.clear();
    return rest;
  }
}
