/** A problem of an expression as a diagnostic: its code, and a way out that reads as a sentence. */
import type { DiagnosticCode } from '../diagnose/codes.ts';
import type { Report } from '../diagnose/diagnostics.ts';
import type { Problem } from './problem.ts';
import type { Located } from '../source/located.ts';
import { rangeWithin } from '../source/scalar-range.ts';

/** Each problem at the characters that it is about. */
export function reportProblems(
  report: Report,
  located: Extract<Located, { readonly kind: 'scalar' }>,
  problems: readonly Problem[],
): void {
  for (const problem of problems) {
    const at = rangeWithin(report.source, located, problem.start, problem.end);
    report.error(codeOfProblem(problem), at, problem.message, { help: helpOfProblem(problem) });
  }
}

export function codeOfProblem({ code, message }: Problem): DiagnosticCode {
  switch (code) {
    case 'name':
    case 'field':
      return 'unknown-name';
    case 'type':
      return message.startsWith('the value is never') ? 'never-holds' : 'type-mismatch';
    case 'pattern':
      return 'bad-regex';
    default:
      return 'bad-expression';
  }
}

export function helpOfProblem({ help, message }: Problem): string | undefined {
  return capital(help ?? (message === 'unexpected character: =' ? 'write `==` to compare' : undefined));
}

export function capital(help: string | undefined): string | undefined {
  return help === undefined
    ? undefined
    : `${help.charAt(0).toUpperCase()}${help.slice(1)}${/[.?!]$/.test(help) ? '' : '.'}`;
}
