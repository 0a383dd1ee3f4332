/**
 * What the compiler of closures carries down the tree. `compile` is passed along rather than imported, so that the files
 * for macros, calls and operators do not import each other in a circle.
 */
import type { Eval } from './env.ts';
import { EvalError } from './error.ts';
import { LIMITS } from './limits.ts';
import type { Ast } from './parse.ts';

export interface Context {
  /** Slots of the variables that macros bind. */
  readonly locals: ReadonlyMap<string, number>;
  readonly depth: number;
  readonly macros: number;
  /** Whether an ordering of values that have no order is an error, as within `strict(…)`. */
  readonly strict: boolean;
  readonly compile: (node: Ast, context: Context) => Eval;
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
