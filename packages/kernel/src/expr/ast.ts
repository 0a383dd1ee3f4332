/**
 * Properties of a syntax tree that the evaluator and the checks of the compiler use.
 */
import type { ASTNode as Ast } from '@marcbachmann/cel-js';
import { TYPE_NAMES } from './value.ts';

/** The field of a map that is read by `.name` or by a literal key; null for any other index. */
export function fieldOf(node: Ast): { readonly of: Ast; readonly key: string } | null {
  if (node.op === '.') return { of: node.args[0], key: node.args[1] };
  if (node.op !== '[]') return null;
  const [of, index] = node.args;
  return index.op === 'value' && typeof index.args === 'string' ? { of, key: index.args } : null;
}

/** The segments of a tree that is nothing but a variable and its fields. */
export function pathOfAst(node: Ast): string[] | null {
  if (node.op === 'id') return [node.args];
  const field = fieldOf(node);
  if (field === null) return null;
  const path = pathOfAst(field.of);
  path?.push(field.key);
  return path;
}

/** The name of a type in a comparison with a type, such as `list` in `type(x) == list`: a value is never a type. */
export function typeIn(node: Ast): (Ast & { op: 'id' }) | null {
  if (node.op !== '==' && node.op !== '!=') return null;
  const [left, right] = node.args;
  return namedType(left, right) ?? namedType(right, left);
}

function namedType(name: Ast, other: Ast): (Ast & { op: 'id' }) | null {
  const isType = other.op === 'call' && other.args[0] === 'type';
  return isType && name.op === 'id' && TYPE_NAMES.has(name.args) ? name : null;
}

/** Operands in source order. */
export function childrenOf(node: Ast): Ast[] {
  switch (node.op) {
    case 'value':
    case 'id':
      return [];
    case '.':
    case '.?':
      return [node.args[0]];
    case '!_':
    case '-_':
      return [node.args];
    case 'call':
      return node.args[1];
    case 'rcall':
      return [node.args[1], ...node.args[2]];
    case 'map':
      return node.args.flat();
    default:
      return [...node.args];
  }
}

export function countNodes(node: Ast): number {
  return childrenOf(node).reduce((sum, child) => sum + countNodes(child), 1);
}

export const LIST_MACROS: ReadonlySet<string> = new Set(['all', 'exists', 'exists_one', 'filter', 'map']);

export interface ListMacro {
  readonly name: string;
  readonly over: Ast;
  readonly variable: string;
  /** The predicate, or the filter and the transform of a `map`. */
  readonly bodies: readonly Ast[];
}

export function listMacroOf(node: Ast): ListMacro | null {
  if (node.op !== 'rcall' || !LIST_MACROS.has(node.args[0])) return null;
  const [name, over, [variable, ...bodies]] = node.args;
  const arity = bodies.length === 1 || (name === 'map' && bodies.length === 2);
  return arity && variable?.op === 'id' ? { name, over, variable: variable.args, bodies } : null;
}

/** `cel.bind(name, value, body)`. */
export function bindOf(node: Ast): { readonly variable: string; readonly value: Ast; readonly body: Ast } | null {
  if (node.op !== 'rcall' || node.args[0] !== 'bind' || node.args[1].op !== 'id' || node.args[1].args !== 'cel')
    return null;
  const [variable, value, body] = node.args[2];
  return variable?.op === 'id' && value !== undefined && body !== undefined
    ? { variable: variable.args, value, body }
    : null;
}
