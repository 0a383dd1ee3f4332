/** The public interface of the package: that of the library, and the routes of the server for a program's own. */
// First, so that an old Node gets this error and no other.
export { MINIMUM_NODE } from '@sluice-internal/library/node-version';
export * from '@sluice-internal/library';
export { createEngine } from './create-engine.ts';
export type { Engine, FetchOptions, Identity } from './create-engine.ts';
