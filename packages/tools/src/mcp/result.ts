/**
 * Results of MCP tools as values. Images, sound and other binary content are written to files in the work directory, and the
 * value names the file: base64 is useless to a model as text. So is base64 inside text and structured content. Content that
 * models take becomes an attachment too. The type is read from the content, not from the server.
 */
import { reasonOf } from '@sluice-internal/kernel/expr';
import type { Json } from '@sluice-internal/kernel/expr';
import { fail, failureOf } from '@sluice-internal/engine/ports';
import { writeBeneath } from '@sluice-internal/platform';
import type { Attach, HoldsSecret } from '@sluice-internal/platform';
import { hash } from 'node:crypto';
import type { CallToolResult, ReadResourceResult } from '@modelcontextprotocol/client';

type Part = CallToolResult['content'][number];
type Resource = ReadResourceResult['contents'][number];

const ATTACHMENTS = 'attachments';

/** The folder for binary content. */
export interface Places {
  readonly workDir: string;
  readonly attach: Attach;
  readonly holdsSecret?: HoldsSecret;
  readonly clean: (text: string) => string;
}

/** The structured content, otherwise the text. With other kinds of content: all parts as a list. */
export async function valueOf(
  server: string,
  tool: string,
  { content, structuredContent, isError }: CallToolResult,
  places: Places,
): Promise<Json> {
  const texts: string[] = [];
  for (const part of content) if (part.type === 'text') texts.push(await textWithoutData(part.text, places));
  if (isError === true)
    throw fail(
      'fatal',
      'McpToolError',
      `the tool \`${tool}\` of the MCP server \`${server}\` failed: ${places.clean(texts.join('\n')).slice(0, 1_000)}`,
    );
  const structured = structuredContent === undefined ? undefined : await withoutData(structuredContent as Json, places);
  if (texts.length === content.length) return structured ?? texts.join('\n');
  const parts = await Promise.all(content.map((part) => partValue(part, places)));
  return structured === undefined ? { content: parts } : { structuredContent: structured, content: parts };
}

/** The parts of a resource. */
export async function resourceValue({ contents }: ReadResourceResult, places: Places): Promise<Json> {
  return { contents: await Promise.all(contents.map((part) => resourcePart(part, places))) };
}

async function partValue(part: Part, places: Places): Promise<Json> {
  switch (part.type) {
    case 'text':
      return { type: 'text', text: await textWithoutData(part.text, places) };
    case 'image':
    case 'audio':
      return { type: part.type, mimeType: part.mimeType, ...(await stored(part.data, part.mimeType, places)) };
    case 'resource':
      return { type: 'resource', ...(await resourcePart(part.resource, places)) };
    case 'resource_link': {
      const { uri, name, description = '', mimeType = '' } = part;
      return { type: 'resource_link', uri, name, description, mimeType };
    }
  }
}

async function resourcePart(resource: Resource, places: Places): Promise<{ [field: string]: Json }> {
  const { uri, mimeType = '' } = resource;
  if ('text' in resource) return { uri, mimeType, text: await textWithoutData(resource.text, places, mimeType) };
  return { uri, mimeType, ...(await stored(resource.blob, mimeType, places)) };
}

/** The value with files in place of the binary data in its texts. A neighbour such as `mimeType` names the type. */
async function withoutData(value: Json, places: Places, mimeType = '', depth = 0): Promise<Json> {
  if (typeof value === 'string') return textWithoutData(value, places, mimeType);
  // A deeper value is refused as a result.
  if (value === null || typeof value !== 'object' || depth > DEPTH_MAX) return value;
  if (Array.isArray(value))
    return Promise.all(value.map((each: Json) => withoutData(each, places, mimeType, depth + 1)));
  const type = TYPE_FIELDS.map((field) => value[field]).find((each) => typeof each === 'string');
  const entries = Object.entries(value).map(
    async ([field, each]) => [field, await withoutData(each, places, type ?? mimeType, depth + 1)] as const,
  );
  return Object.fromEntries(await Promise.all(entries));
}

/** Data in a text becomes a file too, and the text names it. */
async function textWithoutData(text: string, places: Places, mimeType = ''): Promise<string> {
  return isBase64(text) ? JSON.stringify(await stored(text, mimeType, places)) : withoutDataUrls(text, places);
}

const TYPE_FIELDS = ['mimeType', 'mime_type', 'mediaType', 'media_type', 'contentType', 'content_type'];
const BASE64_MIN = 1000;
const DEPTH_MAX = 1000;

/** True for a long text that is base64 as a whole. A long number, a hash in hex or a word has not all kinds of characters. */
function isBase64(text: string): boolean {
  if (text.length < BASE64_MIN || !/^[A-Za-z0-9+/_\r\n-]+={0,2}\s*$/.test(text)) return false;
  return /[a-z]/.test(text) && /[A-Z]/.test(text) && /\d/.test(text);
}

/** A short data URL, such as an icon, may stay. */
const DATA_URL = /data:([a-z]+\/[a-z0-9.+-]+)?(?:;[a-z0-9=-]+)*;base64,([A-Za-z0-9+/]{1000,}={0,2})/gi;

async function withoutDataUrls(text: string, places: Places): Promise<string> {
  if (!text.includes(';base64,')) return text;
  const files = new Map<string, string>();
  for (const [url, mimeType = '', data = ''] of text.matchAll(DATA_URL))
    if (!files.has(url)) files.set(url, JSON.stringify(await stored(data, mimeType, places)));
  return text.replaceAll(DATA_URL, (url) => files.get(url) ?? url);
}

/** Writes the data once, under its hash. `problem` is the reason why it is not an attachment. */
async function stored(
  base64: string,
  mimeType: string,
  { workDir, attach, holdsSecret }: Places,
): Promise<{ [field: string]: Json }> {
  const data = Buffer.from(base64, 'base64');
  const sha256 = hash('sha256', data, 'hex');
  if (holdsSecret?.(data) === true)
    return { bytes: data.length, sha256, problem: 'the data contains a configured key, so it is not stored' };
  const extension = /^[a-z]+\/(?:x-)?([a-z0-9]{1,8})/i.exec(mimeType)?.[1] ?? 'bin';
  const path = `${ATTACHMENTS}/${sha256.slice(0, 16)}.${extension.toLowerCase()}`;
  await writeBeneath(workDir, path, data);
  const file = { path, bytes: data.length, sha256 };
  const isOffered = /^(image|audio)\/|^application\/pdf/i.test(mimeType);
  if (!isOffered) return file;
  const name = path.slice(ATTACHMENTS.length + 1);
  return attach({ data, mediaType: mimeType, name }).then(
    (ref) => ({ ...ref, path, sha256 }),
    (error: unknown) => (failureOf(error).type === 'AttachmentError' ? { ...file, problem: reasonOf(error) } : file),
  );
}
