/**
 * The public face of the expression layer.
 */
export { EvalError } from './error.ts';
export { compileExpr } from './evaluate.ts';
export { compileGuard } from './evaluate.ts';
export { literalOf, pathOf } from './evaluate.ts';
export { patternProblem } from './text-search.ts';
export { compileTemplate } from './evaluate.ts';
