/** What other packages use of `guard/text`. */
export { flat } from './sources.ts';
