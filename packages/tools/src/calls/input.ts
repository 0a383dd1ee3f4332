/**
 * Attachments in the input of a run. A program marks them with `attachment(…)`; on the command line the input has parts such
 * as `{ "attachment": "./photo.png" }`. Input that a program passes on from its users is plain data, and names no file.
 */
import { kindOf } from '@sluice-internal/kernel/catalog';
import type { AttachmentKind } from '@sluice-internal/kernel/catalog';
import { parsedJson } from '@sluice-internal/kernel/expr';
import type { Json } from '@sluice-internal/kernel/expr';
import type { AttachmentRef, CompiledFlow } from '@sluice-internal/kernel/ir';
import { SluiceError } from '@sluice-internal/engine/ports';
import type { AttachmentSource } from '@sluice-internal/platform';
import { AttachmentError, BYTES_MAX } from './attachments.ts';

export interface AttachInputOptions {
  /** True: `{ "attachment": "./photo.png" }` in the input is an attachment, as on the command line. */
  readonly parts?: boolean;
  /** Paths and URLs that the operator names beside the input. They may lie anywhere. */
  readonly files?: readonly string[];
}
/** `isOperator`: the operator named it beside the input, so it may lie anywhere. */
type Add = (source: AttachmentSource, isOperator: boolean) => Promise<AttachmentRef>;

const COUNT_MAX = 50;
const DEPTH_MAX = 100;

/** False for the usual input. */
export function mayHoldAttachments(input: unknown, { parts = false, files = [] }: AttachInputOptions): boolean {
  if (files.length > 0) return true;
  return typeof input === 'string' ? input.includes('"attachment"') : holdsAttachment(input, parts);
}

/** The input with references. Throws a SluiceError. */
export async function attachInput(
  flow: CompiledFlow,
  input: unknown,
  { parts = false, files = [] }: AttachInputOptions,
  add: Add,
): Promise<{ readonly value: unknown; readonly refs: readonly AttachmentRef[] }> {
  const refs: AttachmentRef[] = [];
  const take = async (source: AttachmentSource, isOperator: boolean): Promise<AttachmentRef> => {
    requireAllowed(flow);
    if (refs.length >= COUNT_MAX) throw new AttachmentError(`the input has more than ${COUNT_MAX} attachments`);
    const ref = await add(source, isOperator);
    refs.push(ref);
    return ref;
  };
  // Read in order, so that the attachments have the order of the input.
  const read = async (value: unknown, depth = 0): Promise<unknown> => {
    if (value === null || typeof value !== 'object' || depth > DEPTH_MAX) return value;
    const source = value instanceof Attachment ? value.source : parts ? writtenSource(value) : null;
    if (source !== null) return take(source, false);
    if (!Array.isArray(value) && Object.getPrototypeOf(value) !== Object.prototype) return value;
    const entries: [string, unknown][] = [];
    for (const [key, each] of Object.entries(Array.isArray(value) ? [...value] : value))
      entries.push([key, await read(each, depth + 1)]);
    return Array.isArray(value) ? entries.map(([, each]) => each) : Object.fromEntries(entries);
  };
  // Text that is JSON is read as JSON: most notations take the input as text.
  const parsed = typeof input === 'string' ? parsedJson(input) : input;
  const data = await read(parsed).catch(refuse('Paths start at the folder of the document.'));
  const value = typeof input !== 'string' ? data : refs.length === 0 ? input : JSON.stringify(data);
  const inside = refs.length;
  const takeFile = async (file: string): Promise<AttachmentRef> => take(sourceOf(file) ?? { path: file }, true);
  for (const file of files) await takeFile(file).catch(refuse('Paths of `--attach` start at the current folder.'));
  return { value: withRefs(value, refs.slice(inside)), refs };
}

function requireAllowed({ pii }: CompiledFlow): void {
  if (pii === undefined || pii.attachments === true) return;
  throw new SluiceError(
    'pii-blocked',
    'the document protects personal data, and personal data in an attachment cannot be found',
    'Set `pii.attachments: true` to use attachments all the same, or leave them out.',
  );
}

function refuse(help: string): (error: unknown) => never {
  return (error) => {
    if (!(error instanceof AttachmentError)) throw error;
    const isUrl = error.message.includes('cannot be fetched');
    const hosts = 'The host must be public, or allowed: `--allow-host`, `toolOptions.http.privateHosts`.';
    throw new SluiceError('bad-attachment', error.message, isUrl ? hosts : help, error);
  };
}

/** An object gets the field `attachments`; text gets the references below it. */
function withRefs(value: unknown, refs: readonly AttachmentRef[]): unknown {
  if (refs.length === 0) return value;
  if (typeof value === 'string') return [value, ...refs.map((ref) => JSON.stringify(ref))].join('\n');
  return { ...(value as object | null), attachments: refs };
}

interface Taker {
  readonly name: string;
  readonly accepts: readonly AttachmentKind[];
}

/** Throws if an attachment is of a kind that none of the models takes. `models` is null if that is not known. */
export function requireTaken(refs: readonly AttachmentRef[], models: readonly Taker[] | null): void {
  if (models === null || models.length === 0) return;
  for (const { mediaType, name } of refs) {
    const kind = kindOf(mediaType);
    if (models.some(({ accepts }) => accepts.includes(kind))) continue;
    const names = [...new Set(models.map((model) => `\`${model.name}\``))].join(' and ');
    throw new SluiceError(
      'attachment-not-taken',
      `\`${name}\` (${mediaType}) is not taken by ${names}`,
      `Use another model. If the model takes it, declare it under \`models\` with \`accepts: [${kind}]\`.`,
    );
  }
}

/**
 * An image or a file in the input of a run. Only `attachment(…)` makes one.
 * @example
 * const photo: Attachment = attachment({ path: './photo.png' });
 */
export class Attachment {
  readonly source: AttachmentSource;
  /** The path or the URL. The run gets a reference with the hash of the data in its place. */
  readonly attachment: string;

  constructor(source: AttachmentSource) {
    this.source = source;
    this.attachment = 'path' in source ? source.path : 'url' in source ? source.url : 'data';
  }
}

/**
 * JSON in which attachments can stand anywhere.
 * @example
 * const input: RunInput = { message: 'It is broken.', photo: attachment({ path: './photo.png' }) };
 */
export type RunInput = Json | Attachment | readonly RunInput[] | { readonly [field: string]: RunInput };

/**
 * An image, a PDF or a sound for the input of a run, from a path, a URL or data.
 * @example
 * await engine.run(claims, { text: 'What is broken?', photo: attachment({ path: './car.jpg' }) });
 */
export function attachment(source: AttachmentSource): Attachment {
  return new Attachment(source);
}

function holdsAttachment(value: unknown, parts: boolean, depth = 0): boolean {
  if (value === null || typeof value !== 'object' || depth > DEPTH_MAX) return false;
  if (value instanceof Attachment || (parts && Object.hasOwn(value, 'attachment'))) return true;
  return Object.values(value).some((each) => holdsAttachment(each, parts, depth + 1));
}

const FIELDS = new Set(['attachment', 'name']);

function writtenSource(value: object): AttachmentSource | null {
  const { attachment: written, name } = value as { attachment?: unknown; name?: unknown };
  if (typeof written !== 'string' || Object.keys(value).some((key) => !FIELDS.has(key))) return null;
  const source = sourceOf(written);
  return source === null || typeof name !== 'string' ? source : { ...source, name };
}

/** A path, an http(s) URL or a data URL. Null for a reference that is resolved already. */
function sourceOf(written: string): AttachmentSource | null {
  if (/^sha256-[0-9a-f]{64}$/.test(written)) return null;
  if (/^https?:\/\//i.test(written)) return { url: written };
  if (/^data:/i.test(written)) return dataSource(written);
  const [, scheme] = /^([a-z][a-z0-9+.-]+):/i.exec(written) ?? [];
  if (scheme !== undefined) throw new AttachmentError(`\`${scheme}:\` is not supported; use a path, http(s) or data`);
  return { path: written };
}

function dataSource(url: string): AttachmentSource {
  if (url.length > BYTES_MAX * 2) throw new AttachmentError(`the data URL is longer than ${BYTES_MAX} bytes`);
  const [, mediaType = '', body = ''] = /^data:([^;,]*)(?:;[^;,]*)*?;base64,([A-Za-z0-9+/=\s]*)$/i.exec(url) ?? [];
  if (body === '') throw new AttachmentError('the data URL is not base64: write `data:image/png;base64,…`');
  return { data: Buffer.from(body, 'base64'), ...(mediaType === '' ? {} : { mediaType }) };
}
