/**
 * Something wrong with an expression. Offsets count from the start of its source text, so that the caller can map them
 * into the document; the code says what kind of mistake it is.
 */
export type ProblemCode = 'syntax' | 'limit' | 'function' | 'pattern' | 'name' | 'field' | 'type';

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
