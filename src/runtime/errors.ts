/** An error that a user can act on: a code with a page of its own, one sentence, and often a way out. */
import type { ErrorCode } from './error-codes.ts';

export class SluiceError extends Error {
  readonly code: ErrorCode;
  readonly help: string | undefined;

  constructor(code: ErrorCode, message: string, help?: string, cause?: unknown) {
    super(message, cause === undefined ? undefined : { cause });
    this.name = 'SluiceError';
    this.code = code;
    this.help = help;
  }
}
