/** What other packages use of `engine/memory`. */
export { openMemory } from './open.ts';
