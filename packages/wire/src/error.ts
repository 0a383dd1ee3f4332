/**
 * An error that a user can act on, with a code, a sentence and often a remedy. A program may load this class twice, such as with the
 * library and with the client; an error of the one is an error of the other.
 */
export class CodedError<Code extends string = string> extends Error {
  readonly code: Code;
  readonly help: string | undefined;
  /** What the sentence says as data, such as who answered first. */
  readonly details: { readonly [field: string]: unknown };

  constructor(code: Code, message: string, help?: string, cause?: unknown, details: CodedError['details'] = {}) {
    super(message, cause === undefined ? undefined : { cause });
    this.name = 'SluiceError';
    this.code = code;
    this.help = help;
    this.details = details;
  }
}
