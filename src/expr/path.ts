/**
 * Recognises the commonest expressions: a variable and its fields, which callers can then store as a reference, and a
 * single word that stands for itself.
 */
import type { Json } from './json.ts';
import { typeNameOf } from './access.ts';
import { pathOfAst } from './ast.ts';
import { parseExpr } from './parse.ts';

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
    // Numbers are left to the evaluator, which knows their kinds.
    return op === 'value' && (args === null || typeof args === 'string' || typeof args === 'boolean')
      ? args
      : undefined;
  } catch {
    return undefined;
  }
}
