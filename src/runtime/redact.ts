/** Takes secrets out of whatever is about to be recorded or shown: the ones in use, and whatever looks like one (L10). */
const KEY_LIKE = /\b(?:sk|pk|rk|gsk|xai|AIza)[-_]?[A-Za-z0-9_-]*[A-Za-z0-9*_-]{12,}/g;
const REDACTED = '[redacted]';

export function redactText(text: string, key: string | undefined): string {
  return without(text, key).replace(KEY_LIKE, REDACTED);
}

/** A server that sends the key back must not get it into the journal. Text that merely looks like a key is left alone. */
export function redactValue<Value>(value: Value, key: string | undefined): Value {
  if (key === undefined || key.length < 8) return value;
  const text = JSON.stringify(value);
  const quoted = JSON.stringify(key).slice(1, -1);
  return text.includes(quoted) ? (JSON.parse(text.replaceAll(quoted, REDACTED)) as Value) : value;
}

function without(text: string, key: string | undefined): string {
  return key === undefined || key.length < 8 ? text : text.replaceAll(key, REDACTED);
}
