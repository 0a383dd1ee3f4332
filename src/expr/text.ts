/**
 * `text(x)`: how a value reads inside a template. Strings stay as they are, null is empty, numbers and bools read as in
 * JSON, lists and maps become JSON text.
 */
import { chargeText } from './env.ts';
import type { Env } from './env.ts';
import { toJson } from './json-out.ts';
import { Uint } from './value.ts';
import type { Value } from './value.ts';

export function textOf(env: Env, value: Value): string {
  const text = plain(value);
  chargeText(env, text.length);
  return text;
}

function plain(value: Value): string {
  if (typeof value === 'string') return value;
  if (value === null) return '';
  if (typeof value !== 'object') return String(value);
  if (value instanceof Uint) return String(value.value);
  const json = toJson(value);
  return typeof json === 'string' ? json : JSON.stringify(json);
}
