/**
 * Something wrong with an expression. Offsets count from the start of its source text, so that the caller can map them
 * into the document. The code is the kind of the mistake.
 */
import type { DiagnosticCode } from '../source/codes.ts';
import type { Report } from '../source/diagnostics.ts';
import type { LocatedScalar } from '../source/located.ts';
import { parseTemplate } from './template.ts';
import { rangeWithin } from '../source/scalar-range.ts';
import { patternProblem } from '@sluice-internal/kernel/expr';

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

/** How to write a field whose name is not a name of the expression language. */
export function inBrackets(name: string): string {
  return `Write \`['${name}']\` instead of \`.${name}\``;
}

/** Each problem at the characters that it is about. `offset` is the position of the expression in the text. */
export function reportProblems(report: Report, located: LocatedScalar, problems: readonly Problem[], offset = 0): void {
  for (const { code, message, start, end, help } of problems) {
    const at = rangeWithin(report.source, located, offset + start, offset + end);
    report[severityOf({ code })](CODES[code], at, message, { help: help ?? MENDED[message] ?? MENDED_BY_CODE[code] });
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
  'unexpected `=`': 'Write `==` to compare.',
  'the expression ends too early': 'Complete the expression, or remove the operator at its end.',
  'unexpected `?`': 'Write `a == null ? b : a` for `a ?? b`.',
  ...Object.fromEntries(
    ['contains', 'matches', 'startsWith', 'endsWith'].map((word) => [
      `unexpected \`${word}\``,
      `Write \`text.${word}("…")\`.`,
    ]),
  ),
};

/** The help for a problem without its own. */
const MENDED_BY_CODE: { readonly [code in ProblemCode]?: string } = {
  field: 'Read the value without the field. The length of a text or a list is `size(value)`.',
  type: 'Use values of one type, or correct the schema that declares the type.',
  never: 'Correct the value, or remove the condition.',
  syntax: 'Check the brackets, quotes and operators; docs/guide/expressions.md shows the syntax.',
  function: 'docs/guide/expressions.md lists the functions and their arguments.',
  pattern: 'Write the pattern itself, in quotes.',
};

/** The sentence about a pattern that the engine refuses, and how to correct it; null for a good pattern. */
export function regexProblem(
  pattern: string,
  problem = patternProblem(pattern),
): { readonly message: string; readonly help: string } | null {
  if (problem === null) return null;
  const why = problem
    .replace(/^(the pattern cannot be used: )?(error parsing regexp: )?/, '')
    .replace(/^missing closing (.): /, 'missing closing `$1` in ');
  // Other engines accept these patterns, but cannot match them in linear time either.
  return NON_LINEAR.test(pattern)
    ? { message: `cannot be matched in linear time: ${why}`, help: 'Write it without look-around and back-references.' }
    : {
        message: `is not a valid regular expression: ${why}`,
        help: 'Write a `\\` before a character that stands for itself, such as `\\(`.',
      };
}

/** Look-around, atomic groups and back-references. */
const NON_LINEAR = /\(\?(<?[=!]|>|P=)|\\[1-9]|\\k[<{']/;
