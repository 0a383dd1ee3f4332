/** What expressions and writes mean. Nothing is ever changed in place. */
import canonicalize from 'canonicalize';
import { codeOfFailure } from '../packages/kernel/src/ir/codes.ts';
import { compileExpr, pathOf } from '@sluice-internal/kernel/expr';
import type { Json } from '@sluice-internal/kernel/expr';
import type {
  Command,
  ErrorRecord,
  Expr,
  Failure,
  ForkNode,
  Input,
  Meter,
  Node,
  Slots,
  Write,
} from '@sluice-internal/kernel/ir';

export function evaluate(source: Expr, slots: Slots, it: Json = null): Json {
  return compileExpr(source)({ ...slots, it });
}

/** A guard that cannot be evaluated does not hold. */
export function holds(when: Expr, slots: Slots): boolean {
  return orElse(() => evaluate(when, slots) === true, false);
}

export function fields(input: Input, slots: Slots, it: Json = null): { [field: string]: Json } {
  return Object.fromEntries(Object.entries(input).map(([field, source]) => [field, evaluate(source, slots, it)]));
}

/** All expressions see the slots as they were; an append sees what the writes before it made of its list. */
export function written(slots: Slots, writes: readonly Write[], it: Json): Slots {
  let next = slots;
  for (const { slot, path = [], mode, value } of writes) {
    const given = typeof value === 'string' ? copied(value, slots, it) : fields(value, slots, it);
    next = put(next, [slot, ...path], (before) => {
      if (mode === 'append') return [...(Array.isArray(before) ? before : before === null ? [] : [before]), given];
      return mode === 'set' ? given : (readings(given)[0] as Json);
    });
  }
  return next;
}

/** A write that is a path and nothing else copies what is there. Its steps are texts, also the number of a list's item. */
function copied(source: Expr, slots: Slots, it: Json): Json {
  const path = pathOf(source);
  if (path === null) return evaluate(source, slots, it);
  const step = (value: Json | undefined, key: string): Json | undefined =>
    value !== null && typeof value === 'object' && Object.hasOwn(value, key) ? (value as Slots)[key] : undefined;
  return path.reduce<Json | undefined>(step, { ...slots, it }) ?? null;
}

function put(target: Json | Slots, [step = '', ...rest]: readonly string[], make: (before: Json) => Json): Slots {
  const base: Slots = target !== null && typeof target === 'object' && !Array.isArray(target) ? target : {};
  const before = base[step] ?? null;
  return { ...base, [step]: rest.length === 0 ? make(before) : { ...put(before, rest, make) } };
}

/**
 * The readings of a model's reply: the object that it spells in JSON, also inside one Markdown fence; its text; any other
 * JSON value that it spells. The first is stored; a schema may mean any of them.
 */
export function readings(text: Json): readonly Json[] {
  if (typeof text !== 'string') return [text];
  const said = text.replace(/^\s*```\w*([^]*)```\s*$/, '$1');
  const spelt = orElse(() => JSON.parse(said) as Json, text);
  return [/^\s*\{/.test(said) ? spelt : text, text, spelt];
}

/** What branches hand back: of each slot that the join gathers, the values that differ from what the parent had. */
export function gathered(slots: Slots, branches: readonly ({ slots: Slots } | null)[], { gather }: ForkNode): Slots {
  const next: { [slot: string]: Json } = { ...slots };
  for (const { slot, mode } of gather) {
    const before = slots[slot] ?? null;
    const all = branches.flatMap((each) => (each !== null && slot in each.slots ? [each.slots[slot] as Json] : []));
    const given = all.filter((value) => canonicalize(value) !== canonicalize(slots[slot]));
    if (given.length === 0) continue;
    if (mode === 'concat') next[slot] = joined(before, given);
    else if (mode === 'merge') next[slot] = Object.assign({}, before, ...given) as Json;
    else if (mode === 'any') next[slot] = before === true || given.includes(true);
    else next[slot] = given.at(mode === 'first' ? 0 : -1) as Json;
  }
  return next;
}

/** What each branch has added to the list it began with, one after the other. */
function joined(before: Json, given: readonly Json[]): Json {
  const front = Array.isArray(before) ? before : [];
  return [...front, ...given.flatMap((list) => (Array.isArray(list) ? list.slice(front.length) : []))];
}

export interface Done {
  readonly name: string;
  readonly print: string;
  readonly ok: boolean | null;
  readonly result: string;
  /** The thread that made the call. Only its calls are compared. */
  readonly caller: string;
}

/** A call runs in a thread of its own, below the one that makes it. */
export function callerOf(thread: string): string {
  return thread.slice(0, Math.max(0, thread.lastIndexOf(':')));
}

/** White space and the spelling of numbers do not make a call a different one. */
export function spelling(value: Json): Json {
  if (Array.isArray(value)) return value.map(spelling);
  if (value !== null && typeof value === 'object')
    return Object.fromEntries(Object.entries(value).map(([key, each]) => [key, spelling(each)]));
  if (typeof value !== 'string') return value;
  const text = value
    .split(/\s+/)
    .filter((word) => word !== '')
    .join(' ');
  return /^-?\d{1,15}(\.\d{1,15})?$/.test(text) ? Number(text) : text;
}

/**
 * True if a call repeats earlier ones with nothing new in between: too many identical ones, a block of calls twice in a row,
 * or too many failures of its tool. New is a result that no earlier call gave, or a successful write that none made.
 */
export function repeats(
  done: readonly Done[],
  { name, print }: Done,
  { window = 1, cycle = 1, failures = Infinity }: Meter,
  most: number,
  writes: (name: string) => boolean,
): boolean {
  const isNew = (each: Done, index: number): boolean => {
    const before = done.slice(0, index);
    const known = before.some((other) => other.ok === true && other.result === each.result);
    return each.ok === true && (!known || (writes(each.name) && before.every((other) => other.print !== each.print)));
  };
  const last = done.map(isNew).lastIndexOf(true);
  const since = done.slice(Math.max(last, done.length + 1 - window, 0));
  if (since.filter((each) => each.print === print).length + 1 > most) return true;
  for (let size = 2; size <= cycle && 2 * size <= done.length; size++) {
    const [block, before] = [done.slice(-size), done.slice(-2 * size, -size)];
    const same = block.every((each, index) => each.ok !== null && canonicalize(each) === canonicalize(before[index]));
    if (same && block.some((each) => each.print === print)) return true;
  }
  const own = done.slice(last + 1).filter((each) => each.name === name);
  return own.slice(own.findLastIndex(({ ok }) => ok === true) + 1).filter(({ ok }) => ok === false).length >= failures;
}

export function semantic(type: string, cause: unknown = ''): Failure {
  return { class: 'semantic', type, message: String(cause) };
}

/** A failure as flows see it in the slot `error`. */
export function problem({ label }: Node, { class: kind, type, message }: Failure, attempts = 1): ErrorRecord {
  const node = label.authored ?? label.name;
  return { class: kind, type, message, node, code: codeOfFailure(kind, attempts) };
}

function orElse<T>(attempt: () => T, otherwise: T): T {
  try {
    return attempt();
  } catch {
    return otherwise;
  }
}

/** One attempt of one effect. Retries keep the key. */
export type Asked = Pick<Command, 'key' | 'attempt' | 'kind' | 'name' | 'node' | 'input'> & { readonly thread: string };
