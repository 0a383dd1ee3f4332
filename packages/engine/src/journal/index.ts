/** What other packages use of `engine/journal`. */
export { auditShared, withCheckpoints } from './audit-checkpoints.ts';
export { auditTombstones } from './audit-entry.ts';
export { MEMORY_ACTS, MEMORY_RELEASED, auditMemory } from './audit-memory.ts';
export { genesis, hashShared, link, linkAct, linkTombstone } from './chain.ts';
export { createSigner, publicKeyText } from './checkpoint.ts';
export { decodeEvents } from './codec.ts';
export { movedTo } from './fork-events.ts';
export { OpenRun, openRun, openToContinue, readRun } from './open-run.ts';
export type { ReadRun } from './open-run.ts';
export { streamRun } from './read.ts';
export type { ReadOptions } from './read.ts';
export { copyState, freezeState, thawState } from './snapshot.ts';
export { storedProgram } from './stored-graph.ts';
export { createShelf } from './values.ts';
