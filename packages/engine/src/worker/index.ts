/** What other packages use of `engine/worker`. */
export { createRuntime, runIn, unknownApproval } from './engine.ts';
export { unknownRun } from './host.ts';
export { Hints } from './hints.ts';
export { newRun, programOf, restoreRun } from './owned-run.ts';
export type { OwnedRun } from './owned-run.ts';
export { standIns } from './stand-ins.ts';
export { Worker } from './worker.ts';
