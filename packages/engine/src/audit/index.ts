/** What other packages use of `engine/audit`. */
export { audit, auditRun, replay } from './audit.ts';
export type { Audit } from './audit.ts';
export { auditRunFile, compareHeads, exportRun, headsOf, readHeadsFile, readRunFile } from './export.ts';
export type { RunFile } from './export.ts';
export { restoreRunFile } from './restore.ts';
export type { Difference } from './replay.ts';
