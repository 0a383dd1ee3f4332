/** What other packages use of `compile/expressions`. */
export { isIdentifier, literal, object, path, quote } from '@sluice-internal/kernel/expr';
export { checkExpression, reportConditions } from './expression.ts';
export { expressionsIn, regexProblem, reportProblems } from './problem.ts';
export type { Problem } from './problem.ts';
export { readsOf, strictExpr, withInputFields } from './reads.ts';
export type { Path } from './reads.ts';
export { isEmpty, overlap, regionOf, within } from './region.ts';
export type { Region } from './region.ts';
export { rewriteNames, stripBraces } from './rewrite.ts';
export { OPEN, parseTemplate, templateToExpr } from './template.ts';
export { typeFromSchema } from './type.ts';
