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
 * Within `strict(…)`, an ordering of two values that are there and have no order is an error. Within `guard(…)`, a number and a
 * text that spells a number are compared as numbers; any other comparison of unlike types and a misspelt field are an error.
 *
 * A JSON number is a double; it mixes with int literals in arithmetic, where the result is then a double.
 */
import type { Json } from './json.ts';
import { ROOT, compile, compileJson, readPath, typeNameOf } from './compile.ts';
import { pathOfAst } from './ast.ts';
import type { Env, Eval } from './context.ts';
import { LIMITS, asEvalError } from './error.ts';
import { parseExpr } from './parse.ts';
import type { Ast } from './parse.ts';
import type { Notes, Value } from './value.ts';

/** CEL source text, as the compiled flow stores it. */
export type Expr = string;
type Scope = { readonly [name: string]: Json };
/** `notes` receives what a guard could not read as it stands. */
export type Program = (scope: Scope, notes?: Notes) => Json;

/** Flows of one document have the same expressions. Each is compiled once, as long as its tree is kept. */
export function compileExpr(source: Expr): Program {
  const ast = parseExpr(source);
  let program = programs.get(ast);
  if (program === undefined) programs.set(ast, (program = compileAst(ast)));
  return program;
}
const programs = new WeakMap<Ast, Program>();

export function compileAst(ast: Ast): Program {
  const path = pathOfAst(ast);
  if (path !== null && typeNameOf(path) === null) return (scope) => readPath(scope, path) as Json;
  const run = compileJson(ast, ROOT);
  return (scope, notes) => guarded(run, scope, notes) as Json;
}

/** As `compileExpr`, but the result keeps CEL's types: an int is a bigint, a timestamp a `Timestamp`. */
export function compileValue(source: Expr): (scope: { readonly [name: string]: Value }) => Value {
  const run = compile(parseExpr(source), ROOT);
  return (scope) => guarded(run, scope);
}

function guarded(run: Eval, scope: Env['scope'], notes?: Notes): Value {
  try {
    return run({ scope, locals: [], fuel: LIMITS.fuel, notes });
  } catch (cause) {
    throw asEvalError(cause);
  }
}

/** The segments of an expression that only reads a variable path, such as `a.b.c`; null for every other expression. */
export function pathOf(source: string): string[] | null {
  try {
    const path = pathOfAst(parseExpr(source));
    return path !== null && typeNameOf(path) === null ? path : null;
  } catch {
    return null;
  }
}

/** The value of an expression that is one string, boolean or null and nothing else; undefined for every other expression. */
export function literalOf(source: string): Json | undefined {
  try {
    const { op, args } = parseExpr(source);
    // Numbers are left to the evaluator, which distinguishes their kinds.
    return op === 'value' && (args === null || typeof args === 'string' || typeof args === 'boolean')
      ? args
      : undefined;
  } catch {
    return undefined;
  }
}
