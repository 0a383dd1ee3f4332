/**
 * Templates: text with expressions in it. Expansion is a single pass; what a value contains is never expanded again.
 */
import { compileExpr } from './evaluate.ts';
import type { Expr, Program } from './evaluate.ts';
import { LIMITS } from './limits.ts';
import { textOf } from './text.ts';

export type TemplatePart = { readonly text: string } | { readonly expr: Expr };

/** A template that is one expression keeps the value's type; every other one gives text. */
export function compileTemplate(parts: readonly TemplatePart[]): Program {
  const programs = parts.map((part): Program => ('expr' in part ? compileExpr(part.expr) : () => part.text));
  const [only] = programs;
  if (only !== undefined && programs.length === 1) return only;
  return (scope) => {
    const env = { scope, locals: [], fuel: LIMITS.fuel };
    return programs.reduce((text, program) => text + textOf(env, program(scope)), '');
  };
}
