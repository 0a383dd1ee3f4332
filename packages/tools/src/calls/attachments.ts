/**
 * Adds images and files to a run: from a path, a URL or data. The content decides the type. Paths and URLs come from the
 * operator or from code, never from a model: a model's text is not read here.
 */
import { reasonOf } from '@sluice-internal/kernel/expr';
import type { AttachmentRef } from '@sluice-internal/kernel/ir';
import { PerformError, fail, failureOf } from '@sluice-internal/engine/ports';
import type { AttachmentOrigin, AttachmentStore, StoredAttachment } from '@sluice-internal/engine/ports';
import { TOKEN } from '@sluice-internal/pii';
import { readBeneath } from '@sluice-internal/platform';
import type { AttachTo, AttachmentSource, CallOfRun, HoldsSecret } from '@sluice-internal/platform';
import { hash } from 'node:crypto';
import { readFile, realpath, stat } from 'node:fs/promises';
import { basename, isAbsolute, relative, resolve } from 'node:path';
import { download } from './http-client.ts';
import type { HttpOptions } from './tool.ts';
import { recognise, tokensOf } from './media.ts';

/** The folder of allowed paths, and the allowed hosts. */
export interface Place {
  /** Relative paths start at the first folder. A path must stay in one of them. Undefined: any path of the operator. */
  readonly folders: readonly string[] | undefined;
  readonly http?: HttpOptions | undefined;
  readonly holdsSecret?: HoldsSecret | undefined;
  /** Replaces personal data in a name. Absent: the name is stored as it is. */
  readonly protectName?: ProtectName | undefined;
}

type ProtectName = (name: string) => Promise<string>;

/** The attachment cannot be used. The message is the reason, in one sentence. */
export class AttachmentError extends Error {
  override readonly name = 'AttachmentError';
}

export const BYTES_MAX = 20 * 1024 * 1024;
const PIXELS_MAX = 50_000_000;
const DOWNLOAD_MS = 30_000;

/** Reads and examines an attachment. Throws an AttachmentError. */
export async function readAttachment(
  source: AttachmentSource,
  origin: AttachmentOrigin,
  place: Place,
): Promise<{ readonly stored: StoredAttachment; readonly ref: AttachmentRef }> {
  const data = await readSource(source, place);
  const name = await storedName(source, place.protectName);
  if (place.holdsSecret?.(data) === true) throw new AttachmentError(`\`${name}\` contains a configured key`);
  const { mediaType, tokens } = examined(data, name, 'data' in source ? source.mediaType : undefined);
  const id = `sha256-${hash('sha256', data, 'hex')}`;
  return {
    stored: { id, data, mediaType, name, origin },
    ref: { attachment: id, tokens, mediaType, bytes: data.length, name },
  };
}

/** For tools: a path must be in the work directory, and content that cannot be used is a failure of the call. */
export function attachForTools(
  store: AttachmentStore,
  http: HttpOptions | undefined,
  protectName: (call: CallOfRun, name: string) => Promise<string>,
): AttachTo {
  return async (call, workDir, source, holdsSecret) => {
    const place = { folders: [workDir], http, holdsSecret, protectName: (name: string) => protectName(call, name) };
    try {
      const { stored, ref } = await readAttachment(source, 'tool', place);
      await store.add(call.command.run, stored);
      return ref;
    } catch (error) {
      throw error instanceof PerformError ? error : fail('semantic', 'AttachmentError', reasonOf(error));
    }
  };
}

async function readSource(source: AttachmentSource, place: Place): Promise<Buffer> {
  if ('path' in source) return readPath(source.path, place);
  return 'url' in source ? readUrl(source.url, place) : Buffer.from(source.data);
}

function examined(data: Buffer, name: string, declared?: string): { mediaType: string; tokens: number } {
  if (data.length === 0) throw new AttachmentError(`\`${name}\` is empty`);
  if (data.length > BYTES_MAX)
    throw new AttachmentError(`\`${name}\` has ${data.length} bytes; an attachment has at most ${BYTES_MAX}`);
  const media = recognise(data);
  if (media === null)
    throw new AttachmentError(`\`${name}\` is neither a PNG, JPEG, GIF, WebP, PDF, WAV nor MP3 by its content`);
  const { mediaType, width = 1, height = 1 } = media;
  if (declared !== undefined && canonical(declared) !== mediaType)
    throw new AttachmentError(`\`${name}\` was declared as ${declared}, but its content is ${mediaType}`);
  if (width === 0 || height === 0 || width * height > PIXELS_MAX)
    throw new AttachmentError(`\`${name}\` has ${width} x ${height} pixels; an image has at most ${PIXELS_MAX}`);
  return { mediaType, tokens: tokensOf(data, media) };
}

const SAME: { readonly [type: string]: string } = {
  'image/jpg': 'image/jpeg',
  'audio/mp3': 'audio/mpeg',
  'audio/x-wav': 'audio/wav',
  'audio/wave': 'audio/wav',
};

function canonical(mediaType: string): string {
  const type = (mediaType.split(';')[0] ?? '').trim().toLowerCase();
  return SAME[type] ?? type;
}

/** Personal data is replaced before unusual characters are: an e-mail address is not found without its `@`. */
async function storedName(source: AttachmentSource, protectName: ProtectName | undefined): Promise<string> {
  const own = 'path' in source ? basename(source.path) : 'url' in source ? fileIn(source.url) : 'attachment';
  const given = source.name ?? own;
  if (protectName === undefined) return cleaned(given);
  // Without its extension, an address in a name has the token that it has elsewhere in the run.
  const extension = EXTENSION.exec(given)?.[0] ?? '';
  const stem = await protectName(given.slice(0, given.length - extension.length));
  // The replaced characters can make a number readable: `078#05#1123`.
  return protectName(cleaned(`${stem}${extension}`));
}

const EXTENSION = /\.[a-z][a-z0-9]{1,4}$/i;
const NAME_MAX = 100;

/** Tokens stay whole. */
function cleaned(name: string): string {
  const tokens = [...(name.match(TOKEN) ?? []), ''];
  const safe = name.split(TOKEN).reduce((done, part, index) => {
    const room = Math.max(0, NAME_MAX - done.length);
    const text = done + part.replaceAll(/[^\p{L}\p{N} ._()-]/gu, '_').slice(0, room);
    const token = tokens[index] ?? '';
    return text.length + token.length > NAME_MAX ? text : text + token;
  }, '');
  return safe === '' ? 'attachment' : safe;
}

function fileIn(url: string): string {
  return URL.canParse(url) ? basename(new URL(url).pathname) : '';
}

/** Links are not followed, so a path cannot leave its folder. */
async function readPath(path: string, { folders }: Place): Promise<Buffer> {
  if (folders === undefined) return readAny(path);
  const full = resolve(folders[0] ?? '.', path);
  for (const folder of folders) {
    const inner = relative(folder, full);
    if (inner === '' || inner.startsWith('..') || isAbsolute(inner)) continue;
    const root = await realpath(folder).catch(() => folder);
    const read = await readBeneath(root, inner, BYTES_MAX + 1).catch((error: unknown) => {
      throw new AttachmentError(`\`${path}\` cannot be read: ${failureOf(error).message}`);
    });
    if (read === null) throw new AttachmentError(`there is no file \`${full}\``);
    return read.data;
  }
  throw new AttachmentError(`\`${path}\` is outside of ${folders.map((folder) => `\`${folder}\``).join(' and ')}`);
}

async function readAny(path: string): Promise<Buffer> {
  try {
    const found = await stat(path);
    if (!found.isFile()) throw new AttachmentError(`\`${path}\` is not a file`);
    if (found.size > BYTES_MAX)
      throw new AttachmentError(`\`${path}\` has ${found.size} bytes; an attachment has at most ${BYTES_MAX}`);
    return await readFile(path);
  } catch (error) {
    if (error instanceof AttachmentError) throw error;
    const { code, message } = error as NodeJS.ErrnoException;
    throw new AttachmentError(code === 'ENOENT' ? `there is no file \`${path}\`` : `\`${path}\`: ${message}`);
  }
}

/** Fetched once, when it is added. Any public host may be called; a private one only if the operator allows it. */
async function readUrl(url: string, { http = {} }: Place): Promise<Buffer> {
  const allowed = { hosts: ['*'], privateHosts: http.privateHosts ?? [] };
  const options = { ...http, responseMax: BYTES_MAX + 1, timeoutMs: DOWNLOAD_MS };
  try {
    return await download(url, allowed, { ...options, signal: AbortSignal.timeout(DOWNLOAD_MS) });
  } catch (error) {
    throw new AttachmentError(`\`${url}\` cannot be fetched: ${failureOf(error).message}`);
  }
}
