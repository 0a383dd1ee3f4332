/** What other packages use of `notations/flow`. */
export { flow } from './builder.ts';
