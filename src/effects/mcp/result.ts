/** Results and failures of MCP tools as values and typed failures. */
import { ProtocolError, SdkError, SdkErrorCode } from '@modelcontextprotocol/client';
import type { CallToolResult } from '@modelcontextprotocol/client';
import type { Json } from '../../expr/json.ts';
import { PerformError } from '../../runtime/failures.ts';
import { fail, reasonOf } from '../tools/tool.ts';

interface Circumstances {
  readonly timeoutMs: number;
  readonly stderr: string;
  /** The last error that the transport reported. */
  readonly fault: Error | null;
}

/** The structured content if there is any, otherwise the text. Other content is summarised. */
export function valueOf(server: string, tool: string, { content, structuredContent, isError }: CallToolResult): Json {
  const texts = content.flatMap((part) => (part.type === 'text' ? [part.text] : []));
  if (isError === true)
    throw fail(
      'fatal',
      'McpToolError',
      `the tool \`${tool}\` of the MCP server \`${server}\` failed: ${texts.join('\n').slice(0, 1_000)}`,
    );
  if (structuredContent !== undefined) return structuredContent as Json;
  if (texts.length === content.length) return texts.join('\n');
  return { content: content.map(summary) };
}

export function failureOfServer(
  server: string,
  tool: string,
  error: unknown,
  { timeoutMs, stderr, fault }: Circumstances,
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
      'transient',
      'McpClosedError',
      `${name} ended during the call${stderr.trim() === '' ? '' : `; its last output: ${stderr.trim().slice(-300)}`}`,
    );
  return (
    protocolFailure(name, tool, error) ?? fail('transient', 'McpStartError', `${name} failed: ${fullReason(error)}`)
  );
}

export function isTimeout(error: unknown): boolean {
  const cause = rootOf(error);
  return cause instanceof SdkError && cause.code === SdkErrorCode.RequestTimeout;
}

export function isClosed(error: unknown): boolean {
  return (
    error instanceof SdkError &&
    [SdkErrorCode.ConnectionClosed, SdkErrorCode.NotConnected, SdkErrorCode.SendFailed].includes(error.code)
  );
}

function protocolFailure(name: string, tool: string, error: unknown): Error | null {
  const invalid = [SdkErrorCode.InvalidResult, SdkErrorCode.UnsupportedResultType];
  if (error instanceof SdkError && invalid.includes(error.code))
    return fail('semantic', 'McpResultError', `${name} returned an invalid result: ${error.message}`);
  if (!(error instanceof ProtocolError)) return null;
  const type = /output schema|structured content/i.test(error.message) ? 'McpResultError' : 'McpError';
  return fail('semantic', type, `${name} refused the call of \`${tool}\`: ${error.message}`);
}

function summary(part: CallToolResult['content'][number]): Json {
  if (part.type === 'text') return { type: 'text', text: part.text };
  if (part.type === 'image' || part.type === 'audio')
    return { type: part.type, mimeType: part.mimeType, base64Length: part.data.length };
  return { type: part.type, uri: 'uri' in part ? part.uri : part.resource.uri };
}

function fullReason(error: unknown): string {
  if (!(error instanceof Error) || error.cause === undefined) return reasonOf(error);
  return `${error.message}: ${reasonOf(error.cause)}`;
}

function rootOf(error: unknown): unknown {
  return error instanceof Error && error.cause !== undefined && !(error instanceof SdkError) ? error.cause : error;
}
