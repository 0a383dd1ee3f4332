/**
 * Recognises the commonest expression of all, a variable and its fields, which callers can then store as a reference.
 */
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
