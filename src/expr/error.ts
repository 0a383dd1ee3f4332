/**
 * The one way an expression fails. Callers record it as an event; it never turns into a silent `false`.
 */
export type EvalErrorKind = 'type' | 'limit' | 'missing-function' | 'other';

/** Offsets into the expression's source text; `end` is exclusive. */
export interface Range {
  readonly start: number;
  readonly end: number;
}

export class EvalError extends Error {
  override readonly name = 'EvalError';
  readonly kind: EvalErrorKind;
  readonly range: Range | undefined;

  constructor(kind: EvalErrorKind, message: string, range?: Range) {
    super(message);
    this.kind = kind;
    this.range = range;
  }
}

/** Deep recursion over hostile data surfaces as a RangeError of the host; it is a limit like any other. */
export function asEvalError(cause: unknown): EvalError {
  if (cause instanceof EvalError) return cause;
  if (cause instanceof RangeError) return new EvalError('limit', 'the value is nested too deeply or is too large');
  return new EvalError('other', cause instanceof Error ? cause.message : String(cause));
}
