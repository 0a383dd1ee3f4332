/** The result of an MCP tool as a value: its structured content, else its text; anything else in outline. */
import type { CallToolResult } from '@modelcontextprotocol/client';
import type { Json } from '../../expr/json.ts';
import { fail } from '../tools/fail.ts';

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
