/** The result of an MCP tool as a value: its structured content, else its text; anything else in outline. */
import type { CallToolResult } from '@modelcontextprotocol/client';
import type { Json } from '../../expr/json.ts';
import { fail, reasonOf } from '../tools/tool.ts';
import { ProtocolError, SdkError, SdkErrorCode } from '@modelcontextprotocol/client';
import { PerformError } from '../../runtime/failures.ts';

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
  return { content: content.map(outline) };
}

/** Pictures and sound are not kept: an agent that works on text has no use for them. */
function outline(part: CallToolResult['content'][number]): Json {
  if (part.type === 'text') return { type: 'text', text: part.text };
  if (part.type === 'image' || part.type === 'audio')
    return { type: part.type, mimeType: part.mimeType, base64Length: part.data.length };
  return { type: part.type, uri: 'uri' in part ? part.uri : part.resource.uri };
}

interface Circumstances {
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
