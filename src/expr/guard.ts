/**
 * Guards: expressions that decide. Null is false, as everywhere; any other result that is not a bool is an error, because
 * a guard such as `category` would otherwise pass or fail by accident.
 */
import { compileExpr } from './evaluate.ts';
import type { Expr, Scope } from './evaluate.ts';
import { truth } from './logic.ts';

export function compileGuard(source: Expr): (scope: Scope) => boolean {
  const program = compileExpr(source);
  return (scope) => truth(program(scope), 'a guard');
}
