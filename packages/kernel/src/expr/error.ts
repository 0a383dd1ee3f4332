/** The error of every failed expression, and the limits of expressions. Callers record an error as an event. */
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

/** Deep recursion over hostile data is a RangeError of the host. It counts as a limit. */
export function asEvalError(cause: unknown): EvalError {
  if (cause instanceof EvalError) return cause;
  if (cause instanceof RangeError) return new EvalError('limit', 'the value is nested too deeply or is too large');
  return new EvalError('other', reasonOf(cause));
}

/** Limits on source and tree hold when an expression is compiled; fuel holds while it runs. */
export const LIMITS = {
  /** Characters of source text. Large, because a prompt template is stored as one expression. */
  sourceMax: 1_000_000,
  nodesMax: 20_000,
  depthMax: 400,
  elementsMax: 10_000,
  /** Macros inside macros: `a.map(x, x.all(y, …))` is two. */
  macroNestingMax: 2,
  /** Elements that one macro walks. */
  macroListMax: 10_000,
  patternMax: 2_000,
  /** Units of work of one evaluation: about one per node evaluated in a loop, element compared, or eight characters touched. */
  fuel: 10_000_000,
} as const;

/** The message of an error; any other thrown value as text. */
export function reasonOf(error: unknown): string {
  return error instanceof Error ? error.message : String(error);
}
