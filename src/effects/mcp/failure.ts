/** Failures of MCP servers as typed failures that error routes can match. */
import type { FailureClass } from '../../ir/codes.ts';
import { fail, PerformError, reasonOf } from '../../runtime/failures.ts';
import { isProtocolError, isSdkError } from './sdk.ts';

export interface Circumstances {
  readonly timeoutMs: number;
  readonly stderr: string;
  /** The last error that the transport reported. */
  readonly fault: Error | null;
  /** The class of a call that was sent and got no answer. */
  readonly unanswered: FailureClass;
}

export function failureOfServer(
  server: string,
  tool: string,
  error: unknown,
  { timeoutMs, stderr, fault, unanswered }: Circumstances,
): Error {
  const cause = rootOf(error);
  if (cause instanceof PerformError) return cause;
  const name = `the MCP server \`${server}\``;
  if (cause instanceof Error && (cause.name === 'AbortError' || cause.name === 'DOMException'))
    return fail('timeout', 'AbortError', `the call of \`${tool}\` was stopped`);
  if (isTimeout(error)) return fail('timeout', 'TimeoutError', `${name} did not answer within ${timeoutMs} ms`);
  const tooLarge = [isClosed(error) ? fault : error, cause].find(
    (each) => each instanceof Error && /exceed/i.test(each.message),
  );
  if (tooLarge !== undefined)
    return fail('semantic', 'TooLargeError', `${name} sent a message that is too large: ${reasonOf(tooLarge)}`);
  if (isClosed(error))
    return fail(
      isUnsent(error) ? 'transient' : unanswered,
      'McpClosedError',
      `${name} ended during the call${stderr.trim() === '' ? '' : `; its last output: ${stderr.trim().slice(-300)}`}`,
    );
  return (
    protocolFailure(name, tool, error) ??
    (isCut(cause) ? fail(unanswered, 'McpClosedError', `${name} closed the connection: ${fullReason(error)}`) : null) ??
    fail('transient', 'McpStartError', `${name} failed: ${fullReason(error)}`)
  );
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

function isUnsent(error: unknown): boolean {
  return isSdkError(error, ({ NotConnected, SendFailed }) => [NotConnected, SendFailed]);
}

/** True for a connection that broke after it was open. */
function isCut(cause: unknown): boolean {
  const { code } = (cause instanceof Error ? cause : {}) as { readonly code?: unknown };
  return code === 'ECONNRESET' || code === 'EPIPE' || code === 'UND_ERR_SOCKET';
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
