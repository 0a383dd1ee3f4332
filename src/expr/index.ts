/**
 * The public face of the expression layer.
 */
export { EvalError } from './error.ts';
export type { EvalErrorKind, Range } from './error.ts';
export { compileExpr } from './evaluate.ts';
export type { Expr, Program, Scope } from './evaluate.ts';
export { compileGuard } from './guard.ts';
export { literalOf, pathOf } from './path.ts';
export { patternProblem } from './regex.ts';
export { compileTemplate } from './template.ts';
export type { TemplatePart } from './template.ts';
