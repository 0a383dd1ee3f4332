/** What other packages use of `compile/prove`. */
export { boundsOf } from './certificate.ts';
export type { Bound, Bounds } from './certificate.ts';
export { seal } from './hash.ts';
export type { Sha256 } from './hash.ts';
export { tighteningKeys } from './tighten.ts';
export { verify } from './verify.ts';
