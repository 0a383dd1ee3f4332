/** What other packages use of `evals/rehearse`. */
export type { RealCheck } from './drive.ts';
export { rehearse } from './rehearse.ts';
export type { Rehearsal } from './rehearse.ts';
