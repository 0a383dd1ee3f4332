/** What goes wrong with a server, as failures that flows can route on. */
import { ProtocolError, SdkError, SdkErrorCode } from '@modelcontextprotocol/client';
import { PerformError } from '../../runtime/failures.ts';
import { fail, reasonOf } from '../tools/fail.ts';

export interface Circumstances {
  readonly timeoutMs: number;
  readonly stderr: string;
  readonly fault: Error | null;
}

export function failureOfServer(
  server: string,
  tool: string,
  error: unknown,
  { timeoutMs, stderr, fault }: Circumstances,
): Error {
  const cause = rootOf(error);
  if (cause instanceof PerformError) return cause;
  const who = `the MCP server \`${server}\``;
  if (cause instanceof Error && (cause.name === 'AbortError' || cause.name === 'DOMException'))
    return fail('timeout', 'AbortError', `the call of \`${tool}\` was stopped`);
  if (isTimeout(error)) return fail('timeout', 'TimeoutError', `${who} did not answer within ${timeoutMs} ms`);
  const tooLarge = [isGone(error) ? fault : error, cause].find(
    (each) => each instanceof Error && /exceed/i.test(each.message),
  );
  if (tooLarge !== undefined)
    return fail('semantic', 'TooLargeError', `${who} sent a message that is too large: ${reasonOf(tooLarge)}`);
  if (isGone(error))
    return fail(
      'transient',
      'McpClosedError',
      `${who} went away during the call${stderr.trim() === '' ? '' : `; it had said: ${stderr.trim().slice(-300)}`}`,
    );
  if (
    error instanceof SdkError &&
    (error.code === SdkErrorCode.InvalidResult || error.code === SdkErrorCode.UnsupportedResultType)
  )
    return fail('semantic', 'McpResultError', `${who} gave a result that is none: ${error.message}`);
  if (error instanceof ProtocolError)
    return fail(
      'semantic',
      /output schema|structured content/i.test(error.message) ? 'McpResultError' : 'McpError',
      `${who} refused the call of \`${tool}\`: ${error.message}`,
    );
  const why =
    error instanceof Error && error.cause !== undefined
      ? `${error.message}: ${reasonOf(error.cause)}`
      : reasonOf(error);
  return fail('transient', 'McpStartError', `${who} failed: ${why}`);
}

export function isTimeout(error: unknown): boolean {
  const cause = rootOf(error);
  return cause instanceof SdkError && cause.code === SdkErrorCode.RequestTimeout;
}

export function isGone(error: unknown): boolean {
  return (
    error instanceof SdkError &&
    [SdkErrorCode.ConnectionClosed, SdkErrorCode.NotConnected, SdkErrorCode.SendFailed].includes(error.code)
  );
}

function rootOf(error: unknown): unknown {
  return error instanceof Error && error.cause !== undefined && !(error instanceof SdkError) ? error.cause : error;
}
