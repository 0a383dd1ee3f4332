/**
 * Results of MCP tools as values. Text and structured content stay as they are. Images, sound and other binary content are
 * written to files in the work directory, and the value names the file: base64 is useless to a model as text.
 */
import { hash } from 'node:crypto';
import type { CallToolResult, ReadResourceResult } from '@modelcontextprotocol/client';
import type { Json } from '../../expr/json.ts';
import { writeBeneath } from '../safe-path.ts';
import { fail } from '../tools/tool.ts';

type Part = CallToolResult['content'][number];
type Resource = ReadResourceResult['contents'][number];

const ATTACHMENTS = 'attachments';

/** The structured content, otherwise the text. With other kinds of content: all parts as a list. */
export async function valueOf(
  server: string,
  tool: string,
  { content, structuredContent, isError }: CallToolResult,
  workDir: string,
): Promise<Json> {
  const texts = content.flatMap((part) => (part.type === 'text' ? [part.text] : []));
  if (isError === true)
    throw fail(
      'fatal',
      'McpToolError',
      `the tool \`${tool}\` of the MCP server \`${server}\` failed: ${texts.join('\n').slice(0, 1_000)}`,
    );
  const structured = structuredContent as Json | undefined;
  if (texts.length === content.length) return structured ?? texts.join('\n');
  const parts = await Promise.all(content.map((part) => partValue(part, workDir)));
  return structured === undefined ? { content: parts } : { structuredContent: structured, content: parts };
}

/** The parts of a resource. */
export async function resourceValue({ contents }: ReadResourceResult, workDir: string): Promise<Json> {
  return { contents: await Promise.all(contents.map((part) => resourcePart(part, workDir))) };
}

async function partValue(part: Part, workDir: string): Promise<Json> {
  switch (part.type) {
    case 'text':
      return { type: 'text', text: part.text };
    case 'image':
    case 'audio':
      return { type: part.type, mimeType: part.mimeType, ...(await stored(part.data, part.mimeType, workDir)) };
    case 'resource':
      return { type: 'resource', ...(await resourcePart(part.resource, workDir)) };
    case 'resource_link': {
      const { uri, name, description = '', mimeType = '' } = part;
      return { type: 'resource_link', uri, name, description, mimeType };
    }
  }
}

async function resourcePart(resource: Resource, workDir: string): Promise<{ [field: string]: Json }> {
  const { uri, mimeType = '' } = resource;
  if ('text' in resource) return { uri, mimeType, text: resource.text };
  return { uri, mimeType, ...(await stored(resource.blob, mimeType, workDir)) };
}

/** Writes the data once, under its hash. */
async function stored(base64: string, mimeType: string, workDir: string): Promise<{ [field: string]: Json }> {
  const data = Buffer.from(base64, 'base64');
  const sha256 = hash('sha256', data, 'hex');
  const extension = /^[a-z]+\/(?:x-)?([a-z0-9]{1,8})/i.exec(mimeType)?.[1] ?? 'bin';
  const path = `${ATTACHMENTS}/${sha256.slice(0, 16)}.${extension.toLowerCase()}`;
  await writeBeneath(workDir, path, data);
  return { path, bytes: data.length, sha256 };
}
