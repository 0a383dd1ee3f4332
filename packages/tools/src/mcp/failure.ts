/** Failures of MCP servers as typed failures that error routes can match. */
import { reasonOf } from '@sluice-internal/kernel/expr';
import type { FailureClass } from '@sluice-internal/kernel/ir';
import { PerformError, fail, failUnsent } from '@sluice-internal/engine/ports';
import { isUnopened } from '@sluice-internal/platform';
import { classOfStatus } from '../calls/http-client.ts';
import { isLogin, isProtocolError, isSdkError, statusOf } from './sdk.ts';

/** The circumstances of a call to a server that was reached. */
interface Sent {
  readonly stderr: string;
  /** The last error that the transport reported. */
  readonly fault: Error | null;
  /** The class of a call that was sent and got no answer. */
  readonly unanswered: FailureClass;
  /** Removes secrets. A text is cut after this. */
  readonly clean: (text: string) => string;
}

/** `sent` is null without a connection: nothing was sent. */
export function failureOfServer(
  server: string,
  tool: string,
  error: unknown,
  timeoutMs: number,
  sent: Sent | null,
): Error {
  const cause = rootOf(error);
  if (cause instanceof PerformError) return cause;
  const name = `the MCP server \`${server}\``;
  if (cause instanceof Error && (cause.name === 'AbortError' || cause.name === 'DOMException'))
    return fail('timeout', 'AbortError', `the call of \`${tool}\` was stopped`);
  if (isTimeout(error)) return fail('timeout', 'TimeoutError', `${name} did not answer within ${timeoutMs} ms`);
  const known =
    protocolFailure(name, tool, error) ??
    (sent === null ? null : statusFailure(name, error, sent)) ??
    tooLargeFailure(name, error, sent?.fault) ??
    closedFailure(name, error, sent);
  if (known !== null) return known;
  if (sent === null || isUnopened(cause) || isLogin(cause))
    return failUnsent('transient', 'McpStartError', `${name} failed: ${fullReason(error)}`);
  return fail(sent.unanswered, 'McpClosedError', `${name} gave no usable answer: ${fullReason(error)}`);
}

/** True if the server answered, and its answer cannot be used. */
export function isAnswered({ name }: Error): boolean {
  return name === 'McpResultError' || name === 'TooLargeError';
}

export function isTimeout(error: unknown): boolean {
  const cause = rootOf(error);
  return isSdkError(cause, ({ RequestTimeout }) => [RequestTimeout]);
}

export function isClosed(error: unknown): boolean {
  return isSdkError(error, ({ ConnectionClosed, NotConnected, SendFailed }) => [
    ConnectionClosed,
    NotConnected,
    SendFailed,
  ]);
}

/** True if the server started again and does not know the session. It has not made the call. */
export function isSessionLost(error: unknown): boolean {
  const status = statusOf(error);
  return status === 404 || (status === 400 && /session/i.test((error as Error).message));
}

function isUnsent(error: unknown): boolean {
  return isSdkError(error, ({ NotConnected, SendFailed }) => [NotConnected, SendFailed]);
}

function closedFailure(name: string, error: unknown, sent: Sent | null): Error | null {
  if (!isClosed(error)) return null;
  const printed = sent?.stderr.trim().slice(-300) ?? '';
  const output = printed === '' ? '' : `; its last output: ${printed}`;
  const message = `${name} ended during the call${output}`;
  if (sent === null || isUnsent(error)) return failUnsent('transient', 'McpClosedError', message);
  return fail(sent.unanswered, 'McpClosedError', message);
}

function tooLargeFailure(name: string, error: unknown, fault: Error | null | undefined): Error | null {
  const reported = isClosed(error) ? fault : error;
  const tooLarge = [reported, rootOf(error)].find(isTooLarge);
  if (tooLarge === undefined) return null;
  return fail('semantic', 'TooLargeError', `${name} sent a message that is too large: ${reasonOf(tooLarge)}`);
}

function isTooLarge(error: unknown): boolean {
  if (isSdkError(error, ({ ListPaginationExceeded }) => [ListPaginationExceeded])) return true;
  return error instanceof Error && TOO_LARGE.test(error.message);
}

/** The messages of `cappedFetch` and of the library. */
const TOO_LARGE = /exceed(s|ed maximum size of) \d+ bytes$/;

/** A response to a call with a status that is not 2xx. */
function statusFailure(name: string, error: unknown, { unanswered, clean }: Sent): Error | null {
  const status = statusOf(error);
  if (status === undefined) return null;
  if (isSessionLost(error))
    return fail('transient', 'McpClosedError', `${name} no longer knows the session; the next call opens a new one`);
  const text = clean((error as Error).message).replace(/^Error POSTing to endpoint: /, '');
  const type = status === 502 ? 'McpClosedError' : 'McpError';
  return fail(classOfStatus(status, unanswered), type, `${name} answered ${status}: ${text.slice(0, 300)}`);
}

function protocolFailure(name: string, tool: string, error: unknown): Error | null {
  if (isSdkError(error, ({ InvalidResult, UnsupportedResultType }) => [InvalidResult, UnsupportedResultType]))
    return fail('semantic', 'McpResultError', `${name} returned an invalid result: ${error.message}`);
  if (!isProtocolError(error)) return null;
  const type = /output schema|structured content/i.test(error.message) ? 'McpResultError' : 'McpError';
  return fail('semantic', type, `${name} refused the call of \`${tool}\`: ${error.message}`);
}

function fullReason(error: unknown): string {
  if (!(error instanceof Error) || error.cause === undefined) return reasonOf(error);
  return `${error.message}: ${reasonOf(error.cause)}`;
}

function rootOf(error: unknown): unknown {
  if (isSdkError(error, (codes) => Object.values(codes)) || !(error instanceof Error)) return error;
  return error.cause ?? error;
}
