/**
 * The images and files of a request. A message that names an attachment of the run by its id gets the data beside its text.
 * An attachment is sent once, with the first message that names it, so that a later request starts with the same content.
 */
import type { LanguageModelV4FilePart } from '@ai-sdk/provider';
import { kindOf } from '@sluice-internal/kernel/catalog';
import { attachmentIds } from '@sluice-internal/kernel/ir';
import type { RunId } from '@sluice-internal/kernel/ir';
import type { Message } from '@sluice-internal/platform';
import { fail } from '@sluice-internal/engine/ports';
import type { AttachmentStore, Call, StoredAttachment } from '@sluice-internal/engine/ports';
import type { Target } from './target.ts';

export interface SentFiles {
  /** The files that a text names and no earlier text did. */
  in(text: string): LanguageModelV4FilePart[];
  /** True if the provider takes files inside the result of a tool. Otherwise they follow in a message of their own. */
  readonly inResults: boolean;
}

/** Providers refuse larger requests. */
const BYTES_MAX = 30 * 1024 * 1024;
const FILES_MAX = 50;

/** The attachments that the messages name. */
export async function namedIn(
  messages: readonly Pick<Message, 'content'>[],
  run: RunId,
  store: AttachmentStore | undefined,
): Promise<ReadonlyMap<string, StoredAttachment>> {
  const found = new Map<string, StoredAttachment>();
  const ids = store === undefined ? [] : messages.flatMap(({ content }) => attachmentIds(content));
  for (const id of new Set(ids)) {
    const attachment = await store?.find(run, id);
    if (attachment !== undefined && attachment !== null) found.set(id, attachment);
  }
  return found;
}

export function filesFor(
  { flow, pins }: Pick<Call, 'flow' | 'pins'>,
  target: Target,
  stored: ReadonlyMap<string, StoredAttachment>,
): SentFiles {
  const seen = new Set<string>();
  const sent = { files: 0, bytes: 0 };
  // Personal data in an image cannot be found, so a document that protects it must allow attachments.
  const isAllowed = flow.pii === undefined || flow.pii.attachments === true;
  const usable = (attachment: StoredAttachment): boolean => {
    const isTaken = isAllowed && target.accepts.includes(kindOf(attachment.mediaType));
    const fits = sent.files < FILES_MAX && sent.bytes + attachment.data.length <= BYTES_MAX;
    if (isTaken && fits) return true;
    // The result of a tool stays readable without its data: it names the type and the hash.
    if (attachment.origin === 'tool') return false;
    throw isTaken ? tooMuch(target) : notTaken(attachment, target, isAllowed);
  };
  const found = (text: string): StoredAttachment[] =>
    attachmentIds(text).flatMap((id) => {
      const attachment = seen.has(id) ? null : (stored.get(id) ?? null);
      const isNew = !seen.has(id);
      seen.add(id);
      if (attachment === null && isNew && pins?.attachments?.includes(id) === true) throw notStored(id);
      if (attachment === null || !usable(attachment)) return [];
      sent.files += 1;
      sent.bytes += attachment.data.length;
      return [attachment];
    });
  return {
    in: (text) => found(text).map(filePart),
    inResults: target.how.protocol === 'anthropic' || target.how.protocol === 'openai',
  };
}

function filePart({ data, mediaType, name }: StoredAttachment): LanguageModelV4FilePart {
  return { type: 'file', mediaType, filename: name, data: { type: 'data', data: new Uint8Array(data) } };
}

function notTaken({ name, mediaType }: StoredAttachment, { name: model }: Target, isAllowed: boolean): Error {
  const message = isAllowed
    ? `the model \`${model}\` does not take \`${name}\` (${mediaType}); if it does, set \`accepts: [${kindOf(mediaType)}]\` on the model`
    : `\`${name}\` is not sent: the document protects personal data, and \`pii.attachments\` is not true`;
  return fail('fatal', 'AttachmentError', message);
}

/** The model would answer about a file that it does not see. */
function notStored(id: string): Error {
  const message = `the attachment \`${id}\` of the input is not stored any more: it was erased or deleted; \`sluice audit verify\` shows which`;
  return fail('fatal', 'AttachmentError', message);
}

function tooMuch({ name }: Target): Error {
  const message = `the attachments of one request to \`${name}\` have more than ${FILES_MAX} files or ${BYTES_MAX} bytes`;
  return fail('fatal', 'AttachmentError', message);
}
