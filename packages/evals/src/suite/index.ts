/** What other packages use of `evals/suite`. */
export { judgeOutput } from './judge.ts';
export type { PreparedCase } from './modes.ts';
export { prepareSuite } from './prepare.ts';
export { caseOf, suiteText, unrepeatable } from './record-case.ts';
export type { CaseRun } from './run-case.ts';
export { readSuite } from './schema.ts';
export type { Suite } from './schema.ts';
export { runSuite } from './suite.ts';
export type { SuiteResult } from './suite.ts';
