/**
 * Expressions as closures. `compileExpr` parses once; the program it returns evaluates over plain JSON and gives plain JSON.
 *
 * CEL as specified, with these differences, all of them for data that may be incomplete:
 *
 * | where                                    | a null or missing operand, or one of the wrong kind         |
 * |------------------------------------------|-------------------------------------------------------------|
 * | `a.b`, `a["b"]`, `a[0]`, unknown name    | reads as null; access never fails                            |
 * | `==`, `!=`, `in`                         | compares; nothing is in null                                 |
 * | `<`, `<=`, `>`, `>=`                     | false                                                        |
 * | `&&`, `||`, `!`, `?:`, macro predicates  | null counts as false; any other non-bool is an error         |
 * | `+`, `-`, `*`, `/`, `%`                  | an error                                                     |
 * | `has(a.b)`                               | false when `a` has no such key                               |
 * | `all`, `exists`, `filter`, `map` of null | as over an empty list                                        |
 * | `size(null)`                             | 0                                                            |
 * | `contains`, `startsWith`, `re`, …        | false when an operand is null                                |
 * | other functions                          | null when the first operand is null                          |
 * | `text(null)`                             | the empty string                                             |
 *
 * Within `strict(…)`, an ordering of two values that are there and have no order is an error.
 *
 * A JSON number is a double; it mixes with int literals in arithmetic, where the result is then a double.
 */
import type { Json } from './json.ts';
import { readPath, typeNameOf } from './access.ts';
import { pathOfAst } from './ast.ts';
import { ROOT, compile, compileJson } from './compile.ts';
import type { Env, Eval } from './env.ts';
import { asEvalError } from './error.ts';
import { LIMITS } from './limits.ts';
import { parseExpr } from './parse.ts';
import type { Ast } from './parse.ts';
import type { Value } from './value.ts';

/** CEL source text, as the compiled flow stores it. */
export type Expr = string;
export type Scope = { readonly [name: string]: Json };
export type Program = (scope: Scope) => Json;

export function compileExpr(source: Expr): Program {
  return compileAst(parseExpr(source));
}

export function compileAst(ast: Ast): Program {
  const path = pathOfAst(ast);
  if (path !== null && typeNameOf(path) === null) return (scope) => readPath(scope, path) as Json;
  const run = compileJson(ast, ROOT);
  return (scope) => guarded(run, scope) as Json;
}

/** As `compileExpr`, but the result keeps CEL's types: an int is a bigint, a timestamp a `Timestamp`. */
export function compileValue(source: Expr): (scope: { readonly [name: string]: Value }) => Value {
  const run = compile(parseExpr(source), ROOT);
  return (scope) => guarded(run, scope);
}

function guarded(run: Eval, scope: Env['scope']): Value {
  try {
    return run({ scope, locals: [], fuel: LIMITS.fuel });
  } catch (cause) {
    throw asEvalError(cause);
  }
}
