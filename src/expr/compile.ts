/**
 * Syntax tree to closures: one closure per node, each knowing only its operands.
 */
import { index, pathReader, select, typeNameOf } from './access.ts';
import { arithmetic, negate, toInt } from './arithmetic.ts';
import type { ArithmeticOp } from './arithmetic.ts';
import { bindOf, listMacroOf, pathOfAst } from './ast.ts';
import { compileCall } from './call.ts';
import { contains, equals, order, strictOrder } from './compare.ts';
import { deeper, rangeOf } from './context.ts';
import type { Context } from './context.ts';
import type { Eval } from './env.ts';
import { EvalError } from './error.ts';
import { toJson } from './json-out.ts';
import { literal } from './literal.ts';
import { either, truth } from './logic.ts';
import { compileBind, compileListMacro } from './macros.ts';
import { makeMap } from './map.ts';
import type { Ast } from './parse.ts';
import { typeOf } from './value.ts';
import type { Value } from './value.ts';

export const ROOT: Context = { locals: new Map(), depth: 0, macros: 0, strict: false, compile };

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
      return compileCall(node, context);
    case 'rcall':
      return receiverCall(node, context);
    case 'list':
      return list(node.args.map(sub));
    case 'map':
      return map(node.args.map(([key, value]) => [sub(key), sub(value)]));
    case '?:':
      return ternary(sub(node.args[0]), sub(node.args[1]), sub(node.args[2]));
    case '&&':
    case '||':
      return either(node.op, sub(node.args[0]), sub(node.args[1]));
    case '!_': {
      const operand = sub(node.args);
      return (env) => !truth(operand(env), '`!`');
    }
    case '-_':
      return minus(node.args, context);
    case '.?':
    case '[?]':
      throw new EvalError('other', 'optional access is not needed: a missing field reads as null', rangeOf(node));
    default:
      return binary(node.op, sub(node.args[0]), sub(node.args[1]), context.strict ? strictOrder : order);
  }
}

function access(node: Ast & { op: 'id' | '.' | '[]' }, context: Context): Eval {
  const path = pathOfAst(node);
  const slot = path === null ? undefined : context.locals.get(path[0] ?? '');
  if (path !== null && slot === undefined) return pathReader(path);
  if (node.op === 'id') return (env) => env.locals[slot ?? 0] ?? null;
  const of = compile(node.args[0], context);
  if (node.op === '.') {
    const key = node.args[1];
    return (env) => select(of(env), key);
  }
  const key = compile(node.args[1], context);
  return (env) => index(of(env), key(env));
}

function receiverCall(node: Ast & { op: 'rcall' }, context: Context): Eval {
  const macro = listMacroOf(node);
  if (macro !== null) return compileListMacro(macro, context);
  const bind = bindOf(node);
  return bind === null ? compileCall(node, context) : compileBind(bind.variable, bind.value, bind.body, context);
}

/** The smallest int has no positive counterpart, so the sign belongs to the literal. */
function minus(operand: Ast, context: Context): Eval {
  if (operand.op === 'value' && typeof operand.args === 'bigint') return constant(toInt(-operand.args));
  const run = compile(operand, context);
  return (env) => negate(run(env));
}

function binary(
  op: ArithmeticOp | '==' | '!=' | '<' | '<=' | '>' | '>=' | 'in',
  a: Eval,
  b: Eval,
  ordered: typeof order,
): Eval {
  switch (op) {
    case '==':
      return (env) => equals(env, a(env), b(env));
    case '!=':
      return (env) => !equals(env, a(env), b(env));
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
