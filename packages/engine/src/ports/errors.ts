/**
 * Errors that a user can act on. Every error has a code from this closed set, one sentence, often a remedy, and a page at
 * docs/errors/<code>.md.
 */
import type { Json } from '@sluice-internal/kernel/expr';

/**
 * An error that a user can act on, with a code, a sentence and often a remedy.
 * @example
 * try {
 *   await engine.get('r_unknown');
 * } catch (error) {
 *   if (error instanceof SluiceError) console.error(error.code, error.message, error.help);
 * }
 */
export class SluiceError extends Error {
  readonly code: ErrorCode;
  readonly help: string | undefined;
  /** What the sentence says, as data. Of `approval-closed` and `already-answered`: `by`, `choice`, `at`. Of `stale-payload`: `payload`. */
  readonly details: { readonly [name: string]: Json };

  constructor(
    code: ErrorCode,
    message: string,
    help?: string,
    cause?: unknown,
    details: { readonly [name: string]: Json } = {},
  ) {
    super(message, cause === undefined ? undefined : { cause });
    this.name = 'SluiceError';
    this.code = code;
    this.help = help;
    this.details = details;
  }
}

/** Every code of an error of a run or of a command. Each has a page at docs/errors/<code>.md. */
export const ERROR_CODES = [
  // Calling the command
  'usage',
  'old-node',
  'too-many-files',
  'pii-key',
  'journal-key',
  'pii-blocked',
  'pii-service',
  'file-not-found',
  'file-unreadable',
  'bad-baseline',
  'bad-module',
  'bad-lock',
  'mcp-unreachable',
  'mcp-changed',
  'interrupted',
  'internal-error',

  // The library
  'compile-failed',
  'not-recorded',
  'unknown-schema',
  'bad-definition',
  'run-failed',
  'run-waits',

  // The journal
  'journal-busy',
  'journal-read-only',
  'journal-newer',
  'journal-older',
  'journal-damaged',
  'journal-unavailable',
  'journal-replaced',
  'journal-unsafe',
  'disk-full',
  'chain-broken',
  'replay-differs',
  'invariant-broken',

  // Runs
  'run-not-found',
  'event-not-found',
  'bad-run-id',
  'bad-start',
  'run-exists',
  'run-removed',
  'thread-busy',
  'too-many-runs',
  'bad-cursor',
  'run-ended',
  'lease-lost',
  'code-changed',
  'scripted-run',
  'not-here',
  'unsafe-module',
  'bad-budget',
  'resume-not-stopped',
  'resume-undone',
  'bad-fork',
  'bad-retry',
  'bad-migration',
  'bad-restore',
  'unknown-slot',
  'wrong-tenant',
  'access-denied',
  'user-not-allowed',
  'memory-violation',
  'memory-not-found',
  'quota-exceeded',
  'bad-quota',
  'bad-signing-key',
  'not-delivered',
  'engine-closed',
  'value-too-large',

  'bad-attachment',
  'attachment-not-taken',

  // People
  'approval-not-found',
  'approval-closed',
  'bad-answer',
  'bad-guidance',
  'not-a-choice',
  'stale-payload',
  'self-approval',
  'not-an-approver',
  'identity-unproven',
  'already-answered',
  'bad-key-file',
  'signal-not-awaited',

  // The server
  'serve-open',
  'port-unavailable',
  'bad-token',
  'token-exists',
  'token-not-found',
  'bad-issuer',
  'bad-request',
  'flow-changed',
  'stale-source',
  'unauthenticated',
  'cross-site',
  'wrong-host',
  'route-not-found',
  'flow-not-found',
  'breaker-not-found',
  'call-not-found',
  'attachment-not-found',
  'body-too-large',
  'unsupported-media-type',
  'too-many-requests',
  'too-many-streams',
  'too-old',
  'unreachable',
  'bad-answer-of-server',

  // Models and tools
  'missing-package',
  'no-model',
  'no-credentials',
  'no-implementation',
  'missing-prerequisite',
] as const;

export type ErrorCode = (typeof ERROR_CODES)[number];

export function isErrorCode(code: string): code is ErrorCode {
  return ERROR_CODES.some((each) => each === code);
}
