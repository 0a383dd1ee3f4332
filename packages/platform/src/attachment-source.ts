/** The source of an attachment. */
import type { AttachmentRef } from '@sluice-internal/kernel/ir';
import type { Call } from '@sluice-internal/engine/ports';

/**
 * One of `path`, `url` and `data`.
 * @example
 * const source: AttachmentSource = { path: './photo.png' };
 */
export type AttachmentSource = (
  | { readonly path: string }
  | { readonly url: string }
  | { readonly data: Uint8Array; readonly mediaType?: string }
) & { readonly name?: string };

/** Adds an image or a file to the run of a call. */
export type Attach = (source: AttachmentSource) => Promise<AttachmentRef>;

/** Data for which it returns true is refused. */
export type HoldsSecret = (data: Uint8Array) => boolean;

/** The call that brings an attachment. */
export type CallOfRun = Pick<Call, 'command' | 'flow' | 'pins'>;

/** The same for a call and its work directory. */
export type AttachTo = (
  call: CallOfRun,
  workDir: string,
  source: AttachmentSource,
  holdsSecret?: HoldsSecret,
) => Promise<AttachmentRef>;
