/** Why a regular expression cannot be used, as a sentence to go on with after its name, and the way out. */
import { patternProblem } from '../../expr/index.ts';

export function regexProblem(pattern: string): { readonly message: string; readonly help: string } | null {
  const problem = patternProblem(pattern);
  if (problem === null) return null;
  const why = problem.replace(/^the pattern cannot be used: (error parsing regexp: )?/, '');
  // Only what other engines understand, and cannot match in linear time either.
  return NON_LINEAR.test(pattern)
    ? { message: `cannot be matched in linear time: ${why}`, help: 'Write it without look-around and back-references.' }
    : {
        message: `is no regular expression: ${why}`,
        help: 'Put a `\\` in front of a character that stands for itself.',
      };
}

/** Look-around, atomic groups and back-references. */
const NON_LINEAR = /\(\?(<?[=!]|>|P=)|\\[1-9]|\\k[<{']/;
