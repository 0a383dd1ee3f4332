/**
 * References to attachments: images and files that a run uses. The journal holds only the reference. The data is stored once,
 * in a separate store, under its hash.
 */

/**
 * A reference as documents and models see it. `tokens` comes second, so that an estimate finds it after the id.
 * @example
 * const shown = (ref: AttachmentRef) => JSON.stringify(ref);
 */
export type AttachmentRef = {
  /** `sha256-` and the hash of the data. */
  readonly attachment: string;
  /** An estimate of the input tokens that the data counts as. */
  readonly tokens: number;
  readonly mediaType: string;
  readonly bytes: number;
  readonly name: string;
};

const ID = /sha256-[0-9a-f]{64}/g;
/** Quotes can be escaped, because a reference can stand in JSON text inside JSON text. */
const COUNTED = /(sha256-[0-9a-f]{64})(?:\\*",\\*"tokens\\*":(\d{1,6}))?/g;
const TOKENS_DEFAULT = 2_000;

/** The ids in a text, each once, in order. */
export function attachmentIds(text: string): readonly string[] {
  return text.includes('sha256-') ? [...new Set(text.match(ID))] : [];
}

/** The tokens of the attachments that a text refers to. Each attachment counts once, because it is sent once. */
export function attachmentTokens(text: string): number {
  if (!text.includes('sha256-')) return 0;
  const tokens = new Map<string, number>();
  for (const [, id = '', counted] of text.matchAll(COUNTED))
    tokens.set(id, Math.max(tokens.get(id) ?? 0, counted === undefined ? TOKENS_DEFAULT : Number(counted)));
  return [...tokens.values()].reduce((sum, count) => sum + count, 0);
}
