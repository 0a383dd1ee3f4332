/**
 * Expressions over values of which some are not known yet. A value that is not known is a hole: a property that records that it was
 * read. So copying a value around a hole keeps it, and an expression that does not need the hole has its value.
 */
import { compileAst, compileExpr, isRecord, parseExpr } from '@sluice-internal/kernel/expr';
import type { Json } from '@sluice-internal/kernel/expr';
import type { Expr, Slots, Write } from '@sluice-internal/kernel/ir';

/** Slots with holes. */
export type Partly = Slots;

export interface Outcome {
  readonly known: boolean;
  /** May have holes. Null if it is not known. */
  readonly value: Json;
  /** The slots that were read. */
  readonly read: ReadonlySet<string>;
}

class Hole extends Error {}

interface Watch {
  touched: boolean;
}
const watch: Watch = { touched: false };

function dig(): never {
  watch.touched = true;
  throw new Hole('not known yet');
}

const HOLE: PropertyDescriptor = { get: dig, enumerable: true, configurable: true };

/** Marks a result of an expression that is a hole itself. */
const NOTHING: unique symbol = Symbol('hole');
type Field = Json | typeof NOTHING;

function fieldOf(of: object, key: string): Field | undefined {
  const found = Object.getOwnPropertyDescriptor(of, key);
  if (found === undefined) return undefined;
  return found.get === dig ? NOTHING : (found.value as Json);
}

function put(of: object, key: string, value: Field): void {
  Object.defineProperty(
    of,
    key,
    value === NOTHING ? HOLE : { value, enumerable: true, configurable: true, writable: true },
  );
}

function copyOf<Of extends object>(of: Of): Of {
  return Object.defineProperties({}, Object.getOwnPropertyDescriptors(of)) as Of;
}

/** True if no part of the value is a hole. */
export function isWhole(value: Json): boolean {
  if (value === null || typeof value !== 'object') return true;
  return Object.keys(value).every((key) => {
    const field = fieldOf(value, key);
    return field !== NOTHING && isWhole(field ?? null);
  });
}

/** `extra` are further variables, such as `it`. */
export function evaluatePartly(source: Expr, slots: Partly, extra: Partly = {}): Outcome {
  return run(() => compileExpr(source), slots, extra);
}

/** The fields of an object expression one by one, so that the known ones are seen. */
export function fieldsPartly(source: Expr, slots: Partly): { readonly [field: string]: Outcome } | null {
  const ast = parseExpr(source);
  if (ast.op !== 'map') return null;
  const fields: { [field: string]: Outcome } = {};
  for (const [key, value] of ast.args) {
    if (key.op !== 'value' || typeof key.args !== 'string') return null;
    fields[key.args] = run(() => compileAst(value), slots, {});
  }
  return fields;
}

function run(compiled: () => (scope: Slots) => Json, slots: Partly, extra: Partly): Outcome {
  const read = new Set<string>();
  const scope = new Proxy(merged(slots, extra), {
    get: (target, key) => {
      read.add(String(key));
      return Reflect.get(target, key) as Json;
    },
  });
  watch.touched = false;
  try {
    const value = compiled()(scope);
    return watch.touched ? { known: false, value: null, read } : { known: true, value, read };
  } catch {
    return { known: false, value: null, read };
  }
}

function merged(slots: Partly, extra: Partly): Partly {
  if (Object.keys(extra).length === 0) return slots;
  return Object.defineProperties(copyOf(slots), Object.getOwnPropertyDescriptors(extra));
}

/** An object whose fields are not known, but for these. */
export function hollow(fields: readonly string[], known: { readonly [field: string]: Json }): Json {
  const made = {};
  for (const field of fields) put(made, field, NOTHING);
  for (const [field, value] of Object.entries(known)) put(made, field, value);
  return made;
}

/** The slots after these writes. `it` is not known unless it is given. */
export function writtenPartly(slots: Partly, writes: readonly Write[], it?: Json): Partly {
  const extra = {};
  put(extra, 'it', it ?? NOTHING);
  let next = slots;
  for (const { slot, path = [], mode, value } of writes) {
    const result = valueOf(value, slots, extra);
    const isKept = mode === 'set' || result === NOTHING;
    next = setIn(
      next,
      [slot, ...path],
      isKept ? result : mode === 'append' ? appended(next, [slot, ...path], result) : NOTHING,
    );
  }
  return next;
}

function valueOf(value: Write['value'], slots: Partly, extra: Partly): Field {
  if (typeof value === 'string') {
    const outcome = evaluatePartly(value, slots, extra);
    return outcome.known ? outcome.value : NOTHING;
  }
  const made = {};
  for (const [field, source] of Object.entries(value)) put(made, field, valueOf(source, slots, extra));
  return made;
}

function appended(slots: Partly, path: readonly string[], item: Field): Field {
  const before = readField(slots, path);
  if (before === NOTHING || item === NOTHING || !Array.isArray(before ?? [])) return NOTHING;
  return [...((before ?? []) as Json[]), item];
}

function readField(of: Partly, [first = '', ...rest]: readonly string[]): Field | undefined {
  const field = fieldOf(of, first);
  if (field === NOTHING || field === undefined || rest.length === 0) return field;
  return isRecord(field) ? readField(field, rest) : undefined;
}

/** A path that leads through a hole stays a hole. */
function setIn(of: Partly, [first = '', ...rest]: readonly string[], value: Field): Partly {
  const next = copyOf(of);
  const field = fieldOf(of, first);
  if (rest.length === 0) put(next, first, value);
  else if (field !== NOTHING) put(next, first, setIn(isRecord(field) ? field : {}, rest, value));
  return next;
}

export function withHoles(slots: Partly, names: readonly string[]): Partly {
  const next = copyOf(slots);
  for (const name of names) put(next, name, NOTHING);
  return next;
}

export function withValue(slots: Partly, name: string, value: Json): Partly {
  const next = copyOf(slots);
  put(next, name, value);
  return next;
}

/** What is known on both ways. Null if `other` adds nothing that `one` does not have. */
export function meet(one: Partly, other: Partly): Partly | null {
  const met = meetFields(one, other);
  return met === one ? null : met;
}

function meetFields(one: Partly, other: Partly): Partly {
  if (one === other) return one;
  let next: Partly | null = null;
  for (const key of new Set([...Object.keys(one), ...Object.keys(other)])) {
    const mine = fieldOf(one, key);
    const its = fieldOf(other, key);
    const both = meetField(mine, its);
    if (both === mine) continue;
    next ??= copyOf(one);
    put(next, key, both);
  }
  return next ?? one;
}

function meetField(mine: Field | undefined, its: Field | undefined): Field {
  if (mine === its) return mine ?? null;
  if (mine === undefined || its === undefined || mine === NOTHING || its === NOTHING) return NOTHING;
  if (isRecord(mine) && isRecord(its)) return meetFields(mine, its);
  return isWhole(mine) && isWhole(its) && JSON.stringify(mine) === JSON.stringify(its) ? mine : NOTHING;
}
