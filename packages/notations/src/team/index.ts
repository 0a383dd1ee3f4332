/** What other packages use of `notations/team`. */
export { team } from './builder.ts';
export type { TeamSelection, TeamTermination } from './builder.ts';
