/**
 * Something wrong with an expression. Offsets count from the start of its source text, so that the caller can map them
 * into the document; the code says what kind of mistake it is.
 */
import type { DiagnosticCode } from '../diagnose/codes.ts';
import type { Report } from '../diagnose/diagnostics.ts';
import type { LocatedScalar } from '../source/located.ts';
import { parseTemplate } from './template.ts';
import { rangeWithin } from '../source/scalar-range.ts';
import { patternProblem } from '../../expr/text-search.ts';

export type ProblemCode = 'syntax' | 'limit' | 'function' | 'pattern' | 'name' | 'field' | 'type' | 'never';

export interface Problem {
  readonly code: ProblemCode;
  readonly message: string;
  readonly start: number;
  readonly end: number;
  readonly help?: string;
}

export function problem(
  code: ProblemCode,
  at: { readonly start: number; readonly end: number },
  message: string,
  help?: string,
): Problem {
  const base = { code, message, start: at.start, end: at.end };
  return help === undefined ? base : { ...base, help };
}

/** Each problem at the characters that it is about. `offset` is the position of the expression in the text. */
export function reportProblems(report: Report, located: LocatedScalar, problems: readonly Problem[], offset = 0): void {
  for (const { code, message, start, end, help } of problems) {
    const at = rangeWithin(report.source, located, offset + start, offset + end);
    report[severityOf({ code })](CODES[code], at, message, { help: help ?? MENDED[message] });
  }
}

/** Reports mistakes in the braces of a template, and returns its expressions with their positions. */
export function expressionsIn(
  report: Report,
  located: LocatedScalar,
): readonly { readonly expr: string; readonly start: number }[] {
  if (typeof located.value !== 'string') return [];
  const { parts, problems } = parseTemplate(located.value);
  for (const { severity, message, start, end, help } of problems) {
    const at = rangeWithin(report.source, located, start, end);
    report[severity]('bad-template', at, message, { help });
  }
  return parts.flatMap((part) => ('expr' in part ? part : []));
}

/** A comparison that never holds is a warning: the document runs, and the guard is false. */
export function severityOf({ code }: Pick<Problem, 'code'>): 'error' | 'warning' {
  return code === 'never' ? 'warning' : 'error';
}

const CODES: { readonly [code in ProblemCode]: DiagnosticCode } = {
  name: 'unknown-name',
  field: 'unknown-name',
  type: 'type-mismatch',
  never: 'never-holds',
  pattern: 'bad-regex',
  syntax: 'bad-expression',
  limit: 'bad-expression',
  function: 'bad-expression',
};

const MENDED: { readonly [message: string]: string } = {
  'unexpected character: =': 'Write `==` to compare.',
  "unexpected character: '?'": 'Write `a == null ? b : a` for `a ?? b`.',
  'unexpected `?`': 'Write `a == null ? b : a` for `a ?? b`.',
};

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
