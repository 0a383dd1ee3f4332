/** Scripts of runs that are not files. A run records one of these words in place of a path. */
export const FROM_STDIN = '-';
/** A program passed the script, and there is no database file beside which it could be kept. */
export const OF_PROGRAM = 'program';

export const UNNAMED_SCRIPTS: { readonly [script: string]: string } = {
  [FROM_STDIN]: 'a script from standard input',
  [OF_PROGRAM]: 'a script of a program',
};
