/**
 * The loops of the language: `all`, `exists`, `exists_one`, `filter`, `map`, and `cel.bind`. Null counts as an empty list.
 * List length and nesting are limited, and every turn costs fuel in proportion to its body.
 */
import { countNodes } from './ast.ts';
import type { ListMacro } from './ast.ts';
import { bindLocal, charge } from './context.ts';
import type { Context, Env, Eval } from './context.ts';
import { EvalError, LIMITS } from './error.ts';
import { forgivable, truth } from './operators.ts';
import { isMap, mapKeys } from './map.ts';
import type { Ast } from './parse.ts';
import { isList, typeOf } from './value.ts';
import type { Value } from './value.ts';

type Loop = (env: Env, items: readonly Value[], turn: (item: Value) => void) => Value;

export function compileListMacro(macro: ListMacro, context: Context): Eval {
  if (context.macros >= LIMITS.macroNestingMax) {
    throw new EvalError('limit', `\`${macro.name}\` is nested more than ${LIMITS.macroNestingMax} macros deep`);
  }
  const over = context.compile(macro.over, context);
  const bound = bindLocal({ ...context, macros: context.macros + 1 }, macro.variable);
  const bodies = macro.bodies.map((body) => context.compile(body, bound.context));
  const weight = 1 + macro.bodies.reduce((sum, body) => sum + countNodes(body), 0);
  const loop = loopOf(macro.name, bodies);
  return (env) => {
    const items = itemsOf(env, over(env), macro.name);
    return loop(env, items, (item) => {
      charge(env, weight);
      env.locals[bound.slot] = item;
    });
  };
}

export function compileBind(variable: string, value: Ast, body: Ast, context: Context): Eval {
  const bound = bindLocal(context, variable);
  const compute = context.compile(value, context);
  const run = context.compile(body, bound.context);
  return (env) => {
    env.locals[bound.slot] = compute(env);
    return run(env);
  };
}

function loopOf(name: string, bodies: readonly Eval[]): Loop {
  const [first, second] = bodies as [Eval, Eval | undefined];
  switch (name) {
    case 'all':
      return quantifier(first, false, '`all`');
    case 'exists':
      return quantifier(first, true, '`exists`');
    case 'exists_one':
      return (env, items, turn) => filter(env, items, turn, first, '`exists_one`').length === 1;
    case 'filter':
      return (env, items, turn) => filter(env, items, turn, first, '`filter`');
    default:
      return second === undefined ? mapper(first) : filterMapper(first, second);
  }
}

/** Stops at the first item that decides the result. An error counts only if no item decides it. */
function quantifier(predicate: Eval, settles: boolean, where: string): Loop {
  return (env, items, turn) => {
    let failure: EvalError | undefined;
    for (const item of items) {
      turn(item);
      try {
        if (truth(predicate(env), where) === settles) return settles;
      } catch (cause) {
        failure ??= forgivable(cause);
      }
    }
    if (failure !== undefined) throw failure;
    return !settles;
  };
}

function filter(
  env: Env,
  items: readonly Value[],
  turn: (item: Value) => void,
  predicate: Eval,
  where: string,
): Value[] {
  return items.filter((item) => {
    turn(item);
    return truth(predicate(env), where);
  });
}

function mapper(transform: Eval): Loop {
  return (env, items, turn) =>
    items.map((item) => {
      turn(item);
      return transform(env);
    });
}

function filterMapper(predicate: Eval, transform: Eval): Loop {
  return (env, items, turn) => {
    const out: Value[] = [];
    for (const item of items) {
      turn(item);
      if (truth(predicate(env), '`map`')) out.push(transform(env));
    }
    return out;
  };
}

function itemsOf(env: Env, value: Value, name: string): readonly Value[] {
  if (value === null) return [];
  const items = isList(value) ? value : isMap(value) ? mapKeys(env, value) : undefined;
  if (items === undefined) throw new EvalError('type', `\`${name}\` needs a list or a map, not ${typeOf(value)}`);
  if (items.length > LIMITS.macroListMax) {
    throw new EvalError('limit', `\`${name}\` walks ${items.length} elements; the limit is ${LIMITS.macroListMax}`);
  }
  return items;
}
