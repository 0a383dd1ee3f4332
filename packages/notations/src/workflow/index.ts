/** What other packages use of `notations/workflow`. */
export { workflow } from './builder.ts';
