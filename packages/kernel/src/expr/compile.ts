/** Compiles a syntax tree to closures: one per node, calls and loops included. Reading a variable, field or index never fails: it gives null. */
import {
  arithmetic,
  contains,
  either,
  equals,
  guardEquals,
  guardOrder,
  negate,
  order,
  strictOrder,
  toInt,
  toUint,
  truth,
  forgivable,
} from './operators.ts';
import type { ArithmeticOp } from './operators.ts';
import { bindOf, listMacroOf, pathOfAst, typeIn, countNodes } from './ast.ts';
import type { ListMacro } from './ast.ts';
import { deeper, rangeOf, bindLocal, charge } from './context.ts';
import type { Context, Env, Eval } from './context.ts';
import { EvalError, asEvalError, LIMITS } from './error.ts';
import { textOf, toJson } from './output.ts';
import { isMap, makeMap, mapGet, mapKeys } from './map.ts';
import type { Ast } from './parse.ts';
import { Bytes, TYPE_NAMES, TypeName, Uint, isList, typeOf } from './value.ts';
import type { Value } from './value.ts';
import type { Run } from './function.ts';
import { FUNCTIONS, callProblem, isSearch } from './functions.ts';
import { compileSearch } from './text-search.ts';
import { misspelt } from './misspelt.ts';

const COMPARE = {
  plain: { ordered: order, equal: equals },
  strict: { ordered: strictOrder, equal: equals },
  guard: { ordered: guardOrder, equal: guardEquals },
} as const;

export const ROOT: Context = { locals: new Map(), depth: 0, macros: 0, mode: 'plain' };

/** Converts to JSON where values are made, so that data that only passes through is neither walked nor copied. */
export function compileJson(node: Ast, context: Context): Eval {
  const inner = deeper(context, node);
  const path = pathOfAst(node);
  if (path !== null && typeNameOf(path) === null) return pathReader(path);
  if (node.op === 'list') return list(node.args.map((item) => compileJson(item, inner)));
  if (node.op === 'map' && node.args.every(([key]) => key.op === 'value' && typeof key.args === 'string')) {
    return map(node.args.map(([key, value]) => [compile(key, inner), compileJson(value, inner)]));
  }
  if (node.op === '?:') {
    const [condition, yes, no] = node.args;
    return ternary(compile(condition, inner), compileJson(yes, inner), compileJson(no, inner));
  }
  const run = compile(node, context);
  return (env) => toJson(run(env));
}

export function compile(node: Ast, outer: Context): Eval {
  const context = deeper(outer, node);
  const sub = (child: Ast): Eval => compile(child, context);
  switch (node.op) {
    case 'value':
      return constant(literal(node));
    case 'id':
    case '.':
    case '[]':
      return access(node, context);
    case 'call':
    case 'rcall':
      return compileAnyCall(node, context);
    case 'list':
      return list(node.args.map(sub));
    case 'map':
      return map(node.args.map(([key, value]) => [sub(key), sub(value)]));
    case '?:':
      return ternary(sub(node.args[0]), sub(node.args[1]), sub(node.args[2]));
    default:
      return operator(node, context);
  }
}

type OtherOp = 'value' | 'id' | '.' | '[]' | 'call' | 'rcall' | 'list' | 'map' | '?:';

function operator(node: Exclude<Ast, { op: OtherOp }>, context: Context): Eval {
  switch (node.op) {
    case '!_':
    case '-_':
      return unary(node, context);
    case '.?':
    case '[?]':
      throw new EvalError('other', 'optional access is not needed: a missing field reads as null', rangeOf(node));
    default: {
      const type = typeIn(node);
      const side = (each: Ast): Eval => (each === type ? constant(new TypeName(type.args)) : compile(each, context));
      const [a, b] = [side(node.args[0]), side(node.args[1])];
      if (node.op === '&&' || node.op === '||') return either(node.op, a, b);
      return binary(node.op, a, b, COMPARE[context.mode]);
    }
  }
}

function access(node: Ast & { op: 'id' | '.' | '[]' }, context: Context): Eval {
  const path = pathOfAst(node);
  const slot = path === null ? undefined : context.locals.get(path[0] ?? '');
  if (path !== null && slot === undefined) return context.mode === 'guard' ? guardReader(path) : pathReader(path);
  if (node.op === 'id') return (env) => env.locals[slot ?? 0] ?? null;
  const of = compile(node.args[0], context);
  if (node.op === '.') {
    const key = node.args[1];
    return (env) => select(of(env), key);
  }
  const key = compile(node.args[1], context);
  return (env) => index(of(env), key(env));
}

function compileAnyCall(node: Ast & { op: 'call' | 'rcall' }, context: Context): Eval {
  if (node.op === 'call') return compileCall(node, context);
  const macro = listMacroOf(node);
  if (macro !== null) return compileListMacro(macro, context);
  const bind = bindOf(node);
  return bind === null ? compileCall(node, context) : compileBind(bind.variable, bind.value, bind.body, context);
}

function unary(node: Ast & { op: '!_' | '-_' }, context: Context): Eval {
  const operand = node.args;
  // The sign is part of the literal, because the smallest int has no positive counterpart.
  if (node.op === '-_' && operand.op === 'value' && typeof operand.args === 'bigint')
    return constant(toInt(-operand.args));
  const run = compile(operand, context);
  return node.op === '-_' ? (env) => negate(run(env)) : (env) => !truth(run(env), '`!`');
}

function binary(
  op: ArithmeticOp | '==' | '!=' | '<' | '<=' | '>' | '>=' | 'in',
  a: Eval,
  b: Eval,
  { ordered, equal }: { readonly ordered: typeof order; readonly equal: typeof equals },
): Eval {
  switch (op) {
    case '==':
      return (env) => equal(env, a(env), b(env));
    case '!=':
      return (env) => !equal(env, a(env), b(env));
    case '<':
      return (env) => (ordered(env, a(env), b(env)) ?? 1) < 0;
    case '<=':
      return (env) => (ordered(env, a(env), b(env)) ?? 1) <= 0;
    case '>':
      return (env) => (ordered(env, a(env), b(env)) ?? -1) > 0;
    case '>=':
      return (env) => (ordered(env, a(env), b(env)) ?? -1) >= 0;
    case 'in':
      return (env) => {
        const item = a(env);
        const container = b(env);
        const found = contains(env, container, item);
        if (found === undefined) throw new EvalError('type', `\`in\` needs a list or a map, not ${typeOf(container)}`);
        return found;
      };
    default:
      return (env) => arithmetic(env, op, a(env), b(env));
  }
}

function constant(value: Value): Eval {
  return () => value;
}

function list(items: readonly Eval[]): Eval {
  return (env) => items.map((item) => item(env));
}

function map(entries: readonly (readonly [Eval, Eval])[]): Eval {
  return (env) => makeMap(entries.map(([key, value]) => [key(env), value(env)]));
}

function ternary(condition: Eval, yes: Eval, no: Eval): Eval {
  return (env) => (truth(condition(env), '`?:`') ? yes(env) : no(env));
}

/** A literal as a value. The parser does not check the range of ints; this does. */
function literal(node: Ast & { op: 'value' }): Value {
  const value = node.args;
  if (value === null || typeof value === 'boolean' || typeof value === 'number' || typeof value === 'string')
    return value;
  try {
    if (typeof value === 'bigint') return toInt(value);
    return value instanceof Uint8Array ? new Bytes(value) : toUint(value.value);
  } catch {
    throw new EvalError('other', `the integer ${String(value)} does not fit 64 bits`, {
      start: node.start,
      end: node.end,
    });
  }
}

/** A path from the scope's root. Scope data is plain JSON, so the walk needs no checks for boxed values. */
export function readPath(scope: { readonly [name: string]: Value }, path: readonly string[]): Value {
  let value: Value = scope;
  for (const key of path) {
    if (typeof value !== 'object' || value === null || !Object.hasOwn(value, key) || isList(value)) return null;
    value = (value as { [name: string]: Value })[key] ?? null;
  }
  return value;
}

/** A root name that is not in the scope may be a type of CEL, as in `type(x) == string`. */
export function typeNameOf(path: readonly string[]): TypeName | null {
  const [first = ''] = path;
  if (path.length === 1) return TYPE_NAMES.has(first) ? new TypeName(first) : null;
  const name = path.join('.');
  return name === 'google.protobuf.Timestamp' || name === 'google.protobuf.Duration' ? new TypeName(name) : null;
}

function pathReader(path: readonly string[]): Eval {
  const type = typeNameOf(path);
  if (type === null) return (env: Env) => readPath(env.scope, path);
  const [root = ''] = path;
  return (env: Env) => (Object.hasOwn(env.scope, root) ? readPath(env.scope, path) : type);
}

/** As `pathReader`, but a missing field whose name resembles an existing one is an error: it is misspelt. */
function guardReader(path: readonly string[]): Eval {
  const read = pathReader(path);
  return (env: Env) => {
    const value = read(env);
    if (value === null) {
      refuseMisspelling(env.scope, path);
      noteText(env, path);
    }
    return value;
  };
}

/** A field of a text is null, which is noted. */
function noteText({ scope, notes }: Env, path: readonly string[]): void {
  if (notes === undefined) return;
  let value: Value = scope;
  for (const [depth, key] of path.entries()) {
    if (typeof value === 'string') {
      const owner = nameOf(path, depth);
      notes.unread.push(`${owner} is a text, which has no field \`${key}\``);
      return;
    }
    if (typeof value !== 'object' || value === null || isList(value)) return;
    const fields = value as { readonly [name: string]: Value };
    value = Object.hasOwn(fields, key) ? (fields[key] ?? null) : null;
  }
}

/** A name with an underscore in front is a slot of the engine, which no author wrote. */
function nameOf(path: readonly string[], depth: number): string {
  const parent = path[0]?.startsWith('_') === true ? path.slice(1, depth) : path.slice(0, depth);
  return parent.length === 0 ? 'the reply' : `\`${parent.join('.')}\``;
}

function refuseMisspelling(scope: Value, path: readonly string[]): void {
  let value: Value = scope;
  for (const [depth, key] of path.entries()) {
    if (typeof value !== 'object' || value === null || isList(value)) return;
    const fields = value as { readonly [name: string]: Value };
    if (!Object.hasOwn(fields, key)) {
      const meant = depth === 0 ? undefined : misspelt(key, Object.keys(fields));
      if (meant === undefined) return;
      throw new EvalError('other', `${nameOf(path, depth)} has no field \`${key}\`, but it has \`${meant}\``);
    }
    value = fields[key] ?? null;
  }
}

function select(value: Value, key: string): Value {
  return isMap(value) ? (mapGet(value, key) ?? null) : null;
}

function index(value: Value, key: Value): Value {
  if (isList(value)) {
    const at = key instanceof Uint ? key.value : key;
    return typeof at === 'bigint' || typeof at === 'number' ? (value[Number(at)] ?? null) : null;
  }
  return isMap(value) ? (mapGet(value, key) ?? null) : null;
}

/** Each arity has its own closure, so that a call allocates nothing. */
function compileCall(node: Ast & { op: 'call' | 'rcall' }, context: Context): Eval {
  const method = node.op === 'rcall';
  const name = node.args[0];
  const args = method ? [node.args[1], ...node.args[2]] : node.args[1];
  const field = args[0];
  if (name === 'has' && !method && args.length === 1 && field?.op === '.')
    return compileHas(field.args[0], field.args[1], context);
  const problem = callProblem({ name, method, count: args.length });
  if (problem !== null) throw new EvalError(FUNCTIONS.has(name) ? 'type' : 'missing-function', problem, rangeOf(node));
  if (name === 'strict' || name === 'guard') return compile(args[0] as Ast, { ...context, mode: name });
  if (name === 'rule') return compileRule(args as [Ast, Ast], context);
  if (isSearch(name)) return compileSearch(name, compile(args[0] as Ast, context), args[1] as Ast);
  const evals = args.map((arg) => compile(arg, context));
  if (name === 'text') return (env) => evals.reduce((text, part) => text + textOf(env, part(env)), '');
  return apply((FUNCTIONS.get(name) as { run: Run }).run, evals);
}

/** An error of the expression quotes the rule as its author wrote it. */
function compileRule([written, expression]: readonly [Ast, Ast], context: Context): Eval {
  if (written.op !== 'value' || typeof written.args !== 'string')
    throw new EvalError('other', 'the first argument of `rule` must be a string literal', rangeOf(written));
  const text = written.args;
  const run = compile(expression, context);
  return (env) => {
    try {
      return run(env);
    } catch (cause) {
      const { kind, message } = asEvalError(cause);
      throw new EvalError(kind, `the rule \`${text}\` cannot be evaluated: ${message}`);
    }
  };
}

function compileHas(of: Ast, key: string, context: Context): Eval {
  const container = compile(of, context);
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

/**
 * The loops of the language: `all`, `exists`, `exists_one`, `filter`, `map`. Null counts as an empty list. List length and nesting
 * are limited, and every turn costs fuel in proportion to its body.
 */
function compileListMacro(macro: ListMacro, context: Context): Eval {
  if (context.macros >= LIMITS.macroNestingMax) {
    throw new EvalError('limit', `\`${macro.name}\` is nested more than ${LIMITS.macroNestingMax} macros deep`);
  }
  const over = compile(macro.over, context);
  const bound = bindLocal({ ...context, macros: context.macros + 1 }, macro.variable);
  const bodies = macro.bodies.map((body) => compile(body, bound.context));
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

function compileBind(variable: string, value: Ast, body: Ast, context: Context): Eval {
  const bound = bindLocal(context, variable);
  const compute = compile(value, context);
  const run = compile(body, bound.context);
  return (env) => {
    env.locals[bound.slot] = compute(env);
    return run(env);
  };
}

type Loop = (env: Env, items: readonly Value[], turn: (item: Value) => void) => Value;

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
function quantifier(predicate: Eval, decisive: boolean, where: string): Loop {
  return (env, items, turn) => {
    let failure: EvalError | undefined;
    for (const item of items) {
      turn(item);
      try {
        if (truth(predicate(env), where) === decisive) return decisive;
      } catch (cause) {
        failure ??= forgivable(cause);
      }
    }
    if (failure !== undefined) throw failure;
    return !decisive;
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
