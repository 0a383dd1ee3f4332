/**
 * The closed sets that all surfaces use: run states, the 18 terminal codes, and the failure classes. The class of an unhandled
 * failure decides the code of the run.
 * @example
 * const isCode = (text: string) => TERMINAL_CODES.some((code) => code === text);
 */
export const TERMINAL_CODES = [
  'SUCCESS',
  'PARTIAL_SUCCESS',
  'IMPOSSIBLE',
  'MISSING_INFO',
  'AMBIGUOUS_INTENT',
  'CONFIRM_REQUIRED',
  'REVIEW_REQUIRED',
  'BUDGET_EXHAUSTED',
  'TIMEOUT',
  'VALIDATION_FAIL',
  'LOW_CONFIDENCE',
  'SOURCE_CONFLICT',
  'REPEATED_FAILURE',
  'PERMISSION_DENIED',
  'UNSAFE_DETECTION',
  'UNAVAILABLE_DEP',
  'USER_CANCEL',
  'UNVERIFIED',
] as const;
/**
 * The code with which a run ends.
 * @example
 * const code: TerminalCode = 'SUCCESS';
 */
export type TerminalCode = (typeof TERMINAL_CODES)[number];

/**
 * All states of a run.
 * @example
 * const isState = (text: string) => RUN_STATES.some((state) => state === text);
 */
export const RUN_STATES = ['pending', 'running', 'suspended', 'completed', 'failed', 'cancelled'] as const;
/**
 * The state of a run.
 * @example
 * const status: RunStatus = 'suspended';
 */
export type RunStatus = (typeof RUN_STATES)[number];
export type EndState = 'completed' | 'failed' | 'cancelled';

export function hasEnded(status: RunStatus): status is EndState {
  return status === 'completed' || status === 'failed' || status === 'cancelled';
}

/** Codes of a run that waits for a person. They are terminal only if the question expires. */
export const SUSPENDING_CODES: ReadonlySet<TerminalCode> = new Set([
  'MISSING_INFO',
  'AMBIGUOUS_INTENT',
  'CONFIRM_REQUIRED',
  'REVIEW_REQUIRED',
  'LOW_CONFIDENCE',
]);

/**
 * The codes that a document may fail a run with. The other codes mean success, cancellation by a person, or an open question.
 */
export const FAILING_CODES = [
  'IMPOSSIBLE',
  'REVIEW_REQUIRED',
  'BUDGET_EXHAUSTED',
  'TIMEOUT',
  'VALIDATION_FAIL',
  'LOW_CONFIDENCE',
  'SOURCE_CONFLICT',
  'REPEATED_FAILURE',
  'PERMISSION_DENIED',
  'UNSAFE_DETECTION',
  'UNAVAILABLE_DEP',
] as const satisfies readonly TerminalCode[];

const CODE_OF_CLASS = {
  transient: 'UNAVAILABLE_DEP',
  rate_limit: 'UNAVAILABLE_DEP',
  fatal: 'UNAVAILABLE_DEP',
  timeout: 'TIMEOUT',
  refused: 'IMPOSSIBLE',
  semantic: 'VALIDATION_FAIL',
  policy: 'PERMISSION_DENIED',
  guardrail: 'UNSAFE_DETECTION',
  budget: 'BUDGET_EXHAUSTED',
} as const satisfies Record<string, TerminalCode>;
/**
 * The class of a failure, which decides whether it is retried.
 * @example
 * const failureClass: FailureClass = 'transient';
 */
export type FailureClass = keyof typeof CODE_OF_CLASS;
export const FAILURE_CLASSES = Object.keys(CODE_OF_CLASS) as readonly FailureClass[];

/** The code of a run that ends with this failure. After a retry it is `REPEATED_FAILURE`, except for a used-up budget. */
export function codeOfFailure(failure: FailureClass, attempts: number): TerminalCode {
  return attempts > 1 && failure !== 'budget' ? 'REPEATED_FAILURE' : CODE_OF_CLASS[failure];
}

/** True for the two codes of a run that gave its result. */
export function isGood(code: string | null | undefined): boolean {
  return code === 'SUCCESS' || code === 'PARTIAL_SUCCESS';
}

/** Who can decide that the answer of a run is right. */
export type DecidedBy = 'criteria' | 'verifier' | 'gates' | 'graph' | 'person' | 'none';
/** The author decides by the ends and routes of the document. */
export const BY_AUTHOR: DecidedBy = 'graph';

/**
 * The part that failed in a run that did not end with SUCCESS.
 * @example
 * const shown = ({ about, name, why }: FailedPart) => `${about} ${name}: ${why}`;
 */
export interface FailedPart {
  readonly about: 'tool' | 'model' | 'reply' | 'limit' | 'policy' | 'person' | 'document' | 'machine';
  /** The tool, model, agent, limit, rule, person or node. */
  readonly name: string;
  readonly node: string;
  /** The agent that worked then. It is not blamed. */
  readonly agent: string | null;
  /** The first event that decided. */
  readonly seq: number;
  readonly why: string;
}
