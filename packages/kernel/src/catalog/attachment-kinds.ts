/** Kinds of attachments, and the known models that take each kind. */
export const ATTACHMENT_KINDS = ['image', 'pdf', 'audio'] as const;
export type AttachmentKind = (typeof ATTACHMENT_KINDS)[number];

export function kindOf(mediaType: string): AttachmentKind {
  if (mediaType.startsWith('image/')) return 'image';
  return mediaType.startsWith('audio/') ? 'audio' : 'pdf';
}

/** By the name of the model, also behind a router or in another cloud. Null if the name is not known. */
export function kindsTakenBy(model: string): readonly AttachmentKind[] | null {
  return TAKEN.find(([pattern]) => pattern.test(model.toLowerCase()))?.[1] ?? null;
}

const TAKEN: readonly (readonly [RegExp, readonly AttachmentKind[]])[] = [
  [/gpt-3\.5|gpt-4-0|gpt-4$|o1-mini|o1-preview|o3-mini|gpt-oss|claude-(1|2|instant)|deepseek/, []],
  [/gpt-.*audio/, ['audio']],
  [/gpt-4o|gpt-4\.[1-9]|gpt-4-turbo|gpt-4-vision|gpt-[5-9]|(^|\/)o[1-9](-|$)/, ['image', 'pdf']],
  [/claude-/, ['image', 'pdf']],
  [/gemini-/, ['image', 'pdf', 'audio']],
  [/vision|llava|pixtral|llama-?4|gemma-?3|grok-[4-9]|[-\d]vl\b|mistral-(medium|small)-(3|latest)/, ['image']],
];
