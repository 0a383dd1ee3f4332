/**
 * Whatever a tool gave, as the JSON that a journal stores, or a failure that says why it cannot be. What is JSON already is
 * handed on as it is; a walk is cheaper than writing it down twice. Nothing that a tool returns can stop a run.
 */
import type { Json } from '../../expr/json.ts';
import { PerformError } from '../failures.ts';

/** How much of a result is kept, roughly its characters as JSON. */
export const RESULT_MAX = 4 * 1024 * 1024;
/** Deeper than this, whatever walks a value may run out of stack. */
const DEPTH_MAX = 1000;

export function toolResult(name: string, value: unknown, max: number = RESULT_MAX): Json {
  try {
    const size = sizeOf(value, 0, max);
    if (size !== null) return size > max ? tooLarge(name, max) : (value as Json);
    return normalised(name, value, max);
  } catch (error) {
    if (error instanceof PerformError) throw error;
    const reason = error instanceof Error ? error.message : String(error);
    throw failed('ResultError', `the result of \`${name}\` is not JSON: ${reason}`);
  }
}

/** Whatever a caller gave, as the JSON that a journal stores; throws in a few words where that cannot be. */
export function plainJson(value: unknown): Json {
  if (sizeOf(value, 0, Infinity) !== null) return value as Json;
  const text = JSON.stringify(value) as string | undefined;
  if (text === undefined) throw new TypeError(`it is a ${typeof value}`);
  return JSON.parse(text) as Json;
}

/** Dates, instances and holes become what JSON makes of them, so that the run sees what the journal will. */
function normalised(name: string, value: unknown, max: number): Json {
  const text = JSON.stringify(value) as string | undefined;
  if (text === undefined) throw failed('ResultError', `the result of \`${name}\` is not JSON`);
  return text.length > max ? tooLarge(name, max) : (JSON.parse(text) as Json);
}

/** About how many characters it has; null where it is not JSON as it stands. Stops to count once it is too much. */
function sizeOf(value: unknown, depth: number, max: number): number | null {
  if (typeof value === 'string') return value.length + 2;
  if (value === null || typeof value === 'boolean') return 4;
  if (typeof value === 'number') return Number.isFinite(value) && !Object.is(value, -0) ? 8 : null;
  if (typeof value !== 'object') return null;
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
  throw failed(
    'TooLargeError',
    `the result of \`${name}\` has more than ${max} characters, which is the most that is kept`,
  );
}

function failed(type: string, message: string): PerformError {
  return new PerformError({ class: 'semantic', type, message });
}
