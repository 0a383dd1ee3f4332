/** What other packages use of `notations/staged`. */
export { staged } from './builder.ts';
export type { StagedFields, StagedWork } from './builder.ts';
