/** Whether a call can fail before anything is asked for, so that its failure uses nothing but the visit. */
import { childrenOf } from '../../expr/ast.ts';
import { parseExpr } from '../../expr/parse.ts';
import type { Ast } from '../../expr/parse.ts';
import type { DoNode, Expr, Node } from '../../ir/nodes.ts';

/** Its arguments do not satisfy what the tool takes, or cannot be computed, or those of its compensation cannot. */
export function mayGoUnasked(node: Node): boolean {
  if (node.op !== 'do') return false;
  const before = known.get(node);
  if (before !== undefined) return before;
  const found =
    node.takes !== undefined ||
    [...Object.values(node.effect.input), ...Object.values(node.undo?.input ?? {})].some(mayFail);
  known.set(node, found);
  return found;
}

/** It is asked for every dimension and every way. */
const known = new WeakMap<DoNode, boolean>();

function mayFail(source: Expr): boolean {
  try {
    return !isSafe(parseExpr(source));
  } catch {
    return true;
  }
}

/** Made of nothing that any data can make fail. */
function isSafe(node: Ast): boolean {
  const safe =
    SAFE.has(node.op) ||
    COMPARISONS.has(node.op) ||
    (node.op === '?:' && COMPARISONS.has(node.args[0].op)) ||
    (node.op === 'call' && node.args[0] === 'text');
  return safe && childrenOf(node).every(isSafe);
}

const SAFE: ReadonlySet<string> = new Set(['value', 'id', '.', '[]', 'list', 'map']);
/** They give a bool whatever they compare, so that a choice may rest on them. */
const COMPARISONS: ReadonlySet<string> = new Set(['==', '!=', 'in']);
