/** What other packages use of `compile/rules`. */
export { isDenied, limitOf, takesNothing, warnOfTier } from './excess.ts';
export type { Excess } from './excess.ts';
export type { LoweredDocument, Notation } from './notation.ts';
export { checkPolicies, readPolicies } from './policies.ts';
export type { PolicyOptions } from './policies.ts';
export { checkBoundaries, checkCompensations, checkPrices, checkRules } from './rules-check.ts';
