/** What other packages use of `notations/loop`. */
export { loop } from './builder.ts';
export type { LoopFields } from './builder.ts';
