/**
 * The public face of the expression layer.
 */
export { EvalError } from './error.ts';
export type { EvalErrorKind, Range } from './error.ts';
export { compileExpr } from './evaluate.ts';
export type { Expr, Program, Scope } from './evaluate.ts';
export { compileGuard } from './evaluate.ts';
export { literalOf, pathOf } from './evaluate.ts';
export { patternProblem } from './text-search.ts';
export { compileTemplate } from './evaluate.ts';
export type { TemplatePart } from './evaluate.ts';
