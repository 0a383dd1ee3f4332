/** What other packages use of `platform`. */
export type { Attach, AttachTo, AttachmentSource, CallOfRun, HoldsSecret } from './attachment-source.ts';
export { hasEffects, refusedResult } from './refused-result.ts';

export { loadCode, loadFunction } from './code/load.ts';
export { acceptedModules, changedModules, copyFiles, pinsOf, withDefinition, workDirOf } from './code/pins.ts';

export { splitReply } from './responses/inline-reasoning.ts';
export { limitSize } from './responses/limit-size.ts';
export type { Bytes } from './responses/limit-size.ts';
export { boundedWait, retryAfterMs } from './responses/retry-after.ts';
export type { ResponseHeaders } from './responses/retry-after.ts';
export { isUnopened } from './responses/unopened.ts';

export { importOptional, requireOptional, resolveOptional } from './packages/optional-package.ts';
export { PACKAGE_ROOT, VERSION } from './packages/package-root.ts';

export { createFolder } from './paths/create-folder.ts';
export { MOUNT, listBeneath, readBeneath, removeBeneath, segmentsOf, writeBeneath } from './paths/safe-path.ts';
export { systemFolderAt } from './paths/system-folder.ts';
export { filesBelow } from './paths/walk-files.ts';

export { cut } from './prompt/history-view.ts';
export { textOf, turnOf } from './prompt/messages.ts';
export type { Message, ReplyPart, ToolRequest } from './prompt/messages.ts';
export { promptOf, promptText } from './prompt/prompt.ts';

export { StreamRedactor, holdsSecret, redactText, redactValue } from './secrets/redact.ts';
