/**
 * An object of a program as located data. There is no text, so every range has the path instead. Undefined properties count as
 * absent. Values that are not JSON, and getters that throw, are reported.
 */
import { LIMITS } from '@sluice-internal/kernel/ir';
import type { Report } from './diagnostics.ts';
import { DEPTH_MAX, RESERVED_KEY, isPoisonValue, poisonAt, refuseHalfPair, refuseMany } from './located.ts';
import type { Entry, Located } from './located.ts';
import type { Range } from './range.ts';

interface State {
  readonly report: Report;
  readonly open: Set<object>;
  stopped: boolean;
  values: number;
}

export function locateObject(value: unknown, report: Report): Located | null {
  const state: State = { report, open: new Set(), stopped: false, values: 0 };
  try {
    const located = convert(value, '', state, 1);
    return state.stopped || isPoisonValue(located) ? null : located;
  } catch (error) {
    report.error(
      'not-json',
      at(''),
      `reading this object failed: ${error instanceof Error ? error.message : 'unknown reason'}`,
      { help: 'Pass plain data: text, numbers, true, false, null, lists and objects.' },
    );
    return null;
  }
}

function convert(value: unknown, path: string, state: State, depth: number): Located {
  const range = at(path);
  if (state.stopped) return poisonAt(range);
  if (depth > DEPTH_MAX) {
    state.stopped = true;
    state.report.error('too-deep', range, `this object is nested more than ${DEPTH_MAX} levels deep`, {
      help: 'Flatten it.',
    });
    return poisonAt(range);
  }
  if (++state.values > LIMITS.documentValues) {
    state.stopped = true;
    refuseMany(range, state.report);
    return poisonAt(range);
  }
  if (typeof value === 'string' && !value.isWellFormed()) return refuseHalfPair(range, state.report);
  if (value === null || typeof value === 'string' || typeof value === 'boolean')
    return { kind: 'scalar', value, range };
  if (typeof value === 'number' && Number.isFinite(value)) return { kind: 'scalar', value, range };
  if (typeof value !== 'object') return refuse(`${nameOf(value)} has no counterpart in JSON`, range, state);
  if (state.open.has(value)) return refuse('this object contains itself', range, state);
  state.open.add(value);
  const located = Array.isArray(value) ? convertList(value, path, state, depth) : convertMap(value, path, state, depth);
  state.open.delete(value);
  return located;
}

function convertList(list: readonly unknown[], path: string, state: State, depth: number): Located {
  return {
    kind: 'list',
    items: list.map((item, index) => convert(item, `${path}[${index}]`, state, depth + 1)),
    range: at(path),
  };
}

function convertMap(object: object, path: string, state: State, depth: number): Located {
  const prototype: unknown = Object.getPrototypeOf(object);
  // A plain object of another realm has an unknown prototype, whose own prototype is null.
  if (prototype !== null && Object.getPrototypeOf(prototype) !== null) {
    return refuse(
      `an instance of \`${object.constructor?.name || 'a class'}\` has no counterpart in JSON`,
      at(path),
      state,
    );
  }
  const entries = new Map<string, Entry>();
  for (const key of Object.keys(object)) {
    const value: unknown = (object as { readonly [key: string]: unknown })[key];
    if (value === undefined) continue;
    const inner = /^[A-Za-z_][\w-]*$/.test(key)
      ? `${path}${path === '' ? '' : '.'}${key}`
      : `${path}[${JSON.stringify(key)}]`;
    if (!key.isWellFormed()) refuseHalfPair(at(inner), state.report);
    else if (key === RESERVED_KEY) {
      state.report.error('bad-key', at(inner), '`__proto__` cannot be used as a key', { help: 'Rename the key.' });
      entries.set(key, { key, keyRange: at(inner), value: poisonAt(at(inner)) });
    } else entries.set(key, { key, keyRange: at(inner), value: convert(value, inner, state, depth + 1) });
  }
  return { kind: 'map', entries, range: at(path) };
}

function refuse(message: string, range: Range, state: State): Located {
  state.report.error('not-json', range, message, {
    help: 'Documents hold text, numbers, true, false, null, lists and plain objects.',
  });
  return poisonAt(range);
}

function nameOf(value: unknown): string {
  return typeof value === 'number' ? String(value) : value === undefined ? 'undefined' : `a ${typeof value}`;
}

function at(path: string): Range {
  return { start: 0, end: 0, path };
}
