/**
 * Compiles calls. Each arity has its own closure, so that a call allocates nothing.
 */
import type { Context } from './context.ts';
import { rangeOf } from './context.ts';
import type { Eval } from './env.ts';
import { EvalError } from './error.ts';
import type { Run } from './function.ts';
import { FUNCTIONS, callProblem, isSearch } from './functions.ts';
import { isMap, mapGet } from './map.ts';
import type { Ast } from './parse.ts';
import { compileSearch } from './regex.ts';
import { textOf } from './text.ts';

export function compileCall(node: Ast & { op: 'call' | 'rcall' }, context: Context): Eval {
  const method = node.op === 'rcall';
  const name = node.args[0];
  const args = method ? [node.args[1], ...node.args[2]] : node.args[1];
  const field = args[0];
  if (name === 'has' && !method && args.length === 1 && field?.op === '.')
    return compileHas(field.args[0], field.args[1], context);
  const problem = callProblem({ name, method, count: args.length });
  if (problem !== null) throw new EvalError(FUNCTIONS.has(name) ? 'type' : 'missing-function', problem, rangeOf(node));
  if (name === 'strict') return context.compile(args[0] as Ast, { ...context, strict: true });
  if (isSearch(name)) return compileSearch(name, context.compile(args[0] as Ast, context), args[1] as Ast);
  const evals = args.map((arg) => context.compile(arg, context));
  if (name === 'text') return (env) => evals.reduce((text, part) => text + textOf(env, part(env)), '');
  return apply((FUNCTIONS.get(name) as { run: Run }).run, evals);
}

function compileHas(of: Ast, key: string, context: Context): Eval {
  const container = context.compile(of, context);
  return (env) => {
    const value = container(env);
    return isMap(value) && mapGet(value, key) !== undefined;
  };
}

function apply(run: Run, evals: readonly Eval[]): Eval {
  const [a, b, c, d] = evals as [Eval, Eval, Eval, Eval];
  switch (evals.length) {
    case 1:
      return (env) => run(env, a(env));
    case 2:
      return (env) => run(env, a(env), b(env));
    case 3:
      return (env) => run(env, a(env), b(env), c(env));
    default:
      return (env) => run(env, a(env), b(env), c(env), d(env));
  }
}
