/** What other packages use of `compile/source`. */
export type { DiagnosticCode } from './codes.ts';
export { createReport } from './diagnostics.ts';
export type { Diagnostic, Report } from './diagnostics.ts';
export { HALF_PAIR_HELP, childOf, entryMeant, entryOf, headRange, itemsOf, plain, textOf } from './located.ts';
export type { Entry, Located, LocatedMap, LocatedScalar, Path } from './located.ts';
export { didYouMean, nearest, quoted, slipOf, suggestion, suggestionOf } from './nearest.ts';
export { START, createSource, lineOf } from './range.ts';
export type { Range } from './range.ts';
export { rangeWithin } from './scalar-range.ts';
export { locate, parseSource } from './source.ts';
export type { Parsed } from './source.ts';
