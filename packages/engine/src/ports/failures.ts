/** Turns an error of a performer into a failure with a class. A performer sets the class by throwing a PerformError. */
import { inspect } from 'node:util';
import { present } from '@sluice-internal/kernel/expr';
import { FAILURE_CLASSES } from '@sluice-internal/kernel/ir';
import type { Failure, FailureClass } from '@sluice-internal/kernel/ir';

/**
 * A failure of a model or a tool with its class, which error routes and retries read.
 * @example
 * throw new PerformError({ class: 'rate_limit', type: 'RateLimitError', message: 'Too many requests.' });
 */
export class PerformError extends Error {
  readonly class: FailureClass;
  readonly type: string;
  readonly retryAfterMs: number | undefined;
  /** The call took effect, and only its result is refused. It is undone if the run fails, and not repeated. */
  readonly ran: true | undefined;
  /** Nothing was sent. If an earlier process sent the call, its outcome stays unknown. */
  readonly notSent: true | undefined;

  constructor(failure: Failure) {
    requireFailure(failure);
    super(failure.message);
    this.name = failure.type;
    this.class = failure.class;
    this.type = failure.type;
    this.retryAfterMs = failure.retryAfterMs;
    this.ran = failure.ran;
    this.notSent = failure.notSent;
  }
}

/** Code without types can pass any values. The journal needs a class and a type for every failure. */
export function requireFailure({ class: kind, type, message }: { readonly [field in keyof Failure]?: unknown }): void {
  if (!FAILURE_CLASSES.some((each) => each === kind))
    throw new TypeError(`\`class\` of a PerformError must be one of ${FAILURE_CLASSES.join(', ')}`);
  if (typeof type !== 'string' || typeof message !== 'string')
    throw new TypeError('`type` and `message` of a PerformError must be text');
}

/** A failed call. Retries depend on the class; error routes can match the type. */
export function fail(failure: FailureClass, type: string, message: string): PerformError {
  return new PerformError({ class: failure, type, message });
}

/** A call that failed before anything was sent. */
export function failUnsent(failure: FailureClass, type: string, message: string): PerformError {
  return new PerformError({ class: failure, type, message, notSent: true });
}

export function failureOf(error: unknown): Failure {
  if (error instanceof PerformError) {
    const { class: kind, type, message, retryAfterMs, ran, notSent } = error;
    return { class: kind, type, message, ...present({ retryAfterMs, ran, notSent }) };
  }
  // Code can throw any value, and an error can have any value as its name or message.
  const { name, message }: { name: unknown; message: unknown } =
    error instanceof Error ? error : { name: 'Error', message: error };
  return {
    class: name === 'TimeoutError' || name === 'AbortError' ? 'timeout' : 'fatal',
    type: typeof name === 'string' ? name : 'Error',
    message: typeof message === 'string' ? message : inspect(message),
  };
}
