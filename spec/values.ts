/** What expressions and writes mean. Nothing is ever changed in place. */
import { compileExpr } from '../src/core/expr/index.ts';
import type { Expr, ForkNode, Input, Node, Write } from '../src/core/ir.ts';
import type { Json } from '../src/core/json.ts';
import type { Ended, Problem, Slots } from './meaning.ts';

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
    const given = typeof value === 'string' ? evaluate(value, slots, it) : fields(value, slots, it);
    next = put(next, [slot, ...path], (before) => {
      if (mode === 'append') return [...(Array.isArray(before) ? before : before === null ? [] : [before]), given];
      return mode === 'reply' ? replied(given) : given;
    });
  }
  return next;
}

/** A model's reply is an object when its text is a JSON object. */
export function replied(value: Json): Json {
  if (typeof value !== 'string' || !/^\s*\{[^]*\}\s*$/.test(value)) return value;
  return orElse(() => JSON.parse(value) as Json, value);
}

/** What branches hand back: of each slot that the join gathers, the values that differ from what the parent had. */
export function gathered(slots: Slots, outcomes: readonly (Ended | null)[], { gather }: ForkNode): Slots {
  const next: { [slot: string]: Json } = { ...slots };
  for (const { slot, mode } of gather) {
    const all = outcomes.map((each) => each?.slots[slot]).filter((value) => value !== undefined);
    const given = all.filter((value) => canonical(value) !== canonical(slots[slot]));
    if (given.length === 0) continue;
    if (mode === 'concat') next[slot] = joined(slots[slot] ?? null, given);
    else if (mode === 'merge') next[slot] = Object.assign({}, next[slot], ...given) as Json;
    else if (mode === 'any') next[slot] = next[slot] === true || given.includes(true);
    else next[slot] = given.at(mode === 'first' ? 0 : -1) as Json;
  }
  return next;
}

export function canonical(value: unknown): string {
  return JSON.stringify(value, (_, each: unknown) => {
    if (each === null || typeof each !== 'object' || Array.isArray(each)) return each;
    return Object.fromEntries(Object.entries(each).sort(([a], [b]) => (a < b ? -1 : 1)));
  });
}

export function expressionProblem({ origin }: Node, cause: unknown): Problem {
  return {
    class: 'semantic',
    type: 'ExpressionError',
    message: String(cause),
    node: origin,
    code: 'VALIDATION_FAIL',
  };
}

function put(target: Json | Slots, [step = '', ...rest]: readonly string[], make: (before: Json) => Json): Slots {
  const base: Slots = target !== null && typeof target === 'object' && !Array.isArray(target) ? target : {};
  const before = base[step] ?? null;
  return { ...base, [step]: rest.length === 0 ? make(before) : { ...put(before, rest, make) } };
}

function orElse<T>(attempt: () => T, otherwise: T): T {
  try {
    return attempt();
  } catch {
    return otherwise;
  }
}

/** What each branch has added to the list it began with, one after the other. */
function joined(before: Json, given: readonly Json[]): Json {
  const front = Array.isArray(before) ? before : [];
  return [...front, ...given.flatMap((list) => (Array.isArray(list) ? list.slice(front.length) : []))];
}

/** A reply is good if it satisfies its schema as an object, as the text that it is, or as the JSON that it spells. */
export function readingsOf(text: Json): readonly Json[] {
  return [replied(text), text, ...spelt(text)];
}

function spelt(text: Json): readonly Json[] {
  try {
    const value = typeof text === 'string' ? (JSON.parse(text) as Json) : null;
    return value === null ? [] : [value];
  } catch {
    return [];
  }
}
