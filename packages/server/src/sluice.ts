/** The public interface of the package: that of the library, and the routes of the server for a program's own. */
// First, so that an old Node gets the error of the library and no other.
export * from '@sluice-internal/library';
export { createEngine } from './create-engine.ts';
export type { Engine, FetchOptions, Identity } from './create-engine.ts';
