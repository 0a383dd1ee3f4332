/**
 * Turns the result of a tool, or the input of a caller, into JSON that the journal can store. A value that is already JSON
 * passes unchanged, after a walk that is cheaper than serialising it. A result that cannot be stored is a failure of the call.
 */
import { parseJson, reasonOf } from '@sluice-internal/kernel/expr';
import type { Json } from '@sluice-internal/kernel/expr';
import { PerformError } from './failures.ts';

/** The largest result, in characters of JSON (approximately). */
const RESULT_MAX = 4 * 1024 * 1024;
/** Deeper values could overflow the stack of a recursive walk. */
const DEPTH_MAX = 1000;

export function toolResult(name: string, value: unknown, max: number = RESULT_MAX): Json {
  try {
    const size = sizeOf(value, 0, max);
    if (size !== null) return size > max ? tooLarge(name, max) : (value as Json);
    return normalised(name, value, max);
  } catch (error) {
    if (error instanceof PerformError) throw error;
    const reason = reasonOf(error);
    throw failed('ResultError', `the result of \`${name}\` is not JSON: ${reason}`);
  }
}

/** Throws, with a short reason, if the value cannot be JSON. */
export function plainJson(value: unknown): Json {
  if (sizeOf(value, 0, Infinity) !== null) return value as Json;
  const text = JSON.stringify(value) as string | undefined;
  if (text === undefined) throw new TypeError(`it is a ${typeof value}`);
  return parseJson(text);
}

/** Dates, class instances and holes become what `JSON.stringify` makes of them, so that run and journal agree. */
function normalised(name: string, value: unknown, max: number): Json {
  const text = JSON.stringify(value) as string | undefined;
  if (text === undefined) throw failed('ResultError', `the result of \`${name}\` is not JSON`);
  return text.length > max ? tooLarge(name, max) : parseJson(text);
}

/** The approximate size in characters, or null if the value is not JSON. Stops counting above the maximum. */
function sizeOf(value: unknown, depth: number, max: number): number | null {
  if (typeof value === 'string') return value.length + 2;
  if (value === null || typeof value === 'boolean') return 4;
  if (typeof value === 'number') return Number.isFinite(value) && !Object.is(value, -0) ? 8 : null;
  return typeof value === 'object' ? objectSize(value, depth, max) : null;
}

function objectSize(value: object, depth: number, max: number): number | null {
  if (depth >= DEPTH_MAX) throw new Error(`it is nested more than ${DEPTH_MAX} deep`);
  let size = 2;
  const entries = Array.isArray(value) ? (value as unknown[]) : plainValues(value);
  if (entries === null) return null;
  for (const each of entries) {
    const part = sizeOf(each, depth + 1, max);
    if (part === null) return null;
    size += part + 1;
    if (size > max) return size;
  }
  if (!Array.isArray(value)) for (const key in value) size += key.length + 3;
  return size;
}

function plainValues(value: object): unknown[] | null {
  const prototype = Object.getPrototypeOf(value) as unknown;
  if (prototype !== Object.prototype && prototype !== null) return null;
  return 'toJSON' in value ? null : Object.values(value);
}

function tooLarge(name: string, max: number): never {
  throw failed('TooLargeError', `the result of \`${name}\` has more than ${max} characters, which is the maximum`);
}

function failed(type: string, message: string): PerformError {
  return new PerformError({ class: 'semantic', type, message });
}
