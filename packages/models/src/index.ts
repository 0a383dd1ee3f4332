/** What other packages use of `models`. */
export { isModelObject } from './model-object.ts';
export type { ModelObject } from './model-object.ts';
export { requireModel } from './packages.ts';
export { modelPerformer, notConfigured } from './performer.ts';
export type { ModelPerformerOptions } from './performer.ts';
export { priceOf } from './prices.ts';
export { sentMessages, storedFiles } from './sent-messages.ts';
export type { FileOptions, SentMessage } from './sent-messages.ts';
export { targetOf } from './target.ts';
export type { Target } from './target.ts';
