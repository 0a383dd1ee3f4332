/**
 * Turns the result of a tool, or the input of a caller, into JSON that the journal can store. A value that is already JSON
 * passes unchanged, after a walk that is cheaper than serialising it. A result that cannot be stored is a failure of the call.
 */
import { parseJson, reasonOf } from '@sluice-internal/kernel/expr';
import type { Json } from '@sluice-internal/kernel/expr';
import { LIMITS } from '@sluice-internal/kernel/ir';
import { SluiceError } from './errors.ts';
import { PerformError } from './failures.ts';

/** Deeper values could overflow the stack of a recursive walk. */
const DEPTH_MAX = LIMITS.valueDepth;

export function toolResult(name: string, value: unknown, max: number = LIMITS.result): Json {
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

/** Throws, with a short reason, if the value cannot be JSON; `value-too-large` above the maximum, in characters of JSON. */
export function plainJson(value: unknown, max: number = LIMITS.input): Json {
  const size = sizeOf(value, 0, max);
  if (size !== null) return size > max ? refuseLarge(max) : (value as Json);
  const text = JSON.stringify(value) as string | undefined;
  if (text === undefined) throw new TypeError(`it is a ${typeof value}`);
  return text.length > max ? refuseLarge(max) : parseJson(text);
}

function refuseLarge(max: number): never {
  const message = `the value has more than ${max} characters, the most that a run takes from a caller`;
  throw new SluiceError('value-too-large', message, 'Pass a path or an address instead of the content.');
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
