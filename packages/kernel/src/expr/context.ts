/** The context of compilation, passed down the syntax tree, and the environment of one evaluation. */
import { EvalError, LIMITS } from './error.ts';
import type { Ast } from './parse.ts';
import type { Notes, Value } from './value.ts';

export interface Context {
  /** Slots of the variables that macros bind. */
  readonly locals: ReadonlyMap<string, number>;
  readonly depth: number;
  readonly macros: number;
  /** The comparison of values of different types: `plain`, or as within `strict(…)` or `guard(…)`. */
  readonly mode: 'plain' | 'strict' | 'guard';
}

export function deeper(context: Context, node: Ast): Context {
  if (context.depth >= LIMITS.depthMax)
    throw new EvalError('limit', `the expression is nested deeper than ${LIMITS.depthMax}`, rangeOf(node));
  return { ...context, depth: context.depth + 1 };
}

export function bindLocal(context: Context, name: string): { readonly context: Context; readonly slot: number } {
  const slot = context.locals.size;
  // A shadowed name keeps its own slot: the key is replaced, the size must still grow.
  const locals = new Map(context.locals);
  if (locals.has(name)) locals.set(`${name} ${slot}`, locals.get(name) ?? 0);
  locals.set(name, slot);
  return { context: { ...context, locals }, slot };
}

export function rangeOf(node: Ast): { start: number; end: number } {
  return { start: node.start, end: node.end };
}

/** The caller's scope, the variables that macros bind, and the remaining fuel. */
export interface Env {
  readonly scope: { readonly [name: string]: Value };
  readonly locals: Value[];
  fuel: number;
  readonly notes?: Notes | undefined;
}

export type Eval = (env: Env) => Value;

export function charge(env: Env, units: number): void {
  env.fuel -= units;
  if (env.fuel < 0) throw new EvalError('limit', 'the expression takes too much work');
}

/** Work on text is charged by length, so that no chain of string operations grows without bound. */
export function chargeText(env: Env, characters: number): void {
  charge(env, 1 + (characters >> 3));
}
